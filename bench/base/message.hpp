// The content of a payload. Each payload begins with a header of 16 bytes. If a run writes its payloads, further words
// follow the header. Each of these words depends on the sequence number and on the offset of the word, so that a
// misplaced fragment is noticed.
//
// The header is a sequence number and a check word. The check word always covers the sequence number and the size of
// the message. A number is used only if its check is right: otherwise one flipped bit would be counted as millions of
// lost messages. With --verify, the upper half of the check word holds a checksum of the payload. In a timed message
// (one-way latency) the check word holds the lower 48 bits of the time at which the message was due, in nanoseconds;
// the other 16 bits check both the number and the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "base/clock.hpp"

namespace tacholog {

enum class Touch { none, write, write_read };

inline constexpr std::size_t message_header_bytes = 16;

/// How a run writes and checks its payloads.
struct Handling {
    Touch touch = Touch::write_read;
    bool verify = false;
};

struct ReadMessage {
    std::uint64_t number = 0;  ///< valid only if `identified`
    bool identified = true;    ///< whether the header arrived unchanged
    bool intact = true;  ///< whether header and payload arrived unchanged; the payload counts only if it was verified
};

namespace message_parts {

inline constexpr std::uint64_t golden = 0x9E3779B97F4A7C15;  // an odd number with well mixed bits
inline constexpr std::uint64_t size_factor = 0xD6E8FEB86659FD93;

inline std::uint64_t load(const std::byte* from) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, sizeof word);
    return word;
}

inline void store(std::byte* to, std::uint64_t word) {
    std::memcpy(to, &word, sizeof word);
}

inline std::byte* second_word(std::span<std::byte> payload) {
    return payload.data() + sizeof(std::uint64_t);
}

inline const std::byte* second_word(std::span<const std::byte> payload) {
    return payload.data() + sizeof(std::uint64_t);
}

// Different numbers have different check words. So a change is always detected if it affects only the number, or only
// the check word. A checksum of the payload may replace the upper half of the check word. Therefore the upper half is
// first folded into the lower half. The lower half alone is then enough to check the number.
inline std::uint64_t header_check(std::uint64_t number, std::size_t payload_bytes) {
    const std::uint64_t check = (number + payload_bytes * size_factor) * golden;
    return check ^ check >> 32;
}

void fill(std::span<std::byte> body, std::uint64_t number);
void read_all(std::span<const std::byte> body);

void write_verified(std::span<std::byte> payload, std::uint64_t number, Handling handling);
ReadMessage read_verified(std::span<const std::byte> payload);

}  // namespace message_parts

// These functions are inline, because each round trip calls each of them twice. Calls of functions that are not inline
// would pass the values through memory.

inline void write_message(std::span<std::byte> payload, std::uint64_t number, Handling handling) {
    using namespace message_parts;
    if (handling.verify) [[unlikely]]
        return write_verified(payload, number, handling);
    if (handling.touch != Touch::none) fill(payload.subspan(message_header_bytes), number);
    store(payload.data(), number);
    store(second_word(payload), header_check(number, payload.size()));
}

inline ReadMessage read_message(std::span<const std::byte> payload, Handling handling) {
    using namespace message_parts;
    if (handling.verify) [[unlikely]]
        return read_verified(payload);
    if (handling.touch == Touch::write_read) read_all(payload.subspan(message_header_bytes));
    const std::uint64_t number = load(payload.data());
    const bool identified = load(second_word(payload)) == header_check(number, payload.size());
    return {number, identified, identified};
}

/// Writes a message that holds its sequence number and its due time, but no checksum of the payload.
void write_timed_message(std::span<std::byte> payload, std::uint64_t number, Nanoseconds due_ns, Handling handling);

struct TimedMessage {
    std::uint64_t number = 0;
    bool identified = true;  ///< whether the header arrived unchanged
    std::uint64_t due = 0;   ///< the lower 48 bits of the due time

    /// The time since the message was due; negative if it is not due yet. A message holds only 48 bits of its due time,
    /// so the result is correct only up to 39 hours.
    Nanoseconds age_ns(Nanoseconds now) const;
};

TimedMessage read_timed_message(std::span<const std::byte> payload, Handling handling);

// The number of a message within its instance never uses these bits (see instances.hpp).
inline constexpr std::uint64_t answers_corrupted = std::uint64_t{1} << 47;
inline constexpr std::uint64_t answers_unidentified = UINT64_MAX;

/// Returns the number that the answer to a message carries: the number of the message, with the flag
/// `answers_corrupted` if the message was corrupted. If the number of the message could not be read, the result is
/// `answers_unidentified`.
inline std::uint64_t number_of_answer_to(const ReadMessage& message) {
    if (message.intact) [[likely]]
        return message.number;
    return message.identified ? message.number | answers_corrupted : answers_unidentified;
}

struct Answer {
    std::optional<std::uint64_t> number;  ///< the number of the message; nothing if it was corrupted on the way
    bool corrupted = false;               ///< whether the message or its answer was corrupted
};

inline Answer as_answer(const ReadMessage& read) {
    if (!read.identified || read.number == answers_unidentified) [[unlikely]]
        return {std::nullopt, true};
    return {read.number & ~answers_corrupted, (read.number & answers_corrupted) != 0 || !read.intact};
}

inline Answer read_answer(std::span<const std::byte> payload, Handling handling) {
    return as_answer(read_message(payload, handling));
}

}  // namespace tacholog
