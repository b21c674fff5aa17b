// The faults that the mock transport injects on purpose. Tests compare the rig's figures with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace tacholog {

/// A pause of `length_ns` in the middle of each `period_ns`.
struct Stall {
    Nanoseconds length_ns = 0;
    Nanoseconds period_ns = 0;

    bool covers(Nanoseconds since_start) const {
        if (length_ns == 0) return false;
        const Nanoseconds into = since_start % period_ns - (period_ns - length_ns) / 2;
        return into >= 0 && into < length_ns;
    }
};

/// Changes one byte of every n-th message, by XOR with the mask.
struct Corruption {
    std::uint64_t every = 0;  ///< 0: no message
    /// The index is counted from 0, from the start of the rig's header. If it is not set, the last byte is changed.
    std::optional<std::size_t> byte;
    bool each = false;  ///< changes byte 0 of the first corrupted message, byte 1 of the second one, and so on
    std::uint8_t mask = 0xFF;

    /// `before` is the number of messages that were changed earlier.
    std::size_t byte_index(std::size_t bytes, std::uint64_t before = 0) const {
        return each ? before % bytes : byte.value_or(bytes - 1);
    }
};

/// A number N means: every N-th message has this fault; 0: none has it. A lost message has no other fault.
struct Injection {
    Nanoseconds hold_ns = 0;  ///< a message can be received only this long after it was published
    double service_ns = 0;    ///< messages pass one after the other, and each takes this time
    Stall stall;              ///< the subscriber receives nothing in this time
    Stall send_stall;         ///< the publisher sends nothing in this time
    std::uint64_t lose = 0;
    std::uint64_t silence = 0;  ///< all messages of this publisher are lost; the first publisher is 1; 0: none
    std::uint64_t duplicate = 0;
    std::uint64_t reorder = 0;  ///< the message is delivered after the next one
    Corruption corrupt;
    Corruption corrupt_answer;  ///< the same for answers that return to the publisher
};

/// The list looks like
/// "hold=1ms,stall=100ms/1s,send-stall=50ms/1s,lose=10,silence=2,duplicate=7,reorder=5,corrupt=100:0:1".
Result<Injection> parse_injection(std::string_view list);

}  // namespace tacholog
