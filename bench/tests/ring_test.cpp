// Tests of the ring of slots alone, in one thread. Each message must be read once, in order and unchanged, whichever
// slot holds it and however far apart its readers are.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <tuple>

#include "transports/broadcast_ring.hpp"
#include "transports/chunk_pool.hpp"
#include "transports/local_socket.hpp"

namespace tacholog {
namespace {

// Slots must begin with a pair of cache lines. Otherwise the second cache line of a small message would be fetched
// later than the first.
TEST(Ring, SlotsBeginWithAPairOfCacheLinesForAnyNumberOfReaders) {
    EXPECT_EQ(sizeof(MemoryHead) % line_pair, 0U);
    for (const std::size_t readers : {1, 2, 3, 16}) {
        for (const std::size_t bytes : {64, 1024, 1 << 20}) {
            for (const Written written : {Written::in_place, Written::elsewhere})
                EXPECT_EQ(RingShape::for_messages(bytes, readers, written).slots_at() % line_pair, 0U) << readers;
            EXPECT_EQ(PoolShape::for_messages(bytes, readers).chunks_at() % line_pair, 0U) << readers;
        }
    }
}

constexpr std::size_t in_turn_bytes = 2000;
constexpr std::size_t not_in_turn_bytes = std::size_t{3} * 1024 * 1024;

/// A ring with one reader for each index. Each message holds its number at its beginning and at its end.
class RingOfSlots : public testing::TestWithParam<std::tuple<std::size_t, Written, std::size_t>> {
protected:
    void SetUp() override {
        auto mapping = Mapping::map(-1, shape_.bytes());
        ASSERT_TRUE(mapping) << mapping.error().text;
        memory_ = std::move(*mapping);
        const Ring ring{memory_.start(), shape_};
        writer_ = RingWriter{ring};
        for (std::size_t place = 0; place < shape_.readers; ++place) readers_.emplace_back(ring, place);
        read_.resize(shape_.readers);
    }

    bool write() {
        const bool in_place = std::get<Written>(GetParam()) == Written::in_place;
        std::byte* message = in_place ? writer_.loan() : elsewhere_.data();
        std::memcpy(message, &written_, sizeof written_);
        std::memcpy(message + max_bytes_ - sizeof written_, &written_, sizeof written_);
        const bool done = in_place ? writer_.publish(max_bytes_) : writer_.write(elsewhere_);
        written_ += done ? 1 : 0;
        return done;
    }

    static void expect_number(std::span<const std::byte> message, std::uint64_t number) {
        for (const std::byte* end : {message.data(), message.data() + message.size() - sizeof number}) {
            std::uint64_t found = 0;
            std::memcpy(&found, end, sizeof found);
            EXPECT_EQ(found, number);
        }
    }

    bool read(std::size_t reader) {
        const auto message = readers_[reader].read();
        if (message.data() == nullptr) return false;
        EXPECT_EQ(message.size(), max_bytes_);
        expect_number(message, read_[reader]++);
        readers_[reader].release();
        return true;
    }

    std::size_t max_bytes_ = std::get<0>(GetParam());
    RingShape shape_ = RingShape::for_messages(max_bytes_, std::get<2>(GetParam()), std::get<Written>(GetParam()));
    std::vector<std::byte> elsewhere_ = std::vector<std::byte>(max_bytes_);
    Mapping memory_;
    RingWriter writer_;
    std::vector<RingReader> readers_;
    std::uint64_t written_ = 0;
    std::vector<std::uint64_t> read_;  ///< messages read by each reader
};

TEST_P(RingOfSlots, GivesEachReaderAllMessagesInOrderAtAnySpeed) {
    std::mt19937 random{1};
    std::uniform_int_distribution<std::size_t> who{0, shape_.readers + 1};  // the writer is chosen twice as often
    for (int step = 0; step < 5000; ++step) {
        const std::size_t chosen = who(random);
        if (chosen >= shape_.readers) {
            const bool wrote = write();
            const std::uint64_t behind = written_ - *std::min_element(read_.begin(), read_.end());
            EXPECT_LT(behind, shape_.slots);
            // A reader reports its position only from time to time.
            EXPECT_TRUE(wrote || behind + 1 + shape_.slots / 8 >= shape_.slots) << behind;
        } else {
            EXPECT_EQ(read(chosen), read_[chosen] < written_);
        }
    }

    EXPECT_GT(written_, 500U);
}

TEST_P(RingOfSlots, GivesEachMessageOfAPingPongToAllReaders) {
    for (int round = 0; round < 1000; ++round) {
        ASSERT_TRUE(write());
        for (std::size_t reader = 0; reader < readers_.size(); ++reader) ASSERT_TRUE(read(reader));
    }
}

TEST_P(RingOfSlots, DoesNotChangeAMessageUntilItIsReleased) {
    for (int round = 0; round < 10; ++round) {
        ASSERT_TRUE(write());
        const auto held = readers_.front().read();
        ASSERT_NE(held.data(), nullptr);
        while (write()) {
        }
        expect_number(held, read_.front());
        for (std::size_t reader = 0; reader < readers_.size(); ++reader) {
            while (read(reader)) {
            }
        }
    }
}

// While slots are used in order, no index is written. So the index may still hold an old entry with the same mark.
TEST(RingOfSlotsNotInTurn, DoesNotUseAnOldIndexWithTheSameMark) {
    constexpr std::uint64_t ago = 1ULL << 31;
    constexpr std::uint64_t old_slot = 3;
    const std::array<std::byte, 64> message{};
    const RingShape shape{message.size(), 4, std::size_t{2} * cache_line, 1, true};
    const auto mapping = Mapping::map(-1, shape.bytes());
    ASSERT_TRUE(mapping) << mapping.error().text;
    const Ring ring{mapping->start(), shape};
    RingWriter writer{ring};
    RingReader reader{ring};
    std::uint64_t turn = 0;
    for (; turn < 10; ++turn) {
        ASSERT_TRUE(writer.write(message));
        ASSERT_NE(reader.read().data(), nullptr);
        reader.release();
    }
    ASSERT_EQ(ring.word(old_slot), 0U);

    ring.word(old_slot) = Ring::marked(turn - ago, message.size());
    ring.index(turn).word = Ring::indexed(turn - ago, old_slot);

    EXPECT_EQ(reader.read().data(), nullptr);
    ASSERT_TRUE(writer.write(message));
    EXPECT_NE(reader.read().data(), nullptr);
}

std::string shape_name(const testing::TestParamInfo<RingOfSlots::ParamType>& one) {
    const std::string written = std::get<Written>(one.param) == Written::in_place ? "_in_place" : "_elsewhere";
    return std::to_string(std::get<0>(one.param)) + written + "_to_" + std::to_string(std::get<2>(one.param));
}

INSTANTIATE_TEST_SUITE_P(Shapes, RingOfSlots,
                         testing::Combine(testing::Values(16, 64, in_turn_bytes, not_in_turn_bytes),
                                          testing::Values(Written::in_place, Written::elsewhere),
                                          testing::Values(1, 3)),
                         shape_name);

}  // namespace
}  // namespace tacholog
