// Datagrams that lie one after the other in memory: how they are grouped for sending, and how received groups are cut
// apart. This code uses no socket.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "transports/udp_fragments.hpp"

namespace tacholog {

/// Datagrams of equal length in one block of memory; only the last may be shorter. The kernel can cut them apart after
/// one send call.
struct SegmentGroup {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    std::size_t segment_bytes = 0;
};

/// The groups of a batch, in order.
class SegmentGroups {
public:
    /// The kernel's limit of datagrams per group. Before version 6.9 it is 64. Before version 4.18, the kernel does not
    /// support groups.
    static constexpr std::size_t most_segments = 128;

    /// The datagram must lie after the existing ones.
    void add(std::size_t bytes) {
        if (groups_.empty() || !joins(groups_.back(), bytes)) groups_.push_back({end_, 0, bytes});
        groups_.back().bytes += bytes;
        end_ += bytes;
    }

    /// Removes the datagram that was added last, which has this size. It must not have been sent.
    void take_back(std::size_t bytes) {
        end_ -= bytes;
        groups_.back().bytes -= bytes;
        if (groups_.back().bytes == 0) groups_.pop_back();
    }

    /// Call this when the next `count` groups have been sent.
    void sent(std::size_t count) { first_ += count; }

    std::span<const SegmentGroup> unsent() const { return std::span{groups_}.subspan(first_); }

    std::size_t limit() const { return limit_; }

    /// Sets the largest number of datagrams in a group. Groups that are not sent yet are formed again with the new
    /// limit.
    void limit(std::size_t segments) {
        limit_ = segments;
        const std::vector<SegmentGroup> before{unsent().begin(), unsent().end()};
        clear();
        for (const SegmentGroup& group : before) {
            if (groups_.empty()) end_ = group.offset;
            for (std::size_t at = 0; at < group.bytes; at += group.segment_bytes)
                add(std::min(group.segment_bytes, group.bytes - at));
        }
    }

    void clear() {
        groups_.clear();
        first_ = end_ = 0;
    }

private:
    bool joins(const SegmentGroup& group, std::size_t bytes) const {
        const bool room = group.bytes + bytes <= max_datagram && group.bytes / group.segment_bytes < limit_;
        return room && bytes <= group.segment_bytes && group.bytes % group.segment_bytes == 0;
    }

    std::vector<SegmentGroup> groups_;
    std::size_t limit_ = most_segments;
    std::size_t first_ = 0;  ///< the first group that has not been sent
    std::size_t end_ = 0;    ///< where the next datagram begins
};

/// Iterates over datagrams that were received together. Each has `segment_bytes`; only the last may be shorter.
class Segments {
public:
    Segments() = default;
    Segments(std::span<const std::byte> received, std::size_t segment_bytes)
        : rest_(received), segment_bytes_(segment_bytes) {}

    bool empty() const { return rest_.empty(); }

    std::span<const std::byte> next() {
        const auto datagram = rest_.first(std::min(rest_.size(), segment_bytes_));
        rest_ = rest_.subspan(datagram.size());
        return datagram;
    }

private:
    std::span<const std::byte> rest_;
    std::size_t segment_bytes_ = 0;
};

/// Returns an empty span if the datagram is not ours or does not hold a whole message.
inline std::span<const std::byte> whole_message(std::span<const std::byte> datagram, std::uint64_t stream,
                                                std::size_t max_bytes) {
    FragmentHeader header{};
    if (datagram.size() <= sizeof header) return {};
    std::memcpy(&header, datagram.data(), sizeof header);
    const auto message = datagram.subspan(sizeof header);
    if (header.stream != stream || header.fragment != 0 || header.total_bytes != message.size()) return {};
    return message.size() <= max_bytes ? message : std::span<const std::byte>{};
}

}  // namespace tacholog
