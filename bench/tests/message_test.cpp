#include "base/message.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/sequence.hpp"

namespace tacholog {
namespace {

constexpr Handling verified{Touch::write_read, true};

TEST(Message, OfEachSizeIsReadIntactAndWithItsNumber) {
    for (const std::size_t bytes : {16U, 17U, 23U, 24U, 64U, 1000U, 4099U}) {
        std::vector<std::byte> payload(bytes);
        write_message(payload, 42, verified);

        const auto read = read_message(payload, verified);
        EXPECT_EQ(read.number, 42U);
        EXPECT_TRUE(read.intact) << bytes;
    }
}

TEST(Message, AChangedByteIsDetected) {
    std::vector<std::byte> payload(67);
    for (std::size_t at = 0; at < payload.size(); ++at) {
        write_message(payload, 7, verified);
        payload[at] ^= std::byte{0x40};

        EXPECT_FALSE(read_message(payload, verified).intact) << "byte " << at;
    }
}

TEST(Message, AnyChangeOfAnyByteIsDetected) {
    std::vector<std::byte> payload(67);
    for (const std::uint64_t number : {0ULL, 7ULL, 123'456'789ULL, 42ULL << 48 | 99}) {
        write_message(payload, number, verified);
        for (std::size_t at = 0; at < payload.size(); ++at) {
            for (int mask = 1; mask < 256; ++mask) {
                payload[at] ^= std::byte(mask);
                EXPECT_FALSE(read_message(payload, verified).intact) << "byte " << at << " mask " << mask;
                payload[at] ^= std::byte(mask);
            }
        }
        EXPECT_TRUE(read_message(payload, verified).intact);
    }
}

TEST(Message, WithAChangedNumberIsNeverIdentified) {
    std::vector<std::byte> payload(64);
    for (const Handling handling : {verified, Handling{}, Handling{Touch::none, false}}) {
        write_message(payload, 123'456'789, handling);
        for (std::size_t at = 0; at < sizeof(std::uint64_t); ++at) {
            for (int mask = 1; mask < 256; ++mask) {
                payload[at] ^= std::byte(mask);
                EXPECT_FALSE(read_message(payload, handling).identified) << "byte " << at << " mask " << mask;
                payload[at] ^= std::byte(mask);
            }
        }
        EXPECT_TRUE(read_message(payload, handling).identified);
    }
}

TEST(Message, WithoutVerificationTheHeaderIsCheckedAndThePayloadIsNot) {
    std::vector<std::byte> payload(64);
    for (std::size_t at = 0; at < payload.size(); ++at) {
        write_message(payload, 7, {});
        payload[at] ^= std::byte{1};

        EXPECT_EQ(read_message(payload, {}).intact, at >= message_header_bytes) << "byte " << at;
    }
}

TEST(Message, WithAChangedPayloadKeepsItsNumberAndIsNotIntact) {
    std::vector<std::byte> payload(64);
    write_message(payload, 7, verified);
    payload[20] ^= std::byte{1};

    EXPECT_TRUE(read_message(payload, verified).identified);
    EXPECT_EQ(read_message(payload, verified).number, 7U);
    EXPECT_FALSE(read_message(payload, verified).intact);
}

TEST(Message, ReadWithAnotherSizeThanItWasWrittenIsNotIdentified) {
    std::vector<std::byte> payload(64);
    write_message(payload, 7, {});

    EXPECT_FALSE(read_message(std::span{payload}.first(63), {}).identified);
    EXPECT_FALSE(read_message(std::vector<std::byte>(64), {}).identified) << "memory of zeros is no message";
}

TEST(TimedMessage, StatesItsAgeSinceItsDueTimeEvenIfNegative) {
    std::vector<std::byte> payload(64);
    for (const Nanoseconds due :
         {Nanoseconds{5}, Nanoseconds{1} << 47, (Nanoseconds{1} << 48) - 10, Nanoseconds{1} << 60}) {
        write_timed_message(payload, 9, due, {});
        const auto message = read_timed_message(payload, {});

        EXPECT_TRUE(message.identified);
        EXPECT_EQ(message.number, 9U);
        EXPECT_EQ(message.age_ns(due + 1'000'000), 1'000'000);
        EXPECT_EQ(message.age_ns(due - 3), -3);
    }
}

TEST(TimedMessage, AnyChangeOfAnyByteOfNumberOrTimeIsDetected) {
    std::vector<std::byte> payload(64);
    write_timed_message(payload, 123'456'789, 987'654'321'012'345, {});
    for (std::size_t at = 0; at < message_header_bytes; ++at) {
        for (int mask = 1; mask < 256; ++mask) {
            payload[at] ^= std::byte(mask);
            EXPECT_FALSE(read_timed_message(payload, {}).identified) << "byte " << at << " mask " << mask;
            payload[at] ^= std::byte(mask);
        }
    }
}

TEST(Answer, StatesWhetherTheMessageWasCorrupted) {
    std::vector<std::byte> payload(64);
    const auto answer_to = [&](const ReadMessage& message) {
        write_message(payload, number_of_answer_to(message), verified);
        return read_answer(payload, verified);
    };

    EXPECT_EQ(answer_to({7, true, true}).number, 7U);
    EXPECT_FALSE(answer_to({7, true, true}).corrupted);
    EXPECT_EQ(answer_to({7, true, false}).number, 7U);
    EXPECT_TRUE(answer_to({7, true, false}).corrupted);
    EXPECT_FALSE(answer_to({7, false, false}).number);
    EXPECT_TRUE(answer_to({7, false, false}).corrupted);
}

TEST(Message, TwoSwappedPartsAreDetected) {
    std::vector<std::byte> payload(16 + 128);
    write_message(payload, 7, verified);
    std::swap_ranges(payload.begin() + 16, payload.begin() + 80, payload.begin() + 80);

    EXPECT_FALSE(read_message(payload, verified).intact);
}

TEST(Message, WithAnUntouchedPayloadHasItsNumber) {
    std::vector<std::byte> payload(64, std::byte{0xEE});
    write_message(payload, 9, {Touch::none, false});

    EXPECT_EQ(read_message(payload, {Touch::none, false}).number, 9U);
    EXPECT_EQ(payload[16], std::byte{0xEE});
}

TEST(Sequence, CountsMissingMessagesAsLost) {
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

TEST(Sequence, MessagesOfTheWarmUpAreStale) {
    Sequence sequence{100};

    EXPECT_EQ(sequence.arrived(99), Arrival::stale);
    EXPECT_EQ(sequence.received(), 0U);
}

TEST(Sequence, AnUnidentifiedMessageCountsAsOneOfTheMissingMessages) {
    Sequence sequence{0};
    for (const std::uint64_t number : {0U, 1U, 4U}) sequence.arrived(number);
    sequence.arrived_unidentified();
    sequence.settle(5);

    EXPECT_EQ(sequence.received(), 4U);
    EXPECT_EQ(sequence.lost(5), 1U);
    EXPECT_EQ(sequence.duplicated(), 0U);
}

TEST(Sequence, AnUnidentifiedMessageCountsAsADuplicateIfNoneIsMissing) {
    Sequence sequence{0};
    for (const std::uint64_t number : {0U, 1U}) sequence.arrived(number);
    sequence.arrived_unidentified();
    sequence.settle(2);

    EXPECT_EQ(sequence.received(), 2U);
    EXPECT_EQ(sequence.lost(2), 0U);
    EXPECT_EQ(sequence.duplicated(), 1U);
}

TEST(Sequence, ReorderedAndDuplicatedMessagesAreDetectedAfterLongGaps) {
    Sequence sequence{0};
    for (const std::uint64_t number : {0ULL, 1'000'000ULL, 999'999ULL, 1'000'000ULL, 1'070'000ULL})
        sequence.arrived(number);

    EXPECT_EQ(sequence.received(), 4U);
    EXPECT_EQ(sequence.reordered(), 1U);
    EXPECT_EQ(sequence.duplicated(), 1U);
}

}  // namespace
}  // namespace tacholog
