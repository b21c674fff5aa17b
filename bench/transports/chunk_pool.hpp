// Chunks of shared memory that are written by one publisher, referred to by number, and given back by reference count.
//
// Shared memory holds, for each subscriber, a ring of references and, for each chunk, a head and the payload behind it.
// The publisher sets a chunk's count to the number of subscribers and puts a reference into each one's ring; a
// subscriber that is done takes one off the count, and at 0 the chunk is the publisher's again. There is no queue back
// and no shared index: the count lies in the line that holds the payload's beginning, which both sides touch anyway.
//
// Where all are waited for, the rings run in step, and the oldest chunk that is not back bounds them all. Where slow
// ones are left behind, each ring has its own pace, and each subscriber says how many references it has given back;
// what finds no place in a ring is dropped for that subscriber alone. There are then chunks for every ring to be full
// of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/audience.hpp"
#include "transports/spsc_ring.hpp"

namespace tacholog {

struct ChunkHead {
    std::atomic<std::uint32_t> holders{0};  ///< subscribers that have not given it back
    std::uint32_t bytes = 0;
    std::uint64_t unused = 0;  ///< the payload is aligned to 16 bytes
};

struct PoolHeader {
    alignas(cache_line) std::atomic<bool> publisher_left{false};
    alignas(cache_line) std::atomic<bool> subscriber_left{false};
    Parking subscriber;  ///< where they all wait for a reference...
    Parking publisher;   ///< ...and it for one to come back, unless both poll
};

/// How far a subscriber is; said only where slow ones are left behind.
struct alignas(cache_line) Progress {
    std::atomic<std::uint64_t> released{0};  ///< references
};

/// A line of its own: turn << 32 | chunk.
struct alignas(cache_line) Reference {
    std::atomic<std::uint64_t> word{0};
};

/// Where all are waited for, the chunks of messages up to so large may be used in turn: what the subscriber still has
/// in its cache is dearer to overwrite than what has left it. Larger ones go where the last was, which is in cache.
inline constexpr std::size_t most_chunk_bytes_in_turn = std::size_t{128} * 1024;

struct PoolShape {
    std::size_t max_bytes = 0;
    std::size_t references = 0;
    std::size_t stride = 0;
    Audience audience = {};

    static PoolShape for_messages(std::size_t max_bytes, Audience audience) {
        constexpr std::size_t cached = std::size_t{512} * 1024;
        const std::size_t stride = (sizeof(ChunkHead) + max_bytes + cache_line - 1) / cache_line * cache_line;
        return {max_bytes, std::bit_floor(std::clamp<std::size_t>(cached / stride, 4, 256)), stride, audience};
    }

    bool drops() const { return audience.slow == SlowSubscriber::drop; }

    /// One more than can be under way: there is always one to loan.
    std::size_t chunks() const { return (drops() ? audience.subscribers : 1) * references + 1; }
    std::size_t rings_at() const { return sizeof(PoolHeader) + audience.subscribers * sizeof(Progress); }
    std::size_t chunks_at() const { return rings_at() + audience.subscribers * references * sizeof(Reference); }
    std::size_t bytes() const { return chunks_at() + chunks() * stride; }

    /// Smaller ones go round: a look whether the last chunk is back would take its line from the subscriber that is
    /// just reading it.
    bool reuses_last() const { return max_bytes > most_chunk_bytes_in_turn; }
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
        std::byte* place = start_ + sizeof(PoolHeader) + subscriber * sizeof(Progress);
        return *std::launder(reinterpret_cast<Progress*>(place));
    }
    Reference& reference(std::size_t subscriber, std::uint64_t turn) const {
        std::byte* place = rings_ + (subscriber * shape_.references + (turn & mask_)) * sizeof(Reference);
        return *std::launder(reinterpret_cast<Reference*>(place));
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
    explicit ChunkWriter(ChunkPool pool)
        : pool_(pool), sent_(pool.shape().references), rings_(pool.shape().audience.subscribers) {
        for (std::size_t chunk = pool.shape().chunks(); chunk-- > 0;) {
            free_.push_back(static_cast<std::uint32_t>(chunk));
        }
    }

    /// A chunk to write into; the same one until it is published.
    std::byte* loan() {
        if (!loaned_) {
            if (free_.empty() || pool_.shape().reuses_last()) pool_.shape().drops() ? collect() : reclaim();
            chunk_ = free_.back();  // there are more chunks than references: if none is back, one was never sent
            free_.pop_back();
            loaned_ = true;
        }
        return pool_.payload(chunk_);
    }

    /// Hands the loaned chunk over. False if a subscriber that is waited for has not given back enough.
    bool publish(std::size_t bytes) {
        if (pool_.shape().drops()) return publish_to_whom_it_may(bytes);
        const auto subscribers = static_cast<std::uint32_t>(rings_.size());
        if (turn_ - oldest_ >= sent_.size()) {
            reclaim();
            if (turn_ - oldest_ >= sent_.size()) return false;
        }
        pool_.head(chunk_).bytes = static_cast<std::uint32_t>(bytes);
        pool_.head(chunk_).holders.store(subscribers, std::memory_order_relaxed);
        sent_[turn_ % sent_.size()] = chunk_;
        for (std::size_t to = 0; to < rings_.size(); ++to) refer(to, turn_);
        ++turn_;
        loaned_ = false;
        if (sleeps(pool_.waiting())) pool_.header().subscriber.wake();
        return true;
    }

    std::uint64_t dropped(std::size_t subscriber) const { return rings_[subscriber].dropped; }

private:
    /// A subscriber's ring, where each has its own pace.
    struct Ring {
        std::uint64_t turn = 0;
        std::uint64_t released = 0;  ///< as last seen
        std::uint64_t dropped = 0;
        bool has_room = true;
    };

    void refer(std::size_t to, std::uint64_t turn) {
        pool_.reference(to, turn).word.store((turn + 1) << 32 | chunk_, std::memory_order_release);
    }

    /// To those whose rings have a place. If none has, the chunk stays loaned, for the next message.
    bool publish_to_whom_it_may(std::size_t bytes) {
        std::uint32_t receivers = 0;
        for (std::size_t to = 0; to < rings_.size(); ++to) receivers += look_for_room(to) ? 1 : 0;
        if (receivers == 0) return true;
        pool_.head(chunk_).bytes = static_cast<std::uint32_t>(bytes);
        pool_.head(chunk_).holders.store(receivers, std::memory_order_relaxed);
        for (std::size_t to = 0; to < rings_.size(); ++to) {
            if (rings_[to].has_room) refer(to, rings_[to].turn++);
        }
        held_.push_back(chunk_);
        loaned_ = false;
        if (sleeps(pool_.waiting())) pool_.header().subscriber.wake();
        return true;
    }

    bool look_for_room(std::size_t to) {
        Ring& ring = rings_[to];
        const std::size_t places = pool_.shape().references;
        if (ring.turn - ring.released >= places)
            ring.released = pool_.progress(to).released.load(std::memory_order_acquire);
        ring.has_room = ring.turn - ring.released < places;
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

    // References come back in the order in which they went. The chunks of a batch are used again in that order too, but
    // before any that were back earlier.
    void reclaim() {
        std::uint64_t end = oldest_;
        while (end < turn_ && pool_.head(sent(end)).holders.load(std::memory_order_acquire) == 0) ++end;
        for (std::uint64_t turn = end; turn-- > oldest_;) free_.push_back(sent(turn));
        oldest_ = end;
    }

    std::uint32_t sent(std::uint64_t turn) const { return sent_[turn % sent_.size()]; }

    ChunkPool pool_;
    std::vector<std::uint32_t> free_;
    std::vector<std::uint32_t> sent_;  ///< the chunk of each turn from oldest_ to turn_
    std::vector<Ring> rings_;
    std::vector<std::uint32_t> held_;  ///< chunks that subscribers may hold, where each has its own pace
    std::uint64_t turn_ = 0;
    std::uint64_t oldest_ = 0;
    std::uint32_t chunk_ = 0;
    bool loaned_ = false;
};

class ChunkReader {
public:
    ChunkReader() = default;
    explicit ChunkReader(ChunkPool pool, std::size_t place = 0) : pool_(pool), place_(place) {}

    /// The next message, in place; a span without data if there is none.
    std::span<const std::byte> read() {
        const std::uint64_t word = pool_.reference(place_, turn_).word.load(std::memory_order_acquire);
        if ((word >> 32) != ((turn_ + 1) & UINT32_MAX) || word == 0) {
            // The reference and the chunk's first line then travel at once, not one after the other.
            __builtin_prefetch(&pool_.head(likely_next()));
            if (sleeps(pool_.waiting())) wake_publisher();
            return {};
        }
        chunk_ = std::min(static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(pool_.shape().chunks() - 1));
        return {pool_.payload(chunk_), std::min<std::size_t>(pool_.head(chunk_).bytes, pool_.shape().max_bytes)};
    }

    /// Gives the reference back.
    void release() {
        pool_.head(chunk_).holders.fetch_sub(1, std::memory_order_release);
        ++turn_;
        if (pool_.shape().drops()) pool_.progress(place_).released.store(turn_, std::memory_order_release);
        if (sleeps(pool_.waiting()) && turn_ - told_ >= pool_.shape().references / 4) wake_publisher();
    }

private:
    /// Not for each reference: a publisher that is woken for one message sleeps again after it.
    void wake_publisher() {
        if (told_ == turn_) return;
        told_ = turn_;
        pool_.header().publisher.wake();
    }

    std::uint32_t likely_next() const {
        if (pool_.shape().reuses_last()) return chunk_;
        return chunk_ + 1 < pool_.shape().chunks() ? chunk_ + 1 : 0;
    }

    ChunkPool pool_;
    std::size_t place_ = 0;
    std::uint64_t turn_ = 0;
    std::uint64_t told_ = 0;  ///< up to where the publisher was woken for what came back, if it sleeps
    std::uint32_t chunk_ = 0;
};

}  // namespace tacholog
