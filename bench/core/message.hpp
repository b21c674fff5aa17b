// What the rig puts into a payload: a header of 16 bytes, then, if the payload is to be touched, words that depend on
// the sequence number and on their place, so that a misplaced fragment shows.
//
// The header is a sequence number and a check word. The check word covers the number and the message's size, always: a
// number is believed only if its check is right, or one flipped bit would become millions of lost messages. With
// --verify, the upper half of the check word also holds a checksum of the payload. A timed message (one-way latency)
// holds the moment that it was due in the check word, in nanoseconds, of which 48 bits are enough; 16 bits check both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/clock.hpp"

namespace tacholog {

enum class Touch { none, write, write_read };

inline constexpr std::size_t message_header_bytes = 16;

/// How a run treats its payloads.
struct Handling {
    Touch touch = Touch::write_read;
    bool verify = false;
};

void write_message(std::span<std::byte> payload, std::uint64_t number, Handling handling);

struct ReadMessage {
    std::uint64_t number = 0;  ///< of no meaning unless identified
    bool identified = true;    ///< the header is as it was written
    bool intact = true;        ///< the header is, and the payload too, as far as it is verified
};

ReadMessage read_message(std::span<const std::byte> payload, Handling handling);

/// The same with the moment that the message is due. There is no checksum of the payload.
void write_timed_message(std::span<std::byte> payload, std::uint64_t number, Nanoseconds due_ns, Handling handling);

struct TimedMessage {
    std::uint64_t number = 0;
    bool identified = true;  ///< the header is as it was written
    std::uint64_t due = 0;   ///< the lower 48 bits of the moment

    /// What has passed since it was due; below 0 before that. Right within 39 hours.
    Nanoseconds age_ns(Nanoseconds now) const;
};

TimedMessage read_timed_message(std::span<const std::byte> payload, Handling handling);

/// The number of the answer to a message that came like this: it says whether the message was corrupted.
std::uint64_t number_of_answer_to(const ReadMessage& message);

struct Answer {
    std::optional<std::uint64_t> number;  ///< of the message; nothing if the message or its answer has lost it
    bool corrupted = false;               ///< the message or the answer
};

Answer read_answer(std::span<const std::byte> payload, Handling handling);

}  // namespace tacholog
