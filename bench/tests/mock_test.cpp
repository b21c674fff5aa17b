// The rig's figures against what the mock transport was told to do.
#include <algorithm>

#include "core/injection.hpp"
#include "tests/program.hpp"

namespace tacholog {
namespace {

std::string run_mock(const std::string& options) {
    Program perftest{"--transport mock --sizes 64 " + options};
    EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
    return perftest.out();
}

std::uint64_t number(const std::string& log, const std::string& kind, const std::string& key) {
    const auto text = value(log, kind, key);
    EXPECT_NE(text, "") << kind << " " << key << "\n" << log;
    return text.empty() ? 0 : std::stoull(text);
}

/// How many of the measured messages, which come after those of the warm-up, are the n-th of something.
std::uint64_t every(std::uint64_t n, const std::string& log) {
    const auto before = number(log, "warmup", "messages");
    return (before + number(log, "throughput", "sent")) / n - before / n;
}

constexpr const char* stream = "--test throughput --rate 5000 --duration 0.4 --warmup 0.1 --verify ";

/// The smallest round trip of a few short runs: other work on the host makes it larger, nothing makes it smaller.
double smallest_ns(const std::string& options) {
    double smallest = 1e18;
    for (int run = 0; run < 3; ++run) {
        const auto log = run_mock("--test latency --duration 0.2 --warmup 0.05 " + options);
        smallest = std::min(smallest, static_cast<double>(number(log, "latency", "min_ns")));
    }
    return smallest;
}

TEST(Mock, AHoldIsFoundInTheSmallestRoundTrip) {
    const double without = smallest_ns("");
    if (without > 10'000) GTEST_SKIP() << "overloaded host: a round trip without a hold takes " << without << " ns";
    for (const int hold_us : {50, 200, 1000, 5000}) {
        const double held = hold_us * 1000.0;
        const double found = smallest_ns("--mock hold=" + std::to_string(hold_us) + "us") - without;
        EXPECT_GE(found, held - 5000);
        if (found > held * 1.02 + 50'000) GTEST_SKIP() << "overloaded host: no round trip came in time";
        EXPECT_LE(found, held + std::max(5000.0, held * 0.02)) << "held " << held;
    }
}

TEST(Mock, NothingIsWrongWithoutFaults) {
    const auto log = run_mock(stream);

    for (const char* key : {"lost", "duplicated", "reordered", "corrupted"}) {
        EXPECT_EQ(number(log, "throughput", key), 0U) << key;
    }
    EXPECT_EQ(number(log, "throughput", "received"), number(log, "throughput", "sent"));
}

TEST(Mock, EveryLostMessageIsCounted) {
    const auto log = run_mock(stream + std::string{"--mock lose=10"});

    EXPECT_EQ(number(log, "throughput", "lost"), every(10, log)) << log;
    EXPECT_EQ(number(log, "throughput", "received"), number(log, "throughput", "sent") - every(10, log));
    EXPECT_EQ(number(log, "throughput", "duplicated"), 0U);
}

TEST(Mock, EveryDoubledMessageIsCountedOnce) {
    const auto log = run_mock(stream + std::string{"--mock duplicate=7"});

    EXPECT_EQ(number(log, "throughput", "duplicated"), every(7, log)) << log;
    EXPECT_EQ(number(log, "throughput", "received"), number(log, "throughput", "sent"));
}

TEST(Mock, EveryChangedMessageIsCounted) {
    const auto log = run_mock(stream + std::string{"--mock corrupt=9"});

    EXPECT_EQ(number(log, "throughput", "corrupted"), every(9, log)) << log;
}

TEST(Mock, EveryOvertakenMessageIsCounted) {
    const auto log = run_mock(stream + std::string{"--mock reorder=5"});

    // The last one may wait for ever for a message that overtakes it; that one is lost, then.
    const auto reordered = number(log, "throughput", "reordered");
    EXPECT_EQ(reordered + number(log, "throughput", "lost"), every(5, log)) << log;
    EXPECT_LE(number(log, "throughput", "lost"), 1U);
    EXPECT_EQ(number(log, "throughput", "duplicated"), 0U);
}

TEST(Mock, AnswersThatAreLostAreNoSamples) {
    const auto log = run_mock("--test latency --duration 0.5 --warmup 0 --mock lose=100");

    const auto samples = number(log, "latency", "samples");
    const auto lost = number(log, "latency", "lost");
    EXPECT_EQ(lost, (samples + lost) / 100) << log;
}

TEST(Mock, AFaultThatItCannotDoIsRefused) {
    for (const char* list :
         {"hold", "hold=fast", "hold=-1ms", "stall=1s", "stall=1s/100ms", "lose=0", "explode=1", ""}) {
        EXPECT_FALSE(parse_injection(list)) << list;
    }
    Program perftest{"--test latency --transport shm --mock lose=10"};
    EXPECT_EQ(perftest.wait(), 2);
    EXPECT_EQ(perftest.err(), "perftest: --mock is for --transport mock\n");
}

TEST(Mock, AStallIsInTheMiddleOfItsPeriod) {
    constexpr Stall stall{100, 1000};

    EXPECT_FALSE(stall.covers(449));
    EXPECT_TRUE(stall.covers(450));
    EXPECT_TRUE(stall.covers(2549));
    EXPECT_FALSE(stall.covers(2550));
    EXPECT_FALSE(Stall{}.covers(0));
}

}  // namespace
}  // namespace tacholog
