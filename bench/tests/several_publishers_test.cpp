// Tests of several publishers and one subscriber, which takes from all of them in turn.
#include <algorithm>
#include <csignal>

#include "tests/program.hpp"
#include "tests/transports.hpp"

namespace tacholog {
namespace {

const std::string quick = briefly + "--publishers 3 --transport ";
const std::vector<std::string> names{"pub1", "pub2", "pub3"};

class FromSeveral : public testing::TestWithParam<const Transport*> {
protected:
    static std::string transport() { return std::string{GetParam()->name}; }
    static bool loses_nothing() { return GetParam()->reliability == Reliability::reliable; }
};

/// These tests run over our own transports in the gate (the checks of each change), and over every transport at night.
class FromSeveralOfOurs : public FromSeveral {};

TEST_P(FromSeveral, EachPublisherHasItsOwnLinesAndTheAggregateHasTheirSums) {
    Program perftest{"--test throughput --sizes 64,100KiB --rate 300 --verify" + quick + transport()};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
    const auto log = perftest.out();
    EXPECT_EQ(number(log, "config", "publishers"), 3U);
    for (const std::string size : {"64", "102400"}) {
        std::uint64_t sent = 0;
        std::uint64_t received = 0;
        for (const auto& name : names) {
            const std::string line = "throughput payload_bytes=" + size + " participant=" + name;
            EXPECT_EQ(number(log, line, "received") + number(log, line, "lost"), number(log, line, "sent"));
            EXPECT_EQ(number(log, line, "duplicated") + number(log, line, "corrupted"), 0U) << log;
            EXPECT_GT(number(log, line, "received"), 0U) << log;
            sent += number(log, line, "sent");
            received += number(log, line, "received");
        }
        const std::string all = "aggregate payload_bytes=" + size + " test=throughput publishers=3 subscribers=1";
        EXPECT_EQ(number(log, all, "sent"), sent) << log;
        EXPECT_EQ(number(log, all, "received"), received) << log;
        if (loses_nothing()) {
            EXPECT_EQ(number(log, all, "lost"), 0U) << log;
        }
    }
}

TEST_P(FromSeveralOfOurs, BurstsOfKeyedMessagesArriveInOrderFromEachPublisher) {
    Program perftest{"--test demand --sizes 64 --demands 20 --recovery 2 --instances 4" + quick + transport()};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
    for (const auto& name : names) {
        const std::string line = "demand payload_bytes=64 demand=20 recovery_time_ns=2000000 participant=" + name;
        EXPECT_EQ(number(perftest.out(), line, "reordered"), 0U) << perftest.out();
        if (loses_nothing()) {  // a queue of two messages, as in iceoryx2, may lose all messages of an instance
            EXPECT_EQ(number(perftest.out(), line, "instances_heard"), 4U) << perftest.out();
            EXPECT_EQ(number(perftest.out(), line, "lost"), 0U) << perftest.out();
        }
    }
}

TEST_P(FromSeveralOfOurs, AtTheMaximumRateNoMessageIsCountedTwice) {
    Program perftest{"--test throughput --sizes 64 --verify" + quick + transport()};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
    for (const auto& name : names) {
        const std::string line = "throughput payload_bytes=64 participant=" + name;
        EXPECT_EQ(number(perftest.out(), line, "received") + number(perftest.out(), line, "lost"),
                  number(perftest.out(), line, "sent"));
        EXPECT_EQ(number(perftest.out(), line, "duplicated") + number(perftest.out(), line, "corrupted"), 0U);
        if (loses_nothing()) {
            EXPECT_EQ(number(perftest.out(), line, "lost"), 0U) << perftest.out();
        }
    }
}

TEST_P(FromSeveralOfOurs, TheLogOfASubscriberThatIsStartedSeparatelyEqualsTheLogOfThePublishers) {
    if (GetParam()->parties == Parties::threads) GTEST_SKIP() << "one process";
    const std::string common =
        "--test throughput --sizes 64 --rate 1000" + quick + transport() + " --port " + std::to_string(free_port());
    Program subscriber{common + " --role sub"};
    Program publisher{common + " --role pub"};

    EXPECT_EQ(publisher.wait(), 0) << publisher.err() << publisher.out();
    EXPECT_EQ(subscriber.wait(), 0) << subscriber.err() << subscriber.out();
    for (const auto& name : names) {
        const std::string line = "throughput payload_bytes=64 participant=" + name;
        for (const char* key : {"sent", "received", "duration_ns"}) {
            EXPECT_EQ(number(subscriber.out(), line, key), number(publisher.out(), line, key)) << key;
        }
    }
}

TEST_P(FromSeveralOfOurs, ASubscriberThatIsKilledEndsTheRun) {
    if (GetParam()->parties == Parties::threads) GTEST_SKIP() << "one process";
    Program perftest{"--test throughput --sizes 64" + endlessly + "--publishers 3 --transport " + transport()};
    ASSERT_TRUE(perftest.says("\nwarmup")) << perftest.err() << perftest.out();
    ::kill(perftest.child(), SIGKILL);

    EXPECT_EQ(perftest.wait(), 1);
    EXPECT_EQ(value(perftest.out(), "end", "status"), "failed");
    EXPECT_NE(perftest.err().find("the subscriber process was killed by signal 9"), std::string::npos)
        << perftest.err();
}

INSTANTIATE_TEST_SUITE_P(Registry, FromSeveral, testing::ValuesIn(transports_of_one_host()), transport_name);
INSTANTIATE_TEST_SUITE_P(Registry, FromSeveralOfOurs, testing::ValuesIn(own_in_the_gate(transports_of_one_host())),
                         transport_name);

TEST(Publishers, EachPublisherCountsItsOwnLosses) {
    Program perftest{
        "--test throughput --transport mock --set faults=lose=10 --publishers 2 --sizes 64 --rate 2000 "
        "--duration 0.1 --warmup 0.02"};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err();
    const auto log = perftest.out();
    std::uint64_t lost = 0;
    for (const std::string name : {"pub1", "pub2"}) {
        const std::string line = "throughput payload_bytes=64 participant=" + name;
        EXPECT_LE(number(log, line, "lost"), number(log, line, "sent") / 10 + 1) << log;
        EXPECT_GE(number(log, line, "lost") + 1, number(log, line, "sent") / 10) << log;
        lost += number(log, line, "lost");
    }
    EXPECT_EQ(number(log, "aggregate", "lost"), lost) << log;
}

// All messages of a publisher can be lost if a broker has one queue for all publishers. The fastest publisher may fill
// this queue.
TEST(Publishers, APublisherWhoseMessagesAreAllLostHasAResult) {
    const std::string line = "--transport mock --set faults=silence=2 --publishers 2 --sizes 64 --warmup 0 --test ";
    Program stream{line + "throughput --rate 2000 --duration 0.1"};
    Program bursts{line + "demand --demands 10 --recovery 0 --duration 0.1"};

    EXPECT_EQ(stream.wait(), 0) << stream.err();
    EXPECT_GT(number(stream.out(), "throughput payload_bytes=64 participant=pub1", "received"), 0U);
    const std::string silent = "throughput payload_bytes=64 participant=pub2";
    EXPECT_GT(number(stream.out(), silent, "sent"), 0U) << stream.out();
    EXPECT_EQ(number(stream.out(), silent, "received"), 0U);
    EXPECT_EQ(number(stream.out(), silent, "lost"), number(stream.out(), silent, "sent"));
    EXPECT_EQ(value(stream.out(), silent, "rate_per_s"), "");
    EXPECT_NE(
        stream.out().find("note text=\"64 bytes: throughput over mock: none of " + value(stream.out(), silent, "sent") +
                          " messages arrived of pub2, while other messages arrived\""),
        std::string::npos)
        << stream.out();
    EXPECT_EQ(bursts.wait(), 0) << bursts.err();
    EXPECT_NE(bursts.out().find(" messages arrived of pub2, while other messages arrived"), std::string::npos)
        << bursts.out();
}

TEST(Publishers, FailTheRunIfNoMessageArrives) {
    Program perftest{
        "--transport mock --set faults=lose=1 --publishers 2 --sizes 64 --warmup 0 --test throughput --rate 2000 "
        "--duration 0.1"};

    EXPECT_EQ(perftest.wait(), 1);
    EXPECT_NE(perftest.out().find("messages arrived of pub1\""), std::string::npos) << perftest.out();
    EXPECT_NE(perftest.out().find("messages arrived of pub2\""), std::string::npos) << perftest.out();
}

TEST(Publishers, AnIntervalCountsTheMessagesOfAllPublishers) {
    Program perftest{
        "--test throughput --transport tcp --publishers 2 --sizes 64 --rate 500 --duration 0.3 --interval-length 0.1 "
        "--warmup 0"};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err();
    const auto log = perftest.out();
    EXPECT_EQ(value(log, "interval", "participant"), "");
    EXPECT_EQ(sum_of(log, "interval", "received"), number(log, "aggregate", "received")) << log;
}

TEST(Publishers, InThreadsStateNoResourcesBecauseTheyShareAProcess) {
    const std::string line =
        "--test throughput --publishers 2 --sizes 64 --rate 500 --duration 0.1 --warmup 0 --transport ";
    Program threads{line + "inter-thread"};
    Program processes{line + "tcp"};

    EXPECT_EQ(threads.wait() + processes.wait(), 0) << threads.err() << processes.err();
    const std::string used = "resources payload_bytes=64 test=throughput role=pub";
    EXPECT_EQ(threads.out().find(used), std::string::npos) << threads.out();
    EXPECT_NE(processes.out().find(used), std::string::npos) << processes.out();
}

TEST(Publishers, AreRefusedInOneLineWithOptionsThatTheyDoNotAllow) {
    const std::string throughput = "--test throughput --transport tcp --publishers ";
    const std::vector<std::pair<std::string, std::string>> refusals{
        {"--test latency --transport tcp --publishers 2", "--publishers is for --test throughput and demand"},
        {throughput + "2 --subscribers 2",
         "--publishers with --subscribers: a run can have several of only one of them"},
        {throughput + "2 --wait block", "--publishers needs --wait busy-poll"},
        {throughput + "2 --probe-every 10", "--probe-every cannot be combined with --publishers"},
        {throughput + "17", "--publishers 17: not a number from 1 to 16"}};
    for (const auto& [line, answer] : refusals) {
        Program perftest{line};

        EXPECT_EQ(perftest.wait(), 2) << line;
        const auto said = perftest.err();
        EXPECT_TRUE(said.starts_with("perftest: " + answer)) << said;
        EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    }
}

}  // namespace
}  // namespace tacholog
