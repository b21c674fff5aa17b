// What the two sides of reliable UDP say to each other. A message is cut into packets, which are numbered through the
// whole stream; the subscriber says which it has, which it lacks, and how many messages it has given back.
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
    heartbeat,   ///< "I have sent this many packets: what do you lack?", which finds a lost tail
    leaving,     ///< the publisher's last word, with the number of its packets
    answer,      ///< from the subscriber
    left,        ///< the subscriber's last word, an answer too
    invitation,  ///< to one subscriber: come to where the stream is
    welcome,     ///< to one that was invited: it has been heard
    skip,        ///< to one that is left behind: nothing before this packet and message comes again
};

/// What follows the header of an invitation.
struct Invitation {
    in6_addr group;      ///< of either family, as to_bytes has it
    std::uint16_t port;  ///< as the kernel has ports
    std::array<std::uint16_t, 3> unused;
    std::uint64_t stream;
};

/// How every datagram of the publisher begins.
struct PacketHeader {
    std::uint64_t stream;  ///< drawn by the subscriber (by the publisher, of several), so that nothing of another run
                           ///< is taken for its own
    Kind kind;
    std::uint32_t stamp_us;  ///< the publisher's clock, which the answer gives back
    std::uint64_t packet;    ///< heartbeat, leaving: how many were sent
    std::uint64_t message;
    std::uint32_t fragment;
    std::uint32_t total_bytes;
    std::uint32_t piece_bytes;  ///< of every fragment but the last
    std::uint32_t unused;
};

/// A payload of up to so many bytes is copied behind its header, or from there. The copy costs less than handing the
/// kernel two pieces of memory, which costs 0.1 us of a datagram's 2 us (a virtual machine with 2 CPUs, 2026-11-22).
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
    std::uint32_t stamp_us;     ///< of the packet that came last
    std::uint32_t held_us;      ///< how long ago it came
    std::uint32_t window;       ///< packets that the subscriber's socket can hold
    std::uint64_t next_packet;  ///< all before it are here
    std::uint64_t released;     ///< messages given back or skipped
    std::uint64_t skipped;      ///< messages that it was told to skip and lacked
    std::uint64_t range_count;  ///< of `missing`, the oldest first; only so many are sent
    std::array<Range, most_ranges> missing;

    /// Whether what was received is an answer of this stream, as long as it says.
    bool believable(std::size_t received, std::uint64_t expected_stream) const {
        if (received < offsetof(Answer, missing) || stream != expected_stream || range_count > most_ranges)
            return false;
        return received == bytes() && (kind == Kind::answer || kind == Kind::left);
    }

    std::size_t bytes() const { return sizeof *this - (most_ranges - range_count) * sizeof(Range); }
};

/// Messages that may be under way: both sides hold memory for so many. Few, so that the memory stays in cache.
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

/// A peer that has said nothing for so long, though it was asked all the time, is gone.
inline constexpr Nanoseconds longest_silence_ns = 5000 * millisecond_ns;

}  // namespace tacholog::reliable
