// A hand-written ring of slots for one writer and one reader. A slot holds the number of its turn, and directly after
// it the payload. The payload is written in place, or written elsewhere and copied. The reader reads it in place.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "perf/spin.hpp"
#include "transports/broadcast_ring.hpp"

namespace tacholog::perf {

class BareRing {
public:
    BareRing(std::byte* start, std::size_t bytes, std::size_t slots, Written written = Written::in_place)
        : start_(start),
          bytes_(bytes),
          slots_(slots),
          stride_(memory_bytes(bytes, 1)),
          elsewhere_(written == Written::elsewhere ? bytes : 0) {}

    static std::size_t memory_bytes(std::size_t bytes, std::size_t slots) {
        return (sizeof(Turn) + bytes + cache_line - 1) / cache_line * cache_line * slots;
    }

    /// Returns the number of slots of a ring that fits into the second-level cache (at least 4). For small messages,
    /// this number is so large that neither side waits for the other.
    static std::size_t slots_in_cache(std::size_t bytes) {
        constexpr std::size_t cached = std::size_t{512} * 1024;
        return std::bit_floor(std::clamp<std::size_t>(cached / memory_bytes(bytes, 1), 4, 1024));
    }

    /// Writes every word of the next payload, and publishes it.
    void write() {
        std::byte* place = slot() + sizeof(Turn);
        fill(elsewhere_.empty() ? place : elsewhere_.data());
        if (!elsewhere_.empty()) std::memcpy(place, elsewhere_.data(), bytes_);
        turn().store(turn_ + 1, std::memory_order_release);
        ++turn_;
    }

    /// Waits for the next payload, and reads every word of it.
    void read() {
        for (Spin spin; turn().load(std::memory_order_acquire) != turn_ + 1;) spin.wait();
        const std::byte* payload = slot() + sizeof(Turn);
        std::uint64_t sum = 0;
        for (std::size_t at = 0; at + sizeof sum <= bytes_; at += sizeof sum) {
            std::uint64_t word = 0;
            std::memcpy(&word, payload + at, sizeof word);
            sum += word;
        }
        asm volatile("" : : "r"(sum) : "memory");
        ++turn_;
    }

    void wait_for_room(const std::atomic<std::uint64_t>& released) {
        if (turn_ - released_ < slots_) return;
        for (Spin spin; turn_ - (released_ = released.load(std::memory_order_acquire)) >= slots_;) spin.wait();
    }

private:
    using Turn = std::atomic<std::uint64_t>;

    void fill(std::byte* payload) const {
        for (std::size_t at = 0; at + sizeof turn_ <= bytes_; at += sizeof turn_) {
            const std::uint64_t word = turn_ + at;
            std::memcpy(payload + at, &word, sizeof word);
        }
    }

    std::byte* slot() const { return start_ + turn_ % slots_ * stride_; }
    Turn& turn() const { return *std::launder(reinterpret_cast<Turn*>(slot())); }

    std::byte* start_;
    std::size_t bytes_;
    std::size_t slots_;
    std::size_t stride_;
    std::vector<std::byte> elsewhere_;
    std::uint64_t turn_ = 0;
    std::uint64_t released_ = 0;  // as last read
};

}  // namespace tacholog::perf
