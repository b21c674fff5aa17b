// Chunks of shared memory. One publisher writes them and passes their numbers on; a reference count says when a chunk
// is free again.
//
// Shared memory holds, for each subscriber, a ring of references and, for each chunk, a head and the payload behind it.
// The publisher sets a chunk's count to the number of subscribers that it goes to and puts a reference into each one's
// ring; a subscriber that is done takes one off the count, and at 0 the chunk is the publisher's again.
//
// Slow subscribers are left behind. Each ring has its own pace: its subscriber says how many references it has given
// back, and a message that finds no place in a ring is dropped for that subscriber alone. There are enough chunks for
// all rings to be full of different ones. (Where the publisher waits for all subscribers, a ring of slots is enough:
// broadcast_ring.hpp.)
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "transports/broadcast_ring.hpp"

namespace tacholog {

struct ChunkHead {
    std::atomic<std::uint32_t> holders{0};  ///< subscribers that have not given it back
    std::uint32_t bytes = 0;
    std::uint64_t unused = 0;  ///< the payload is aligned to 16 bytes
};

struct PoolHeader {
    alignas(cache_line) std::atomic<bool> publisher_left{false};
    Parking subscriber;  ///< where they all wait for a reference, unless they poll
};

/// How far a subscriber is.
struct alignas(cache_line) Progress {
    std::atomic<std::uint64_t> released{0};  ///< references
};

/// A line of its own: Ring::marked with the chunk.
struct alignas(cache_line) Reference {
    std::atomic<std::uint64_t> word{0};
};

struct PoolShape {
    std::size_t max_bytes = 0;
    std::size_t references = 0;
    std::size_t stride = 0;
    std::size_t subscribers = 1;

    static PoolShape for_messages(std::size_t max_bytes, std::size_t subscribers) {
        constexpr std::size_t cached = std::size_t{512} * 1024;
        const std::size_t stride = (sizeof(ChunkHead) + max_bytes + cache_line - 1) / cache_line * cache_line;
        return {max_bytes, std::bit_floor(std::clamp<std::size_t>(cached / stride, 4, 256)), stride, subscribers};
    }

    /// One more than can be under way: there is always one to loan.
    std::size_t chunks() const { return subscribers * references + 1; }
    std::size_t rings_at() const { return sizeof(PoolHeader) + subscribers * sizeof(Progress); }
    std::size_t chunks_at() const { return at_line_pair(rings_at() + subscribers * references * sizeof(Reference)); }
    std::size_t bytes() const { return chunks_at() + chunks() * stride; }

    /// It is slower to overwrite what the subscriber still has in its cache than what has left it. So small chunks are
    /// used in turn. Large ones reuse the chunk that came back last, which is in this side's cache.
    bool reuses_last() const { return stride > RingShape::most_in_turn(Written::in_place); }
};

/// Where things are in the pool's memory. Fresh memory of zeros is an empty pool.
class ChunkPool {
public:
    ChunkPool() = default;
    ChunkPool(std::byte* start, PoolShape shape, Waiting waiting = Waiting::busy_poll)
        : start_(start),
          rings_(start + shape.rings_at()),
          chunks_(start + shape.chunks_at()),
          shape_(shape),
          mask_(shape.references - 1),
          waiting_(waiting) {}

    Waiting waiting() const { return waiting_; }
    const PoolShape& shape() const { return shape_; }
    PoolHeader& header() const { return *std::launder(reinterpret_cast<PoolHeader*>(start_)); }
    Progress& progress(std::size_t subscriber) const {
        std::byte* memory = start_ + sizeof(PoolHeader) + subscriber * sizeof(Progress);
        return *std::launder(reinterpret_cast<Progress*>(memory));
    }
    Reference& reference(std::size_t subscriber, std::uint64_t turn) const {
        std::byte* memory = rings_ + (subscriber * shape_.references + (turn & mask_)) * sizeof(Reference);
        return *std::launder(reinterpret_cast<Reference*>(memory));
    }
    ChunkHead& head(std::uint32_t chunk) const {
        return *std::launder(reinterpret_cast<ChunkHead*>(chunks_ + chunk * shape_.stride));
    }
    std::byte* payload(std::uint32_t chunk) const { return chunks_ + chunk * shape_.stride + sizeof(ChunkHead); }

private:
    std::byte* start_ = nullptr;
    std::byte* rings_ = nullptr;
    std::byte* chunks_ = nullptr;
    PoolShape shape_;
    std::uint64_t mask_ = 0;
    Waiting waiting_ = Waiting::busy_poll;
};

class ChunkWriter {
public:
    explicit ChunkWriter(ChunkPool pool) : pool_(pool), rings_(pool.shape().subscribers) {
        for (std::size_t chunk = pool.shape().chunks(); chunk-- > 0;) {
            free_.push_back(static_cast<std::uint32_t>(chunk));
        }
    }

    /// A chunk to write into; the same one until it is published.
    std::byte* loan() {
        if (!loaned_) {
            if (free_.empty() || pool_.shape().reuses_last()) collect();
            chunk_ = free_.back();
            free_.pop_back();
            loaned_ = true;
        }
        return pool_.payload(chunk_);
    }

    /// Hands the loaned chunk to those whose rings have a place. If none has, it stays loaned, for the next message.
    void publish(std::size_t bytes) {
        std::uint32_t receivers = 0;
        for (std::size_t to = 0; to < rings_.size(); ++to) receivers += look_for_room(to) ? 1 : 0;
        if (receivers == 0) return;
        pool_.head(chunk_).bytes = static_cast<std::uint32_t>(bytes);
        pool_.head(chunk_).holders.store(receivers, std::memory_order_relaxed);
        for (std::size_t to = 0; to < rings_.size(); ++to) {
            if (rings_[to].has_room) refer(to, rings_[to].turn++);
        }
        held_.push_back(chunk_);
        loaned_ = false;
        if (sleeps(pool_.waiting())) pool_.header().subscriber.wake();
    }

    std::uint64_t dropped(std::size_t subscriber) const { return rings_[subscriber].dropped; }

private:
    /// A subscriber's ring.
    struct Ring {
        std::uint64_t turn = 0;
        std::uint64_t released = 0;  ///< as last seen
        std::uint64_t dropped = 0;
        bool has_room = true;
    };

    void refer(std::size_t to, std::uint64_t turn) {
        pool_.reference(to, turn).word.store(tacholog::Ring::marked(turn, chunk_), std::memory_order_release);
    }

    bool look_for_room(std::size_t to) {
        Ring& ring = rings_[to];
        const std::size_t references = pool_.shape().references;
        if (ring.turn - ring.released >= references)
            ring.released = pool_.progress(to).released.load(std::memory_order_acquire);
        ring.has_room = ring.turn - ring.released < references;
        if (!ring.has_room) ++ring.dropped;
        return ring.has_room;
    }

    // With a pace each, chunks do not come back in order. All rings together hold fewer than there are, so some are
    // back, unless a subscriber writes where it should not: the oldest is then taken from it.
    void collect() {
        const auto back = [this](std::uint32_t chunk) {
            return pool_.head(chunk).holders.load(std::memory_order_acquire) == 0;
        };
        const auto first_back = std::stable_partition(held_.begin(), held_.end(), std::not_fn(back));
        free_.insert(free_.end(), first_back, held_.end());
        held_.erase(first_back, held_.end());
        if (!free_.empty()) return;
        free_.push_back(held_.front());
        held_.erase(held_.begin());
    }

    ChunkPool pool_;
    std::vector<std::uint32_t> free_;
    std::vector<Ring> rings_;
    std::vector<std::uint32_t> held_;  ///< chunks that subscribers may hold
    std::uint32_t chunk_ = 0;
    bool loaned_ = false;
};

class ChunkReader {
public:
    ChunkReader() = default;
    explicit ChunkReader(ChunkPool pool, std::size_t reader_index = 0) : pool_(pool), reader_index_(reader_index) {}

    /// The next message, in place; a span without data if there is none.
    std::span<const std::byte> read() {
        const std::uint64_t word = pool_.reference(reader_index_, turn_).word.load(std::memory_order_acquire);
        if (word >> 32 != Ring::mark(turn_)) {
            // The reference and the chunk's first line then travel at once, not one after the other.
            __builtin_prefetch(&pool_.head(likely_next()));
            return {};
        }
        chunk_ = std::min(static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(pool_.shape().chunks() - 1));
        return {pool_.payload(chunk_), std::min<std::size_t>(pool_.head(chunk_).bytes, pool_.shape().max_bytes)};
    }

    /// Gives the reference back.
    void release() {
        pool_.head(chunk_).holders.fetch_sub(1, std::memory_order_release);
        ++turn_;
        pool_.progress(reader_index_).released.store(turn_, std::memory_order_release);
    }

private:
    std::uint32_t likely_next() const {
        if (pool_.shape().reuses_last()) return chunk_;
        return chunk_ + 1 < pool_.shape().chunks() ? chunk_ + 1 : 0;
    }

    ChunkPool pool_;
    std::size_t reader_index_ = 0;
    std::uint64_t turn_ = 0;
    std::uint32_t chunk_ = 0;
};

}  // namespace tacholog
