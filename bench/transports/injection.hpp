// What the mock transport does to messages on purpose, so that the rig's figures can be held against a known truth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace tacholog {

/// Frozen for `length_ns` in the middle of each `period_ns`.
struct Stall {
    Nanoseconds length_ns = 0;
    Nanoseconds period_ns = 0;

    bool covers(Nanoseconds since_start) const {
        if (length_ns == 0) return false;
        const Nanoseconds into = since_start % period_ns - (period_ns - length_ns) / 2;
        return into >= 0 && into < length_ns;
    }
};

/// Every n-th message arrives with one byte changed: by XOR with the mask.
struct Corruption {
    std::uint64_t every = 0;          ///< 0: no message
    std::optional<std::size_t> byte;  ///< from 0, the rig's header included; nothing: the last one
    bool each = false;                ///< each byte in turn: the first of such messages has its first byte changed
    std::uint8_t mask = 0xFF;

    /// Which byte of a message of this size to change, when so many messages have been changed before.
    std::size_t byte_index(std::size_t bytes, std::uint64_t before = 0) const {
        return each ? before % bytes : byte.value_or(bytes - 1);
    }
};

/// Faults are of every n-th message of a channel, the n-th first; 0: of none. A lost one suffers nothing else.
struct Injection {
    Nanoseconds hold_ns = 0;  ///< a message can be taken this much after it was published
    double service_ns = 0;    ///< messages get through one after the other, each in this time
    Stall stall;              ///< the subscriber can take nothing meanwhile
    Stall send_stall;         ///< the publisher can hand nothing over meanwhile
    std::uint64_t lose = 0;
    std::uint64_t silence = 0;  ///< all messages of this publisher are lost, the first is 1; 0: of none
    std::uint64_t duplicate = 0;
    std::uint64_t reorder = 0;  ///< it comes after the one behind it
    Corruption corrupt;
    Corruption corrupt_answer;  ///< the same of the answers, on their way back to the publisher
};

/// "hold=1ms,stall=100ms/1s,send-stall=50ms/1s,lose=10,silence=2,duplicate=7,reorder=5,corrupt=100:0:1", any of them.
Result<Injection> parse_injection(std::string_view list);

}  // namespace tacholog
