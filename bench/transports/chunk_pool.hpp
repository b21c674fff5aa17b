// Chunks of shared memory. One publisher writes chunks and passes their indices to the subscribers. A reference count
// tells when a chunk is free again.
//
// The shared memory holds a ring of references for each subscriber, and a head and a payload for each chunk. The
// publisher sets the reference count of a chunk to the number of receiving subscribers, and puts a reference into the
// ring of each of them. A subscriber that has read the chunk decrements the count. At 0, the publisher may use the
// chunk again.
//
// A slow subscriber does not delay the others, because each subscriber has its own ring. It states in shared memory how
// many references it has released. If its ring is full, a message is dropped for this subscriber only. There are enough
// chunks to fill all rings with different ones. (If the publisher waits for all subscribers, a ring of slots is enough:
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
    std::atomic<std::uint32_t> holders{0};  ///< subscribers that have not released the chunk
    std::uint32_t bytes = 0;
    std::uint64_t unused = 0;  ///< padding, so that the payload is aligned to 16 bytes
};

struct PoolHeader {
    alignas(cache_line) std::atomic<bool> publisher_left{false};
    Parking subscriber;  ///< all subscribers wait here for a reference, unless they poll
};

struct alignas(cache_line) Progress {
    std::atomic<std::uint64_t> released{0};  ///< references that the subscriber has released
};

/// A reference holds the index of a chunk, marked by Ring::marked. It has a cache line of its own.
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

    /// Returns the number of chunks. There is one chunk more than there are references, so that one chunk is always
    /// free.
    std::size_t chunks() const { return subscribers * references + 1; }
    std::size_t rings_at() const { return sizeof(PoolHeader) + subscribers * sizeof(Progress); }
    std::size_t chunks_at() const { return at_line_pair(rings_at() + subscribers * references * sizeof(Reference)); }
    std::size_t bytes() const { return chunks_at() + chunks() * stride; }

    /// Returns whether the chunk that was released last is reused first. This is done for large chunks, because the
    /// last chunk is still in the cache of this side. Small chunks are used in order, so that each chunk is overwritten
    /// as late as possible. By then, the caches of the subscribers may have evicted the chunk, and overwriting such a
    /// chunk is faster.
    bool reuses_last() const { return stride > RingShape::most_in_turn(Written::in_place); }
};

/// The layout of a pool in memory. Memory filled with zeros is an empty pool.
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

    /// Returns the memory of the chunk for the next message. Each call returns the same memory until the chunk is
    /// published.
    std::byte* loan() {
        if (!loaned_) {
            if (free_.empty() || pool_.shape().reuses_last()) collect();
            chunk_ = free_.back();
            free_.pop_back();
            loaned_ = true;
        }
        return pool_.payload(chunk_);
    }

    /// Only subscribers whose rings are not full get the chunk. If all rings are full, it stays loaned and is used for
    /// the next message.
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
    /// The publisher's knowledge of the ring of one subscriber.
    struct Ring {
        std::uint64_t turn = 0;
        std::uint64_t released = 0;  ///< as last read
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

    // The subscribers are not equally fast, so chunks are not released in order. All rings together hold fewer
    // references than there are chunks, so one chunk is always free. Only a faulty subscriber can prevent this, by
    // corrupting the counts. Then the oldest chunk is reused.
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
    std::vector<std::uint32_t> held_;  ///< chunks that subscribers may still read
    std::uint32_t chunk_ = 0;
    bool loaned_ = false;
};

class ChunkReader {
public:
    ChunkReader() = default;
    explicit ChunkReader(ChunkPool pool, std::size_t reader_index = 0) : pool_(pool), reader_index_(reader_index) {}

    /// Returns the next message in place, or a span without data if there is no message.
    std::span<const std::byte> read() {
        const std::uint64_t word = pool_.reference(reader_index_, turn_).word.load(std::memory_order_acquire);
        if (word >> 32 != Ring::mark(turn_)) {
            // Fetches the reference and the first line of the chunk at the same time, not one after the other.
            __builtin_prefetch(&pool_.head(likely_next()));
            return {};
        }
        chunk_ = std::min(static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(pool_.shape().chunks() - 1));
        return {pool_.payload(chunk_), std::min<std::size_t>(pool_.head(chunk_).bytes, pool_.shape().max_bytes)};
    }

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
