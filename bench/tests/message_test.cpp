#include "core/message.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/sequence.hpp"

namespace tacholog {
namespace {

constexpr Handling verified{Touch::write_read, true};

TEST(Message, EverySizeComesBackWithItsNumberAndIntact) {
    for (const std::size_t bytes : {16U, 17U, 23U, 24U, 64U, 1000U, 4099U}) {
        std::vector<std::byte> payload(bytes);
        write_message(payload, 42, verified);

        const auto read = read_message(payload, verified);
        EXPECT_EQ(read.number, 42U);
        EXPECT_TRUE(read.intact) << bytes;
    }
}

TEST(Message, AnyChangedByteShows) {
    std::vector<std::byte> payload(67);
    for (std::size_t at = 0; at < payload.size(); ++at) {
        write_message(payload, 7, verified);
        payload[at] ^= std::byte{0x40};

        EXPECT_FALSE(read_message(payload, verified).intact) << "byte " << at;
    }
}

TEST(Message, TwoSwappedPartsShow) {
    std::vector<std::byte> payload(16 + 128);
    write_message(payload, 7, verified);
    std::swap_ranges(payload.begin() + 16, payload.begin() + 80, payload.begin() + 80);

    EXPECT_FALSE(read_message(payload, verified).intact);
}

TEST(Message, UntouchedPayloadsCarryTheirNumber) {
    std::vector<std::byte> payload(64, std::byte{0xEE});
    write_message(payload, 9, {Touch::none, false});

    EXPECT_EQ(read_message(payload, {Touch::none, false}).number, 9U);
    EXPECT_EQ(payload[16], std::byte{0xEE});
}

TEST(Sequence, CountsWhatNeverCame) {
    Sequence sequence{0};
    for (const std::uint64_t number : {0U, 1U, 4U}) sequence.arrived(number);

    EXPECT_EQ(sequence.received(), 3U);
    EXPECT_EQ(sequence.lost(5), 2U);
    EXPECT_EQ(sequence.lost(10), 7U);
}

TEST(Sequence, ALateMessageIsReorderedAndNotLost) {
    Sequence sequence{0};
    for (const std::uint64_t number : {0U, 2U, 1U}) sequence.arrived(number);

    EXPECT_EQ(sequence.reordered(), 1U);
    EXPECT_EQ(sequence.lost(3), 0U);
}

TEST(Sequence, ADuplicateIsNotReceivedTwice) {
    Sequence sequence{0};
    for (const std::uint64_t number : {0U, 1U, 1U, 0U, 2U}) sequence.arrived(number);

    EXPECT_EQ(sequence.received(), 3U);
    EXPECT_EQ(sequence.duplicated(), 2U);
}

TEST(Sequence, WhatBelongsToTheWarmUpIsStale) {
    Sequence sequence{100};

    EXPECT_EQ(sequence.arrived(99), Arrival::stale);
    EXPECT_EQ(sequence.received(), 0U);
}

TEST(Sequence, LongGapsForgetNothingThatMatters) {
    Sequence sequence{0};
    for (const std::uint64_t number : {0ULL, 1'000'000ULL, 999'999ULL, 1'000'000ULL, 1'070'000ULL})
        sequence.arrived(number);

    EXPECT_EQ(sequence.received(), 4U);
    EXPECT_EQ(sequence.reordered(), 1U);
    EXPECT_EQ(sequence.duplicated(), 1U);
}

}  // namespace
}  // namespace tacholog
