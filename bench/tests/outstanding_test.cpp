// Tests of the memory for outstanding messages, which has a fixed size.
#include "rig/outstanding.hpp"

#include <gtest/gtest.h>

namespace tacholog {
namespace {

using Kind = Outstanding::Kind;

TEST(Outstanding, OnlyTheFirstAnswerToAMessageIsCalledFirstAndHasTheTimeOfSending) {
    Outstanding outstanding{4};
    outstanding.restart(10);
    for (Nanoseconds time = 100; time < 103; ++time) outstanding.sent(time);

    const auto answer = outstanding.answered(11);
    EXPECT_EQ(answer.kind, Kind::first);
    EXPECT_EQ(answer.sent_ns, 101);
    EXPECT_EQ(outstanding.answered(11).kind, Kind::again);
    EXPECT_EQ(outstanding.answered(13).kind, Kind::foreign);
    EXPECT_EQ(outstanding.answered(10).kind, Kind::first);
    EXPECT_FALSE(outstanding.empty());
    EXPECT_EQ(outstanding.answered(12).kind, Kind::first);
    EXPECT_TRUE(outstanding.empty());
}

TEST(Outstanding, MemoryDoesNotGrowWithTheMessagesSentAfterALostMessage) {
    Outstanding outstanding;
    EXPECT_EQ(outstanding.remembered(), Outstanding::most_remembered);
    const std::uint64_t sent = 3 * Outstanding::most_remembered;
    for (std::uint64_t number = 0; number < sent; ++number) {
        outstanding.sent(static_cast<Nanoseconds>(number));
        if (number == 0) continue;  // lost
        const auto answer = outstanding.answered(number);
        ASSERT_EQ(answer.kind, Kind::first) << number;
        ASSERT_EQ(answer.sent_ns, static_cast<Nanoseconds>(number));
    }

    EXPECT_EQ(outstanding.remembered(), Outstanding::most_remembered);
    EXPECT_TRUE(outstanding.empty()) << "the lost one is still waited for";
    EXPECT_EQ(outstanding.answered(0).kind, Kind::again) << "later than so many others";
}

TEST(Outstanding, ForgetsOnlyTheOldestMessageIfAllAreLost) {
    Outstanding outstanding{1024};
    for (Nanoseconds time = 0; time < 1025; ++time) outstanding.sent(time);

    EXPECT_EQ(outstanding.answered(0).kind, Kind::again);
    EXPECT_EQ(outstanding.answered(1).sent_ns, 1);
    EXPECT_EQ(outstanding.answered(1024).sent_ns, 1024);
}

TEST(Outstanding, KnowsAllMessagesOfAGrowingBacklog) {
    Outstanding outstanding{16'384};
    outstanding.restart(1000);
    for (Nanoseconds time = 1000; time < 1500; ++time) outstanding.sent(time);
    for (std::uint64_t number = 1000; number < 1500; number += 2) outstanding.answered(number);
    for (Nanoseconds time = 1500; time < 17'001; ++time) outstanding.sent(time);

    EXPECT_EQ(outstanding.answered(1000).kind, Kind::again);
    EXPECT_EQ(outstanding.answered(1498).kind, Kind::again);
    for (std::uint64_t number = 1001; number < 1500; number += 2)
        EXPECT_EQ(outstanding.answered(number).sent_ns, static_cast<Nanoseconds>(number));
    for (std::uint64_t number = 1500; number < 17'001; ++number)
        EXPECT_EQ(outstanding.answered(number).sent_ns, static_cast<Nanoseconds>(number));
    EXPECT_TRUE(outstanding.empty());
}

TEST(Outstanding, HasTheSizeThatItsRateNeeds) {
    EXPECT_EQ(Outstanding{0}.remembered(), 1024U);
    EXPECT_EQ(Outstanding{100'000.0 * 10}.remembered(), 1U << 20);
    EXPECT_EQ(Outstanding{1e30}.remembered(), Outstanding::most_remembered);
}

}  // namespace
}  // namespace tacholog
