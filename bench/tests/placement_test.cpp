// Tests of two questions: which CPU is left for reporting, if any; and what the CPUs of both sides share.
#include "machine/placement.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "machine/environment.hpp"
#include "machine/measuring_cpus.hpp"
#include "tests/kernel_files.hpp"

namespace tacholog {
namespace {

using Cpus = std::vector<int>;

SideCpus side(const Cpus& allowed, const Cpus& achieved, std::size_t threads = 1, const std::string& host = "here") {
    return {host, allowed, achieved, threads};
}

TEST(Placement, ReportsOnACpuThatNoMeasuringThreadUses) {
    const auto pub = side({0, 1, 2, 3}, {0});
    const auto sub = side({0, 1, 2, 3}, {1});
    const auto placement = choose_placement(pub, {pub, sub});

    EXPECT_TRUE(placement.live);
    EXPECT_FALSE(placement.shared);
    EXPECT_EQ(placement.reporting, (Cpus{2, 3}));
}

TEST(Placement, LeavesNoCpuForReportingIfBothCpusMeasure) {
    const auto pub = side({0, 1}, {0});
    const auto sub = side({0, 1}, {1});

    EXPECT_FALSE(choose_placement(pub, {pub, sub}).live);
    EXPECT_FALSE(choose_placement(sub, {pub, sub}).live);
    EXPECT_FALSE(choose_placement(pub, {pub, sub}).shared);
}

TEST(Placement, LeavesNoCpuForReportingIfTwoUnpinnedThreadsHaveTwoCpus) {
    const auto any = side({0, 1}, {0, 1});

    EXPECT_FALSE(choose_placement(any, {any, any}).live);
    EXPECT_FALSE(choose_placement(any, {any, any}).shared);
}

TEST(Placement, LetsTheKernelChooseTheReportingCpuIfTwoUnpinnedThreadsHaveFourCpus) {
    const auto any = side({0, 1, 2, 3}, {0, 1, 2, 3});
    const auto placement = choose_placement(any, {any, any});

    EXPECT_TRUE(placement.live);
    EXPECT_EQ(placement.reporting, (Cpus{0, 1, 2, 3}));
}

TEST(Placement, DoesNotReportOnTheCpuOfAPinnedThread) {
    const auto pub = side({0, 1, 2}, {0});
    const auto sub = side({0, 1, 2}, {0, 1, 2});

    EXPECT_EQ(choose_placement(pub, {pub, sub}).reporting, (Cpus{1, 2}));
}

TEST(Placement, StatesThatBothSidesShareACpu) {
    const auto both = side({0, 1}, {0});
    const auto placement = choose_placement(both, {both, both});

    EXPECT_TRUE(placement.shared);
    EXPECT_TRUE(placement.live);
    EXPECT_EQ(placement.reporting, Cpus{1});
}

TEST(Placement, StatesThatThreadsOfOneSideShareACpu) {
    const auto pubs = side({0, 1}, {0}, 4);
    const auto sub = side({0, 1}, {1});

    EXPECT_TRUE(choose_placement(sub, {pubs, sub}).shared);
}

TEST(Placement, DoesNotMixTheCpusOfDifferentHosts) {
    const auto pub = side({0, 1}, {0}, 1, "here");
    const auto sub = side({0, 1}, {0}, 1, "there");

    EXPECT_FALSE(choose_placement(sub, {pub, sub}).shared);
    EXPECT_EQ(choose_placement(sub, {pub, sub}).reporting, Cpus{1});
}

TEST(Placement, OfASideStaysTheSameAfterWritingAndReading) {
    const auto said = parse_side_cpus(to_text(side({0, 1, 7}, {1}, 3, "5f1c-aa")));

    ASSERT_TRUE(said);
    EXPECT_EQ(said->allowed, (Cpus{0, 1, 7}));
    EXPECT_EQ(said->achieved, Cpus{1});
    EXPECT_EQ(said->threads, 3U);
    EXPECT_EQ(said->host, "5f1c-aa");
    for (const char* nonsense : {"", "0/1", "x/1/1/host", "0/1/-1/host", "0/99999999999/1/host", "0/1/1/host/more"})
        EXPECT_FALSE(parse_side_cpus(nonsense)) << nonsense;
}

/// Two sockets, each with a NUMA node and two cores that share an L3 cache; each core has two hardware threads. The
/// numbers are those that Linux gives such a machine: 0 and 4 are threads of one core.
class TwoSockets : public testing::Test {
protected:
    TwoSockets() {
        files_.write("/sys/devices/system/node/online", "0-1\n");
        files_.write("/sys/devices/system/node/node0/cpulist", "0-1,4-5\n");
        files_.write("/sys/devices/system/node/node1/cpulist", "2-3,6-7\n");
        const std::string core = "0,4\n";
        files_.write(cpu_ + "topology/thread_siblings_list", core);
        write_cache(0, "1", "Data", core);
        write_cache(1, "1", "Instruction", core);
        write_cache(2, "3", "Unified", "0-1,4-5\n");
    }

    void write_cache(int index, const std::string& level, const std::string& type, const std::string& cpus) const {
        const std::string folder = cpu_ + "cache/index" + std::to_string(index);
        files_.write(folder + "/level", level + "\n");
        files_.write(folder + "/type", type + "\n");
        files_.write(folder + "/shared_cpu_list", cpus);
    }

    MeasuringCpus compared_with(int cpu) const { return compare_cpus(0, cpu, files_.root()); }

    const std::string cpu_ = "/sys/devices/system/cpu/cpu0/";
    const FilesOfTheKernel files_;
};

TEST_F(TwoSockets, TwoThreadsOfOneCoreAreSiblings) {
    const auto cpus = compared_with(4);

    EXPECT_EQ(cpus.relation, CpuRelation::siblings);
    EXPECT_EQ(cpus.cache_level, 1);
}

TEST_F(TwoSockets, TwoCoresOfOneSocketShareACache) {
    const auto cpus = compared_with(1);

    EXPECT_EQ(cpus.relation, CpuRelation::shared_cache);
    EXPECT_EQ(cpus.cache_level, 3);
    EXPECT_EQ(cpus.publisher_node, 0);
    EXPECT_EQ(cpus.subscriber_node, 0);
}

TEST_F(TwoSockets, TwoCoresWithoutASharedCacheShareANode) {
    write_cache(2, "3", "Unified", "0,4\n");

    EXPECT_EQ(compared_with(1).relation, CpuRelation::one_node);
    EXPECT_EQ(compared_with(1).cache_level, 0);
}

TEST_F(TwoSockets, CoresOfDifferentSocketsAreOnTwoNodes) {
    const auto cpus = compared_with(2);

    EXPECT_EQ(cpus.relation, CpuRelation::two_nodes);
    EXPECT_EQ(cpus.cache_level, 0);
    EXPECT_EQ(cpus.subscriber_node, 1);
}

TEST_F(TwoSockets, ACpuIsNotItsOwnSibling) {
    EXPECT_EQ(compared_with(0).relation, CpuRelation::one_cpu);
}

TEST(MeasuringCpus, AreUnknownIfTheKernelStatesNothing) {
    const FilesOfTheKernel files;
    const auto cpus = compare_cpus(0, 1, files.root());

    EXPECT_EQ(cpus.relation, CpuRelation::unknown);
    EXPECT_EQ(cpus.cache_level, -1);
    EXPECT_EQ(cpus.publisher_node, -1);
}

TEST(MeasuringCpus, OfASideWithSeveralCpusAreUnpinned) {
    const auto cpus = find_measuring_cpus(side({0, 1}, {0}), {side({0, 1}, {0, 1})});

    EXPECT_EQ(cpus.relation, CpuRelation::unpinned);
    EXPECT_EQ(cpus.cache_line_ps, -1);
}

TEST(MeasuringCpus, OfTwoHostsAreNotRelated) {
    EXPECT_EQ(find_measuring_cpus(side({0}, {0}, 1, "here"), {side({0}, {0}, 1, "there")}).relation,
              CpuRelation::two_hosts);
}

TEST(MeasuringCpus, AreCalledMixedIfTheyDifferBetweenSubscribers) {
    const auto pub = side({0, 1}, {0});

    EXPECT_EQ(find_measuring_cpus(pub, {side({0, 1}, {0}), side({0, 1}, {0, 1})}).relation, CpuRelation::mixed);
}

TEST(MeasuringCpus, HaveAMeasuredTimeOfACacheLineBetweenTwoCpus) {
    const Cpus allowed = allowed_cpus();
    if (allowed.size() < 2) GTEST_SKIP() << "this process has one CPU";
    std::optional<std::int64_t> ps;
    std::thread{[&] {
        if (pin("first", {allowed[0]})) ps = measure_cache_line_ps(allowed[1]);
    }}.join();

    ASSERT_TRUE(ps);
    EXPECT_GT(*ps, 0);
}

TEST(MeasuringCpus, HaveNoTimeOfACacheLineToACpuThatDoesNotExist) {
    EXPECT_FALSE(measure_cache_line_ps(1023));
}

}  // namespace
}  // namespace tacholog
