// Tests of the exact text of the native log.
#include "tests/reported.hpp"

namespace tacholog {
namespace {

TEST(Native, ARunWithoutMessagesHasNoRates) {
    const Histogram empty;
    ThroughputResult nothing;
    nothing.payload_bytes = 64;
    DemandResult no_burst;
    no_burst.payload_bytes = 64;

    const auto text = written(latency(empty), nothing, no_burst, Failure{64, "nothing came"}, End{});
    EXPECT_EQ(text.find("nan"), std::string::npos);
    EXPECT_EQ(text.find("inf"), std::string::npos);
}

TEST(Native, LatencyIsFollowedByItsHistogram) {
    const auto histogram = round_trips();

    EXPECT_EQ(written(latency(histogram)),
              "latency payload_bytes=1024 basis=rtt samples=100 lost=1 duplicated=2 reordered=3 overflow=0 "
              "duration_ns=2000000000 mean_ns=22819.9 std_ns=18380.0 min_ns=20000 p50_ns=20015 p90_ns=20015 "
              "p99_ns=31007 max_ns=203000\n"
              "histogram payload_bytes=1024 basis=rtt part=0 parts=1 "
              "bins=20000:20015:90,30992:31007:9,202880:203007:1\n");
}

TEST(Native, ManyBinsAreWrittenInSeveralParts) {
    Histogram histogram;
    for (std::uint64_t value = 1; value <= 1200; ++value) histogram.record(value);
    const auto text = written(latency(histogram));

    EXPECT_NE(text.find(" part=0 parts=3 bins=1:1:1,"), std::string::npos);
    EXPECT_NE(text.find(" part=2 parts=3 bins=1001:1001:1,"), std::string::npos);
    EXPECT_TRUE(text.ends_with("1200:1200:1\n"));
}

TEST(Native, ThroughputHasCountsAndRates) {
    EXPECT_EQ(written(throughput()),
              "throughput payload_bytes=1024 sent=200010 received=200000 lost=10 duplicated=0 reordered=0 corrupted=0 "
              "duration_ns=3000000000 rate_per_s=66666.333 goodput_bit_per_s=546130603 offered_rate_per_s=70000.500\n");
}

TEST(Native, AResultStatesTheMessagesOfABatch) {
    ThroughputResult result = throughput();
    result.batches = {64, "sendmmsg"};
    const auto text = written(result);

    EXPECT_NE(text.find(" corrupted=0 batch_messages=64 batched_by=sendmmsg duration_ns="), std::string::npos) << text;
}

TEST(Native, UnknownFactsAreLeftOut) {
    Host host;
    host.name = "box";
    host.mitigations_off = false;

    EXPECT_EQ(written(host), "host name=box mitigations_off=no\n");
}

TEST(Native, PlacementStatesWhatTheCpusOfBothSidesShare) {
    EXPECT_EQ(written(MeasuringCpus{CpuRelation::shared_cache, 3, 0, 0, 56'349}),
              "placement relation=shared-cache shared_cache=L3 numa_nodes=0,0 cache_line_ns=56.3\n");
    EXPECT_EQ(written(MeasuringCpus{CpuRelation::two_nodes, 0, 0, 1, -1}),
              "placement relation=two-nodes shared_cache=none numa_nodes=0,1\n");
    EXPECT_EQ(written(MeasuringCpus{}), "placement relation=unknown\n");
}

TEST(Native, TextWithSpecialCharactersIsQuoted) {
    const auto note = [](const char* text) { return written(Note{text}); };

    EXPECT_EQ(note("plain-1.0:/+,%@_"), "note text=plain-1.0:/+,%@_\n");
    EXPECT_EQ(note("two words"), "note text=\"two words\"\n");
    EXPECT_EQ(note("a=b"), "note text=\"a=b\"\n");
    EXPECT_EQ(note("say \"no\" \\ tab\t line\n bell\a"),
              "note text=\"say \\\"no\\\" \\\\ tab\\t line\\n bell\\x07\"\n");
}

TEST(Native, TheConfigurationStatesAllConditionsOfTheMeasurement) {
    Options options;
    options.transport = "shm";
    options.sizes = {64, 1024};
    options.warmup_s = 0.5;
    options.command = "perftest --transport shm";

    EXPECT_EQ(written(Config{options, "copy", "reliable"}),
              "config test=latency transport=shm data_path=copy reliability=reliable role=both sizes_bytes=64,1024 "
              "duration_s=5 warmup=fixed warmup_s=0.5 interval_s=1 touch=write+read verify=no waiting=busy-poll "
              "load_mode=closed publishers=1 subscribers=1 batch_bytes=0 tuning=none timeout_s=10 address=127.0.0.1 "
              "command=\"perftest --transport "
              "shm\"\n");
}

TEST(Native, TheConfigurationStatesTheReachAndTheDataPathOfTheTransport) {
    Options options;
    options.transport = "mock";
    options.sizes = {64};

    const auto line = written(Config{options, "copy", "best-effort", "", "process"});

    EXPECT_NE(line.find("transport=mock reach=process data_path=copy "), std::string::npos) << line;
}

TEST(Native, AllSettingsAreOnASeparateLine) {
    EXPECT_EQ(written(SettingsInEffect{{{"faults", "lose=10"}, {"queue-length", "3"}}}),
              "settings faults=\"lose=10\" queue_length=3\n");
}

TEST(Native, FactsOfSocketsAndOfMemoryAreOnSeparateLines) {
    const TransportFacts facts{"sub",
                               "sub2",
                               {{"library", "ZeroMQ"},
                                {"rcvbuf_bytes", "1000"},
                                {"library_version", "4.3.4"},
                                {"congestion", "reno"},
                                {"payload_bytes", "64"},
                                {"shared_huge_page_bytes", "2097152"}}};

    EXPECT_EQ(written(facts),
              "socket role=sub participant=sub2 rcvbuf_bytes=1000 congestion=reno\n"
              "transport role=sub participant=sub2 library=ZeroMQ library_version=4.3.4\n"
              "memory role=sub participant=sub2 payload_bytes=64 shared_huge_page_bytes=2097152\n");
    EXPECT_EQ(written(TransportFacts{"pub", "", {{"library", "LCM"}}}), "transport role=pub library=LCM\n");
}

TEST(Native, ACompanionProgramIsStated) {
    EXPECT_EQ(written(CompanionFacts{{{"name", "mosquitto"}, {"command", "mosquitto -p 1"}}}),
              "companion name=mosquitto command=\"mosquitto -p 1\"\n");
}

TEST(Native, TheWayOfTheDataIsStatedWithTheKnownCounts) {
    EXPECT_EQ(written(WayTaken{"local", 5000, 120, true}),
              "way expected=local carried_bytes=5000 ip_bytes=120 agrees=yes\n");
    EXPECT_EQ(written(WayTaken{"udp", 50, {}, {}}), "way expected=udp carried_bytes=50\n");
}

TEST(Native, ErrorsStateTheMessageSizeAndTheText) {
    EXPECT_EQ(written(Failure{64, "connect: refused"}, Failure{std::nullopt, "x"}),
              "error payload_bytes=64 text=\"connect: refused\"\nerror text=x\n");
}

TEST(Native, ADemandResultHasBothRates) {
    EXPECT_EQ(written(demand()),
              "demand payload_bytes=1024 demand=100 recovery_time_ns=5000000 sent=17200 received=16999 lost=201 "
              "duplicated=0 reordered=0 send_duration_ns=1005207400 receive_duration_ns=1009645600 "
              "offered_rate_per_s=17109.902 offered_goodput_bit_per_s=140164316 rate_per_s=16835.610 "
              "goodput_bit_per_s=137917321\n");
}

TEST(Native, WarmUpAndIntervalsOfBurstsStateTheDemandAndTheRecoveryTime) {
    const Demand bursts{100, 5'000'000};

    EXPECT_EQ(written(Warmup{64, 300, 9'000'000, Outcome::fixed, bursts},
                      ThroughputInterval{64, 0, 1'000'000'000, 5000, 2, bursts}),
              "warmup payload_bytes=64 demand=100 recovery_time_ns=5000000 messages=300 duration_ns=9000000 "
              "outcome=fixed\n"
              "interval payload_bytes=64 demand=100 recovery_time_ns=5000000 index=0 duration_ns=1000000000 "
              "received=5000 lost=2\n");
}

}  // namespace
}  // namespace tacholog
