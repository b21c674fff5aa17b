// The packets of reliable UDP, in both directions. A message is cut into packets, which are numbered through the whole
// stream. The subscriber reports which packets it has, which are missing, and how many messages it has released.
#pragma once

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"

namespace tacholog::reliable {

enum class Kind : std::uint32_t {
    data,        ///< a packet
    heartbeat,   ///< states how many packets were sent, so that the subscriber notices if the last ones were lost
    leaving,     ///< the last packet of the publisher, with the number of packets sent
    answer,      ///< what the subscriber has received
    left,        ///< the last answer of the subscriber
    invitation,  ///< to one subscriber: the group and port of the stream
    welcome,     ///< to an invited subscriber: confirms that its answer has arrived
    skip,        ///< to a subscriber left behind: packets and messages before the stated ones are not sent again
};

struct Invitation {
    in6_addr group;      ///< IPv4 or IPv6, in the form of to_bytes
    std::uint16_t port;  ///< the port in network byte order
    std::array<std::uint16_t, 3> unused;
    std::uint64_t stream;
};

/// The header of every datagram of the publisher.
struct PacketHeader {
    /// A random number, different in each run. The subscriber chooses it. For a group, the publisher chooses it.
    std::uint64_t stream;
    Kind kind;
    std::uint32_t stamp_us;  ///< the time on the publisher's clock; the answer returns it
    std::uint64_t packet;    ///< the number of the packet; in `heartbeat` and `leaving`: how many packets were sent
    std::uint64_t message;
    std::uint32_t fragment;
    std::uint32_t total_bytes;
    std::uint32_t piece_bytes;  ///< the size of every fragment except the last
    std::uint32_t unused;
};

/// A payload of up to this many bytes is copied into one buffer with its header, before sending or after receiving. Two
/// separate buffers would cost the kernel more than the copy: they add 0.1 us to the 2 us of a datagram (a virtual
/// machine with 2 CPUs, 2026-11-22).
inline constexpr std::size_t most_copied_bytes = 2048;
using WholeDatagram = std::array<std::byte, sizeof(PacketHeader) + most_copied_bytes>;

struct Range {
    std::uint64_t first;
    std::uint64_t count;
};

inline constexpr std::size_t most_ranges = 32;

struct Answer {
    std::uint64_t stream;
    Kind kind;
    std::uint32_t stamp_us;     ///< of the last received packet
    std::uint32_t held_us;      ///< the time from the receipt of that packet to this answer
    std::uint32_t window;       ///< packets that the subscriber's socket can hold
    std::uint64_t next_packet;  ///< all packets before this one have been received or skipped
    std::uint64_t released;     ///< messages released or skipped
    std::uint64_t skipped;      ///< messages that were skipped before they were complete
    /// The number of ranges in `missing`. Only the oldest ranges are sent if not all ranges fit.
    std::uint64_t range_count;
    std::array<Range, most_ranges> missing;

    /// Whether these bytes are an answer of this stream and have the length that it states.
    bool believable(std::size_t received, std::uint64_t expected_stream) const {
        if (received < offsetof(Answer, missing) || stream != expected_stream || range_count > most_ranges)
            return false;
        return received == bytes() && (kind == Kind::answer || kind == Kind::left);
    }

    std::size_t bytes() const { return sizeof *this - (most_ranges - range_count) * sizeof(Range); }
};

/// Both sides hold memory for this number of messages. It is small, so that this memory stays in the cache.
inline std::size_t messages_under_way(std::size_t max_bytes) {
    constexpr std::size_t budget = std::size_t{2} * 1024 * 1024;
    const std::size_t fewest = max_bytes <= 2 * budget ? 4 : 2;
    return std::clamp<std::size_t>(budget / max_bytes, fewest, 4096);
}

inline std::size_t pieces_of(std::size_t bytes, std::size_t piece_bytes) {
    return (bytes + piece_bytes - 1) / piece_bytes;
}

inline std::uint32_t stamp_of(Nanoseconds time) {
    return static_cast<std::uint32_t>(time / 1000);
}

inline constexpr Nanoseconds millisecond_ns = 1'000'000;

/// A peer counts as gone if it sends nothing for this time, although it is asked repeatedly.
inline constexpr Nanoseconds longest_silence_ns = 5000 * millisecond_ns;

}  // namespace tacholog::reliable
