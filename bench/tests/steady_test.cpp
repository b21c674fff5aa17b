#include "rig/steady.hpp"

#include <gtest/gtest.h>

namespace tacholog {
namespace {

constexpr Nanoseconds second = nanoseconds_per_second;

TEST(SteadyRule, ThreeSecondsWithinFivePercentAreSteady) {
    SteadyRule rule{std::nullopt};

    EXPECT_FALSE(rule.second_passed(200, 5000, second));
    EXPECT_FALSE(rule.second_passed(100, 10000, 2 * second));
    EXPECT_FALSE(rule.second_passed(104, 15000, 3 * second));
    EXPECT_TRUE(rule.second_passed(102, 20000, 4 * second));
    EXPECT_EQ(rule.outcome(), Outcome::steady);
}

TEST(SteadyRule, ADriftingRunIsNotSteady) {
    SteadyRule rule{std::nullopt};
    for (int passed = 1; passed <= 30; ++passed) EXPECT_FALSE(rule.second_passed(100 * passed, 20000, passed * second));

    EXPECT_EQ(rule.outcome(), Outcome::not_steady);
    EXPECT_EQ(rule.longest_ns(), 30 * second);
}

TEST(SteadyRule, SecondsWithoutMessagesAreNotSteady) {
    SteadyRule rule{std::nullopt};
    for (int passed = 1; passed <= 5; ++passed) EXPECT_FALSE(rule.second_passed(0, 0, passed * second));
}

TEST(SteadyRule, AFixedWarmUpEndsAfterItsDuration) {
    SteadyRule rule{0.5};

    EXPECT_EQ(rule.longest_ns(), second / 2);
    EXPECT_FALSE(rule.second_passed(100, 20000, second));
    EXPECT_EQ(rule.outcome(), Outcome::fixed);
}

TEST(Rate, NeedsTwoMessagesAndCountsThePeriodsBetweenMessages) {
    EXPECT_EQ(rate_of(0, second), std::nullopt);
    EXPECT_EQ(rate_of(1, second), std::nullopt);
    EXPECT_EQ(rate_of(2, second), 1.0);
    EXPECT_EQ(rate_of(11, second), 10.0);
    EXPECT_EQ(rate_of(2, 0), std::nullopt);
}

TEST(Rate, OfAPeriodIncludesTheMessageAtItsStart) {
    EXPECT_EQ(rate_within(0, second), std::nullopt);
    EXPECT_EQ(rate_within(10, second), 10.0);
}

}  // namespace
}  // namespace tacholog
