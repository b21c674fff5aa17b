// Tests of latency under load over every transport: the subscriber answers some messages of a stream.
#include "rig/probes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/program.hpp"
#include "tests/transports.hpp"

namespace tacholog {
namespace {

/// Counts the probes of the first payload size, answered or not. On a busy machine, there may be none.
std::uint64_t probes(const std::string& log) {
    if (log.find("too few messages for one") != std::string::npos) return 0;
    return number(log, "latency", "samples") + number(log, "latency", "lost");
}

class EveryTransportProbed : public testing::TestWithParam<std::tuple<const Transport*, Waiting>> {
protected:
    static std::string stream() {
        return "--test throughput" + briefly + "--transport " + std::string{std::get<0>(GetParam())->name} +
               " --wait " + std::string{to_text(std::get<1>(GetParam()))} + " ";
    }
};

/// These tests do not depend on the transport.
class RepresentativeProbed : public EveryTransportProbed {};

// The hardest case: both sides may wait until the other side makes space.
TEST_P(EveryTransportProbed, AnswersEachMessageIfEachMessageIsAProbe) {
    const std::string larger = carries(*std::get<0>(GetParam()), 300 * 1024) ? "300KiB" : "100KiB";
    Program both{stream() + "--probe-every 1 --verify --sizes 64," + larger};
    ASSERT_EQ(both.wait(), 0) << both.err() << both.out();
    const std::string log = both.out();

    EXPECT_EQ(probes(log), number(log, "throughput", "sent"));
    EXPECT_EQ(value(log, "latency", "probe_every"), "1");
    EXPECT_EQ(value(log, "latency", "corrupted"), "0");
    EXPECT_EQ(value(log, "end", "latency") + value(log, "end", "throughput"), "22");
    if (std::get<0>(GetParam())->reliability == Reliability::reliable) {
        EXPECT_EQ(value(log, "latency", "lost"), "0");
    }
}

TEST_P(RepresentativeProbed, AnswersTheProbesOfAStreamAtAGivenRate) {
    Program both{stream() + "--probe-every 7 --sizes 64 --rate 1000"};
    ASSERT_EQ(both.wait(), 0) << both.err() << both.out();
    const std::string log = both.out();

    const std::uint64_t sent = number(log, "throughput", "sent");
    EXPECT_GE(probes(log), sent / 7);
    EXPECT_LE(probes(log), sent / 7 + 1);
    EXPECT_EQ(value(log, "latency", "from"), "") << "a probe is timed from when it is handed over";
}

// Six is a multiple of three, the number of instances. Therefore, all probes would go to the same instance if the probe
// had a fixed place among each six messages.
TEST_P(RepresentativeProbed, AnswersProbesOfEachInstance) {
    Program both{stream() + "--probe-every 6 --instances 3 --sizes 64 --rate 2000"};
    ASSERT_EQ(both.wait(), 0) << both.err() << both.out();
    const std::string log = both.out();

    const std::uint64_t sent = number(log, "throughput", "sent");
    EXPECT_GE(probes(log) + 1, sent / 6);
    EXPECT_LE(probes(log), sent / 6 + 2) << "of the sixes in which the phase begins and ends, each may have its probe";
    if (probes(log) == 0) return;
    EXPECT_EQ(number(log, "latency", "instances"), 3U);
    if (std::get<0>(GetParam())->reliability == Reliability::reliable) {  // otherwise all of these may be lost
        EXPECT_EQ(number(log, "latency", "instances_heard"),
                  std::min<std::uint64_t>(3, number(log, "latency", "samples")))
            << log;
    }
    EXPECT_EQ(number(log, "latency", "duplicated") + number(log, "latency", "reordered"), 0U) << log;
}

const Ways polling_and_asleep{Waiting::busy_poll, Waiting::block};
INSTANTIATE_TEST_SUITE_P(Registry, EveryTransportProbed,
                         testing::ValuesIn(in_ways(transports_of_one_host(), polling_and_asleep)),
                         transport_and_waiting_name);
INSTANTIATE_TEST_SUITE_P(Representatives, RepresentativeProbed,
                         testing::ValuesIn(in_ways(representatives(), polling_and_asleep)), transport_and_waiting_name);

class PlanOfProbes : public testing::TestWithParam<std::pair<std::uint64_t, std::uint64_t>> {};

TEST_P(PlanOfProbes, HasOneProbeInEachPeriodAndProbesOfEachInstance) {
    const auto [every, instances] = GetParam();
    const ProbePlan plan{every, instances};
    std::vector<std::uint64_t> of_instance(instances);
    for (std::uint64_t probe = 0; probe < every * instances; ++probe) {
        std::uint64_t found = 0;
        for (std::uint64_t place = probe * every; place < (probe + 1) * every; ++place) {
            EXPECT_EQ(plan.first_from(place), found == 0 ? probe : probe + 1) << place;
            if (!plan.includes(place)) continue;
            ++found;
            EXPECT_EQ(plan.probe_at(place), probe);
            ++of_instance[place % instances];
        }
        EXPECT_EQ(found, 1U) << probe;
    }
    EXPECT_GT(*std::min_element(of_instance.begin(), of_instance.end()), 0U);
}

INSTANTIATE_TEST_SUITE_P(Keyed, PlanOfProbes,
                         testing::Values(std::pair{1, 1}, std::pair{7, 1}, std::pair{1, 5}, std::pair{6, 3},
                                         std::pair{3, 6}, std::pair{4, 6}, std::pair{5, 7}, std::pair{8, 8}),
                         [](const auto& one) {
                             return std::to_string(one.param.first) + "of" + std::to_string(one.param.second);
                         });

TEST(Probes, OfDifferentInstancesMayOvertakeEachOther) {
    const std::string stream =
        "--test throughput --transport mock --set faults=reorder=5 --probe-every 1 --sizes 64 --rate 2000 "
        "--warmup 0.02 ";
    const auto apart = log_of_run(stream + "--instances 4", 50);
    const auto alone = log_of_run(stream + "--instances 1", 50);

    EXPECT_EQ(number(apart, "latency", "reordered"), 0U) << apart;
    EXPECT_GT(number(alone, "latency", "reordered"), 0U) << alone;
}

TEST(Probes, MeasureTheDelayOfTheTransport) {
    Program both{
        "--test throughput --transport mock --set faults=hold=3ms --probe-every 5 --sizes 64 --rate 100 --duration 0.5 "
        "--warmup 0"};
    ASSERT_EQ(both.wait(), 0) << both.err() << both.out();

    EXPECT_GE(number(both.out(), "latency", "min_ns"), 3'000'000U);
}

// All probes are lost, for example, if the queue is so short that few messages pass, and none of these messages is a
// probe.
TEST(Probes, ThatAreAllLostGiveAResultWithoutSamplesIfTheTransportMayLoseMessages) {
    Program both{
        "--test throughput --transport mock --set faults=corrupt-answer=1:0 --probe-every 5 --sizes 64 --rate 1000 "
        "--duration 0.1 --warmup 0"};
    EXPECT_EQ(both.wait(), 0) << both.err() << both.out();

    EXPECT_GT(number(both.out(), "throughput", "received"), 0U);
    EXPECT_EQ(number(both.out(), "latency", "samples"), 0U);
    EXPECT_EQ(value(both.out(), "latency", "p50_ns"), "");
    EXPECT_NE(both.out().find("note text=\"64 bytes: throughput over mock: none of " +
                              value(both.out(), "latency", "corrupted") +
                              " probes was answered, while other messages arrived\""),
              std::string::npos)
        << both.out();
}

TEST(Probes, GiveNoResultIfNoProbeWasDue) {
    Program both{
        "--test throughput --transport shm --probe-every 100000 --sizes 64 --rate 200 --duration 0.1 --warmup 0.1"};
    ASSERT_EQ(both.wait(), 0) << both.err() << both.out();

    EXPECT_EQ(value(both.out(), "end", "latency"), "0") << both.out();
    EXPECT_NE(both.out().find("probes: 64 bytes: too few messages for one"), std::string::npos) << both.out();
}

TEST(Probes, ASubscriberThatIsKilledEndsTheRun) {
    for (const std::string transport : {"shm", "tcp"}) {
        Program both{"--test throughput --sizes 64 --probe-every 3 --warmup 0 --duration 600 --transport " + transport};
        ASSERT_TRUE(both.says("\nwarmup")) << both.err() << both.out();
        const pid_t child = both.child();
        ASSERT_GT(child, 0);
        ::kill(child, SIGKILL);
        EXPECT_EQ(both.wait(), 1) << both.err();
        EXPECT_EQ(value(both.out(), "end", "status"), "failed") << both.out();
    }
}

// The subscriber is stopped. When it continues, the publisher has already sent everything and has waited for half a
// second. Only then does the subscriber take and answer the messages that it missed. Regression: these messages counted
// as lost, and no round trip contained the stall.
TEST(Probes, ToASubscriberThatWasStoppedAtTheEndAreLateAndNotLost) {
    Program both{
        "--test throughput --transport udp --sizes 64 --probe-every 1 --rate 50 --warmup 0 --duration 1 --wait block"};
    ASSERT_TRUE(both.says("\nwarmup")) << both.err() << both.out();
    const pid_t child = both.child();
    ASSERT_GT(child, 0);
    ::kill(child, SIGSTOP);
    const Deadline end{Patience{2500}};
    while (!end.passed()) Program::pause();
    ::kill(child, SIGCONT);
    ASSERT_EQ(both.wait(), 0) << both.err() << both.out();

    const std::string log = both.out();
    EXPECT_EQ(number(log, "throughput", "lost"), 0U) << log;
    EXPECT_EQ(number(log, "latency", "lost"), 0U) << log;
    EXPECT_EQ(number(log, "latency", "samples"), number(log, "throughput", "sent")) << log;
}

TEST(Probes, AreRefusedWithOtherTestsAndWithSeveralSubscribersOrBatches) {
    const std::string stream = "--test throughput --transport tcp --probe-every 5 ";
    for (const std::string more : {"--subscribers 2", "--batch-bytes 4KiB"}) {
        Program both{stream + more};
        EXPECT_EQ(both.wait(), 2);
        EXPECT_NE(both.err().find("--probe-every cannot be combined with --publishers, --subscribers"),
                  std::string::npos)
            << both.err();
    }
    Program latency{"--test latency --transport tcp --probe-every 5"};
    EXPECT_EQ(latency.wait(), 2);
    EXPECT_EQ(latency.err(),
              "perftest: --probe-every is for --test throughput: it measures latency under the load of that test\n");
}

}  // namespace
}  // namespace tacholog
