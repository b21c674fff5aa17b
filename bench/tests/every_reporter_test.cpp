// What every dialect is held to, and the exact text of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "reporters/reporter.hpp"

namespace tacholog {
namespace {

Histogram round_trips() {
    Histogram histogram;
    for (int count = 0; count < 90; ++count) histogram.record(20'000);
    for (int count = 0; count < 9; ++count) histogram.record(30'999);
    histogram.record(203'000);
    return histogram;
}

LatencyResult latency(const Histogram& histogram) {
    return {1024, {1, 2, 3, std::nullopt}, 2'000'000'000, &histogram};
}

ThroughputResult throughput() {
    return {1024, 200'010, 200'000, {10, 0, 0, 0}, 3'000'000'000, 70'000.5};
}

const ReporterKind& reporter(std::string_view name) {
    const auto kinds = all_reporters();
    return **std::find_if(kinds.begin(), kinds.end(), [&](const auto* kind) { return kind->name == name; });
}

/// What a reporter writes into its log for these events.
template <typename... Events>
std::string written(const ReporterKind& kind, const Events&... events) {
    std::ostringstream log;
    std::ostringstream chatter;
    const auto made = kind.make(log, chatter);
    (made->write(events), ...);
    return log.str();
}

class EveryReporter : public testing::TestWithParam<const ReporterKind*> {};

TEST_P(EveryReporter, WritesALineForEveryResult) {
    const auto histogram = round_trips();

    EXPECT_NE(written(*GetParam(), latency(histogram)).find("1024"), std::string::npos);
    EXPECT_NE(written(*GetParam(), throughput()).find("200000"), std::string::npos);
}

TEST_P(EveryReporter, SurvivesARunWithoutASingleMessage) {
    const Histogram empty;
    ThroughputResult nothing;
    nothing.payload_bytes = 64;

    const auto text = written(*GetParam(), latency(empty), nothing, Failure{64, "nothing came"}, End{});
    EXPECT_EQ(text.find("nan"), std::string::npos);
    EXPECT_EQ(text.find("inf"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryReporter, testing::ValuesIn(all_reporters().begin(), all_reporters().end()),
                         [](const auto& parameter) { return std::string{parameter.param->name}; });

TEST(Native, LatencyWithItsHistogram) {
    const auto histogram = round_trips();

    EXPECT_EQ(written(reporter("native"), latency(histogram)),
              "latency payload_bytes=1024 basis=rtt samples=100 lost=1 duplicated=2 reordered=3 overflow=0 "
              "duration_ns=2000000000 mean_ns=22819.9 std_ns=18380.0 min_ns=20000 p50_ns=20015 p90_ns=20015 "
              "p99_ns=31007 max_ns=203000\n"
              "histogram payload_bytes=1024 basis=rtt part=0 parts=1 "
              "bins=20000:20015:90,30992:31007:9,202880:203007:1\n");
}

TEST(Native, ManyBinsComeInParts) {
    Histogram histogram;
    for (std::uint64_t value = 1; value <= 1200; ++value) histogram.record(value);
    const auto text = written(reporter("native"), latency(histogram));

    EXPECT_NE(text.find(" part=0 parts=3 bins=1:1:1,"), std::string::npos);
    EXPECT_NE(text.find(" part=2 parts=3 bins=1001:1001:1,"), std::string::npos);
    EXPECT_TRUE(text.ends_with("1200:1200:1\n"));
}

TEST(Native, Throughput) {
    EXPECT_EQ(written(reporter("native"), throughput()),
              "throughput payload_bytes=1024 sent=200010 received=200000 lost=10 duplicated=0 reordered=0 corrupted=0 "
              "duration_ns=3000000000 rate_per_s=66666.667 goodput_bit_per_s=546133333 offered_rate_per_s=70000.500\n");
}

TEST(Native, WhatIsUnknownIsLeftOut) {
    Host host;
    host.name = "box";
    host.mitigations_off = false;

    EXPECT_EQ(written(reporter("native"), host), "host name=box mitigations_off=no\n");
}

TEST(Native, TextIsQuotedWhereItMustBe) {
    const auto note = [](const char* text) { return written(reporter("native"), Note{text}); };

    EXPECT_EQ(note("plain-1.0:/+,%@_"), "note text=plain-1.0:/+,%@_\n");
    EXPECT_EQ(note("two words"), "note text=\"two words\"\n");
    EXPECT_EQ(note("a=b"), "note text=\"a=b\"\n");
    EXPECT_EQ(note("say \"no\" \\ tab\t line\n bell\a"),
              "note text=\"say \\\"no\\\" \\\\ tab\\t line\\n bell\\x07\"\n");
}

TEST(Native, TheConfigurationSaysHowItWasMeasured) {
    Options options;
    options.transport = "shm";
    options.sizes = {64, 1024};
    options.warmup_s = 0.5;
    options.command = "perftest --transport shm";

    EXPECT_EQ(written(reporter("native"), Config{options, "copy", "reliable"}),
              "config test=latency transport=shm data_path=copy reliability=reliable role=both sizes_bytes=64,1024 "
              "duration_s=5 warmup=fixed warmup_s=0.5 touch=write+read verify=no waiting=busy-poll load_mode=closed "
              "publishers=1 subscribers=1 timeout_s=10 address=127.0.0.1 command=\"perftest --transport shm\"\n");
}

TEST(Native, Errors) {
    EXPECT_EQ(written(reporter("native"), Failure{64, "connect: refused"}, Failure{std::nullopt, "x"}),
              "error payload_bytes=64 text=\"connect: refused\"\nerror text=x\n");
}

TEST(Rti, LatencyIsHalfARoundTripInWholeMicroseconds) {
    const auto histogram = round_trips();

    EXPECT_EQ(written(reporter("rti"), latency(histogram)),
              "Length:  1024  Latency: Ave     11 us  Std    9.1 us  Min     10 us  Max    101 us  50%     10 us  "
              "90%     15 us  99%    101 us  99.99%    101 us  99.9999%    101 us \n");
}

TEST(Rti, Throughput) {
    EXPECT_EQ(written(reporter("rti"), throughput()),
              "Length:  1024  Packets:   200000  Packets/s(ave):   66666  Mbps(ave):   546.1  Lost:    10 (0.00%) \n");
}

TEST(Rti, WideNumbersPushTheColumns) {
    ThroughputResult result{31457280, 0, 1120, {215763, 0, 0, std::nullopt}, 30'117'800'000, std::nullopt};

    EXPECT_EQ(
        written(reporter("rti"), result),
        "Length: 31457280  Packets:     1120  Packets/s(ave):      37  Mbps(ave):  9358.5  Lost: 215763 (99.48%) \n");
}

TEST(Rti, TheLogHoldsResultsOnly) {
    const auto histogram = round_trips();
    const auto text =
        written(reporter("rti"), Config{Options{}, "copy", "reliable"}, Host{}, latency(histogram), End{});

    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

}  // namespace
}  // namespace tacholog
