// A ring of message slots for one writer and one reader or more, laid out in memory that all can see.
//
// A slot begins with one word that holds the message's turn and length, and the payload follows at once: up to 56 bytes
// of payload travel in the cache line whose change the reader is polling. There is no shared head index; each reader's
// progress has a line of its own, which the writer reads only when the ring looks full. Every reader reads every slot.
//
// Where payloads are large, each slot is a line that holds turn, length and the payload's place, and the places, as
// many as slots, are used by the last one given back first: in turn, they would push each other out of the caches.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "transports/parking.hpp"

namespace tacholog {

inline constexpr std::size_t cache_line = 64;

struct alignas(cache_line) ReaderProgress {
    std::atomic<std::uint64_t> released{0};  ///< messages that the reader has given back
};

struct RingHeader {
    alignas(cache_line) std::atomic<bool> writer_left{false};
    std::atomic<bool> reader_left{false};
    Parking reader;  ///< where they all wait for a message...
    Parking writer;  ///< ...and it for a free slot, unless both poll
};

using SlotWord = std::atomic<std::uint64_t>;  // turn << 32 | payload bytes
static_assert(SlotWord::is_always_lock_free);

/// A slot whose payload lies elsewhere.
struct alignas(cache_line) RemoteSlot {
    SlotWord word{0};
    std::uint64_t place = 0;
};

struct RingShape {
    std::size_t max_bytes = 0;
    std::size_t slots = 0;
    std::size_t stride = 0;
    std::size_t readers = 1;
    bool reuses_last = false;  ///< whether payloads lie in places of their own

    /// Small messages get many slots so that neither side waits for the other's index; large ones few, so that the
    /// slot written next is still in cache.
    static RingShape for_messages(std::size_t max_bytes, std::size_t readers = 1) {
        constexpr std::size_t cached = std::size_t{512} * 1024;
        constexpr std::size_t most_bytes_in_turn = std::size_t{2} * 1024 * 1024;
        const std::size_t stride = (sizeof(SlotWord) + max_bytes + cache_line - 1) / cache_line * cache_line;
        const std::size_t slots = std::bit_floor(std::clamp<std::size_t>(cached / stride, 4, 1024));
        return {max_bytes, slots, stride, readers, stride > most_bytes_in_turn};
    }

    std::size_t slots_at() const { return sizeof(RingHeader) + readers * sizeof(ReaderProgress); }
    std::size_t places_at() const { return slots_at() + (reuses_last ? slots * sizeof(RemoteSlot) : 0); }
    std::size_t bytes() const { return places_at() + slots * stride; }
};

/// Anonymous or file-backed shared memory that unmaps itself, its pages already there.
class Mapping {
public:
    static Result<Mapping> map(int fd, std::size_t bytes) {
        const int flags = MAP_SHARED | MAP_POPULATE | (fd < 0 ? MAP_ANONYMOUS : 0);
        void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
        if (start == MAP_FAILED) return os_error("map " + std::to_string(bytes) + " bytes of shared memory");
        return Mapping{static_cast<std::byte*>(start), bytes};
    }

    Mapping() = default;
    Mapping(Mapping&& other) noexcept : start_(std::exchange(other.start_, nullptr)), bytes_(other.bytes_) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(start_, other.start_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Mapping() {
        if (start_ != nullptr) ::munmap(start_, bytes_);
    }

    std::byte* start() const { return start_; }

private:
    Mapping(std::byte* start, std::size_t bytes) : start_(start), bytes_(bytes) {}

    std::byte* start_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Where things are in a ring's memory. Fresh memory of zeros is an empty ring.
class Ring {
public:
    Ring() = default;
    Ring(std::byte* start, RingShape shape, Waiting waiting = Waiting::busy_poll)
        : header_(std::launder(reinterpret_cast<RingHeader*>(start))),
          progress_(start + sizeof(RingHeader)),
          slots_(start + shape.slots_at()),
          places_(start + shape.places_at()),
          shape_(shape),
          mask_(shape.slots - 1),
          slot_stride_(shape.reuses_last ? sizeof(RemoteSlot) : shape.stride),
          waiting_(waiting) {}

    Waiting waiting() const { return waiting_; }
    RingHeader& header() const { return *header_; }
    const RingShape& shape() const { return shape_; }
    ReaderProgress& progress(std::size_t reader) const {
        return *std::launder(reinterpret_cast<ReaderProgress*>(progress_ + reader * sizeof(ReaderProgress)));
    }
    SlotWord& word(std::uint64_t turn) const { return *std::launder(reinterpret_cast<SlotWord*>(slot(turn))); }
    std::byte* payload(std::uint64_t turn) const { return slot(turn) + sizeof(SlotWord); }

    /// Where payloads lie elsewhere. The other side may write anything for a place.
    RemoteSlot& remote(std::uint64_t turn) const { return *std::launder(reinterpret_cast<RemoteSlot*>(slot(turn))); }
    std::byte* payload_at(std::uint64_t place) const { return places_ + (place & mask_) * shape_.stride; }

    static std::uint64_t published(std::uint64_t turn, std::size_t bytes) { return (turn + 1) << 32 | bytes; }

private:
    std::byte* slot(std::uint64_t turn) const { return slots_ + (turn & mask_) * slot_stride_; }

    RingHeader* header_ = nullptr;
    std::byte* progress_ = nullptr;
    std::byte* slots_ = nullptr;
    std::byte* places_ = nullptr;
    RingShape shape_;
    std::uint64_t mask_ = 0;
    std::size_t slot_stride_ = 0;
    Waiting waiting_ = Waiting::busy_poll;
};

/// Where the publisher writes a message: in the ring itself, or in a buffer of its own that is copied there.
enum class Written { in_place, elsewhere };

class RingWriter {
public:
    RingWriter() = default;
    explicit RingWriter(Ring ring) : ring_(ring) {
        if (!ring.shape().reuses_last) return;
        free_.resize(ring.shape().slots);
        std::iota(free_.rbegin(), free_.rend(), 0);
        places_.resize(free_.size());
    }

    /// Copies the message in. False if the ring is full.
    bool write(std::span<const std::byte> message) {
        if (ring_.shape().reuses_last) [[unlikely]]
            return write_over_last(message);
        if (turn_ - released_ >= ring_.shape().slots) {
            released_ = released_by_all();
            if (turn_ - released_ >= ring_.shape().slots) return false;
        }
        copy_in(message, ring_.payload(turn_));
        return true;
    }

    /// The slot to write the next message into, where payloads go in turn: `publish` leaves it free.
    std::byte* loan() const { return ring_.payload(turn_); }

    /// Hands over what was written into the loan. False if there would be no slot for the next one.
    bool publish(std::size_t bytes) {
        if (turn_ + 1 - released_ >= ring_.shape().slots) {
            released_ = released_by_all();
            if (turn_ + 1 - released_ >= ring_.shape().slots) return false;
        }
        hand_over(bytes);
        return true;
    }

private:
    std::uint64_t released_by_all() const {
        std::uint64_t least = ring_.progress(0).released.load(std::memory_order_acquire);
        for (std::size_t reader = 1; reader < ring_.shape().readers; ++reader)
            least = std::min(least, ring_.progress(reader).released.load(std::memory_order_acquire));
        return least;
    }

    void copy_in(std::span<const std::byte> message, std::byte* payload) {
        std::memcpy(payload, message.data(), message.size());
        hand_over(message.size());
    }

    void hand_over(std::size_t bytes) {
        ring_.word(turn_).store(Ring::published(turn_, bytes), std::memory_order_release);
        ++turn_;
        if (sleeps(ring_.waiting())) ring_.header().reader.wake();
    }

    // Out of the way of small messages, which take some 15 ns each.
    [[gnu::noinline]] bool write_over_last(std::span<const std::byte> message) {
        reclaim();
        if (free_.empty()) return false;
        const std::uint64_t place = free_.back();
        free_.pop_back();
        ring_.remote(turn_).place = places_[turn_ % places_.size()] = place;
        copy_in(message, ring_.payload_at(place));
        return true;
    }

    /// Takes back what all have read. The places of one look are used again in the order in which they went, but before
    /// any that were back earlier.
    void reclaim() {
        const std::uint64_t released = released_by_all();
        if (released - released_ > turn_ - released_) return;  // more than there are: somebody scribbles
        for (std::uint64_t turn = released; turn-- > released_;) free_.push_back(places_[turn % places_.size()]);
        released_ = released;
    }

    Ring ring_;
    std::uint64_t turn_ = 0;
    std::uint64_t released_ = 0;  // as last seen: the reader's line is touched only when the ring looks full
    std::vector<std::uint64_t> free_;
    std::vector<std::uint64_t> places_;  // of each turn from released_ to turn_
};

class RingReader {
public:
    RingReader() = default;
    explicit RingReader(Ring ring, std::size_t place = 0)
        : ring_(ring), place_(place), batch_(std::max<std::uint64_t>(1, ring.shape().slots / 8)) {}

    /// The next message, in place; a span without data if there is none.
    std::span<const std::byte> read() {
        const std::uint64_t word = ring_.word(turn_).load(std::memory_order_acquire);
        if ((word >> 32) != ((turn_ + 1) & UINT32_MAX) || word == 0) {
            // Both lines of the coming message then travel at once; without it the second is asked for after the first.
            if (ring_.shape().stride == 2 * cache_line) __builtin_prefetch(ring_.payload(turn_) + cache_line);
            announce();  // the writer may be waiting for just these slots
            return {};
        }
        const std::size_t bytes = std::min<std::size_t>(word & UINT32_MAX, ring_.shape().max_bytes);
        if (ring_.shape().reuses_last) [[unlikely]]
            return {ring_.payload_at(ring_.remote(turn_).place), bytes};
        return {ring_.payload(turn_), bytes};
    }

    void release() {
        ++turn_;
        if (turn_ - announced_ >= batch_) announce();
    }

private:
    void announce() {
        if (announced_ == turn_) return;
        ring_.progress(place_).released.store(turn_, std::memory_order_release);
        announced_ = turn_;
        if (sleeps(ring_.waiting())) ring_.header().writer.wake();
    }

    Ring ring_;
    std::size_t place_ = 0;
    std::uint64_t batch_ = 1;
    std::uint64_t turn_ = 0;
    std::uint64_t announced_ = 0;
};

}  // namespace tacholog
