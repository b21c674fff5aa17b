// Tests whether a CPU is left for reporting, and which one.
#include "machine/placement.hpp"

#include <gtest/gtest.h>

namespace tacholog {
namespace {

using Cpus = std::vector<int>;

SideCpus side(const Cpus& allowed, const Cpus& achieved, std::size_t threads = 1, const std::string& host = "here") {
    return {host, allowed, achieved, threads};
}

TEST(Placement, TakesACpuThatNobodyMeasuresOn) {
    const auto pub = side({0, 1, 2, 3}, {0});
    const auto sub = side({0, 1, 2, 3}, {1});
    const auto placement = choose_placement(pub, {pub, sub});

    EXPECT_TRUE(placement.live);
    EXPECT_FALSE(placement.shared);
    EXPECT_EQ(placement.reporting, (Cpus{2, 3}));
}

TEST(Placement, OfTwoCpusThatMeasureLeavesNone) {
    const auto pub = side({0, 1}, {0});
    const auto sub = side({0, 1}, {1});

    EXPECT_FALSE(choose_placement(pub, {pub, sub}).live);
    EXPECT_FALSE(choose_placement(sub, {pub, sub}).live);
    EXPECT_FALSE(choose_placement(pub, {pub, sub}).shared);
}

TEST(Placement, OfAnyOfTwoCpusLeavesNoneForTwoThreads) {
    const auto any = side({0, 1}, {0, 1});

    EXPECT_FALSE(choose_placement(any, {any, any}).live);
    EXPECT_FALSE(choose_placement(any, {any, any}).shared);
}

TEST(Placement, OfAnyOfFourCpusLeavesSomeToTheKernelsChoice) {
    const auto any = side({0, 1, 2, 3}, {0, 1, 2, 3});
    const auto placement = choose_placement(any, {any, any});

    EXPECT_TRUE(placement.live);
    EXPECT_EQ(placement.reporting, (Cpus{0, 1, 2, 3}));
}

TEST(Placement, KeepsOffACpuThatIsOneThreadsOwn) {
    const auto pub = side({0, 1, 2}, {0});
    const auto sub = side({0, 1, 2}, {0, 1, 2});

    EXPECT_EQ(choose_placement(pub, {pub, sub}).reporting, (Cpus{1, 2}));
}

TEST(Placement, OnOneCpuSidesTakeTurns) {
    const auto both = side({0, 1}, {0});
    const auto placement = choose_placement(both, {both, both});

    EXPECT_TRUE(placement.shared);
    EXPECT_TRUE(placement.live);
    EXPECT_EQ(placement.reporting, Cpus{1});
}

TEST(Placement, ThreadsOfOneSideShareToo) {
    const auto pubs = side({0, 1}, {0}, 4);
    const auto sub = side({0, 1}, {1});

    EXPECT_TRUE(choose_placement(sub, {pubs, sub}).shared);
}

TEST(Placement, AnotherHostHasCpusOfItsOwn) {
    const auto pub = side({0, 1}, {0}, 1, "here");
    const auto sub = side({0, 1}, {0}, 1, "there");

    EXPECT_FALSE(choose_placement(sub, {pub, sub}).shared);
    EXPECT_EQ(choose_placement(sub, {pub, sub}).reporting, Cpus{1});
}

TEST(Placement, WhatASideSaysArrivesAsItWasSaid) {
    const auto said = parse_side_cpus(to_text(side({0, 1, 7}, {1}, 3, "5f1c-aa")));

    ASSERT_TRUE(said);
    EXPECT_EQ(said->allowed, (Cpus{0, 1, 7}));
    EXPECT_EQ(said->achieved, Cpus{1});
    EXPECT_EQ(said->threads, 3U);
    EXPECT_EQ(said->host, "5f1c-aa");
    for (const char* nonsense : {"", "0/1", "x/1/1/host", "0/1/-1/host", "0/99999999999/1/host", "0/1/1/host/more"})
        EXPECT_FALSE(parse_side_cpus(nonsense)) << nonsense;
}

}  // namespace
}  // namespace tacholog
