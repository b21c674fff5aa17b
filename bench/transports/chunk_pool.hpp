// Chunks of shared memory that are written by one publisher, referred to by number, and given back by reference count.
//
// Shared memory holds, for each subscriber, a ring of references and, for each chunk, a head and the payload behind it.
// The publisher sets a chunk's count to the number of subscribers and puts a reference into each one's ring; a
// subscriber that is done takes one off the count, and at 0 the chunk is the publisher's again. There is no queue back
// and no shared index: the count lies in the line that holds the payload's beginning, which both sides touch anyway.
// There is one subscriber a topic now; more need one ring each, which chunks and counts are made for.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

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
};

/// A line of its own: turn << 32 | chunk.
struct alignas(cache_line) Reference {
    std::atomic<std::uint64_t> word{0};
};

struct PoolShape {
    std::size_t max_bytes = 0;
    std::size_t references = 0;
    std::size_t stride = 0;

    static PoolShape for_messages(std::size_t max_bytes) {
        constexpr std::size_t cached = std::size_t{512} * 1024;
        const std::size_t stride = (sizeof(ChunkHead) + max_bytes + cache_line - 1) / cache_line * cache_line;
        return {max_bytes, std::bit_floor(std::clamp<std::size_t>(cached / stride, 4, 256)), stride};
    }

    /// One more than can be under way: there is always one to loan.
    std::size_t chunks() const { return references + 1; }
    std::size_t bytes() const { return sizeof(PoolHeader) + references * sizeof(Reference) + chunks() * stride; }

    /// Large payloads go into the chunk that was given back last, which is in cache. Smaller ones go round: a look
    /// whether the last chunk is back would take its line from the subscriber that is just reading it, and what the
    /// subscriber still has in its cache is dearer to overwrite than what has left it.
    bool reuses_last() const { return stride > std::size_t{128} * 1024; }
};

/// Where things are in the pool's memory. Fresh memory of zeros is an empty pool.
class ChunkPool {
public:
    ChunkPool() = default;
    ChunkPool(std::byte* start, PoolShape shape)
        : start_(start),
          chunks_(start + sizeof(PoolHeader) + shape.references * sizeof(Reference)),
          shape_(shape),
          mask_(shape.references - 1) {}

    const PoolShape& shape() const { return shape_; }
    PoolHeader& header() const { return *std::launder(reinterpret_cast<PoolHeader*>(start_)); }
    Reference& reference(std::uint64_t turn) const {
        std::byte* place = start_ + sizeof(PoolHeader) + (turn & mask_) * sizeof(Reference);
        return *std::launder(reinterpret_cast<Reference*>(place));
    }
    ChunkHead& head(std::uint32_t chunk) const {
        return *std::launder(reinterpret_cast<ChunkHead*>(chunks_ + chunk * shape_.stride));
    }
    std::byte* payload(std::uint32_t chunk) const { return chunks_ + chunk * shape_.stride + sizeof(ChunkHead); }

private:
    std::byte* start_ = nullptr;
    std::byte* chunks_ = nullptr;
    PoolShape shape_;
    std::uint64_t mask_ = 0;
};

class ChunkWriter {
public:
    explicit ChunkWriter(ChunkPool pool) : pool_(pool), sent_(pool.shape().references) {
        for (std::size_t chunk = pool.shape().chunks(); chunk-- > 0;) {
            free_.push_back(static_cast<std::uint32_t>(chunk));
        }
    }

    /// A chunk to write into; the same one until it is published.
    std::byte* loan() {
        if (!loaned_) {
            if (free_.empty() || pool_.shape().reuses_last()) reclaim();
            chunk_ = free_.back();  // there are more chunks than references: if none is back, one was never sent
            free_.pop_back();
            loaned_ = true;
        }
        return pool_.payload(chunk_);
    }

    /// Hands the loaned chunk over. False if the subscriber has not given back enough.
    bool publish(std::size_t bytes) {
        constexpr std::uint32_t subscribers = 1;
        if (turn_ - oldest_ >= sent_.size()) {
            reclaim();
            if (turn_ - oldest_ >= sent_.size()) return false;
        }
        pool_.head(chunk_).bytes = static_cast<std::uint32_t>(bytes);
        pool_.head(chunk_).holders.store(subscribers, std::memory_order_relaxed);
        sent_[turn_ % sent_.size()] = chunk_;
        pool_.reference(turn_).word.store((turn_ + 1) << 32 | chunk_, std::memory_order_release);
        ++turn_;
        loaned_ = false;
        return true;
    }

private:
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
    std::uint64_t turn_ = 0;
    std::uint64_t oldest_ = 0;
    std::uint32_t chunk_ = 0;
    bool loaned_ = false;
};

class ChunkReader {
public:
    ChunkReader() = default;
    explicit ChunkReader(ChunkPool pool) : pool_(pool) {}

    /// The next message, in place; a span without data if there is none.
    std::span<const std::byte> read() {
        const std::uint64_t word = pool_.reference(turn_).word.load(std::memory_order_acquire);
        if ((word >> 32) != ((turn_ + 1) & UINT32_MAX) || word == 0) {
            // The reference and the chunk's first line then travel at once, not one after the other.
            __builtin_prefetch(&pool_.head(likely_next()));
            return {};
        }
        chunk_ = std::min(static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(pool_.shape().references));
        return {pool_.payload(chunk_), std::min<std::size_t>(pool_.head(chunk_).bytes, pool_.shape().max_bytes)};
    }

    /// Gives the reference back.
    void release() {
        pool_.head(chunk_).holders.fetch_sub(1, std::memory_order_release);
        ++turn_;
    }

private:
    std::uint32_t likely_next() const {
        if (pool_.shape().reuses_last()) return chunk_;
        return chunk_ + 1 < pool_.shape().chunks() ? chunk_ + 1 : 0;
    }

    ChunkPool pool_;
    std::uint64_t turn_ = 0;
    std::uint32_t chunk_ = 0;
};

}  // namespace tacholog
