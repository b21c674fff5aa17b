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
#include <cstring>
#include <optional>
#include <span>

#include "base/clock.hpp"

namespace tacholog {

enum class Touch { none, write, write_read };

inline constexpr std::size_t message_header_bytes = 16;

/// How a run treats its payloads.
struct Handling {
    Touch touch = Touch::write_read;
    bool verify = false;
};

struct ReadMessage {
    std::uint64_t number = 0;  ///< of no meaning unless identified
    bool identified = true;    ///< the header is as it was written
    bool intact = true;        ///< the header is, and the payload too, as far as it is verified
};

namespace message_parts {

inline constexpr std::uint64_t golden = 0x9E3779B97F4A7C15;  // odd, bits well mixed
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

// One number has one check word, so that a change in either of them alone always shows. The upper half is folded into
// the lower one, which with a checksum is all that is left to check the number by.
inline std::uint64_t header_check(std::uint64_t number, std::size_t payload_bytes) {
    const std::uint64_t check = (number + payload_bytes * size_factor) * golden;
    return check ^ check >> 32;
}

/// Writes the words behind the header.
void fill(std::span<std::byte> body, std::uint64_t number);
/// Reads every byte behind the header.
void read_all(std::span<const std::byte> body);

void write_verified(std::span<std::byte> payload, std::uint64_t number, Handling handling);
ReadMessage read_verified(std::span<const std::byte> payload);

}  // namespace message_parts

// Header and check are inline: each round trip writes and reads two of them, one after the other, and called out of
// line they came back through memory.

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

// A message's round never gets as far as these bits, see instances.hpp.
inline constexpr std::uint64_t answers_corrupted = std::uint64_t{1} << 47;
inline constexpr std::uint64_t answers_unidentified = UINT64_MAX;

/// The number of the answer to a message that came like this: it says whether the message was corrupted.
inline std::uint64_t number_of_answer_to(const ReadMessage& message) {
    if (message.intact) [[likely]]
        return message.number;
    return message.identified ? message.number | answers_corrupted : answers_unidentified;
}

struct Answer {
    std::optional<std::uint64_t> number;  ///< of the message; nothing if the message or its answer has lost it
    bool corrupted = false;               ///< the message or the answer
};

/// What a message that was read says as an answer.
inline Answer as_answer(const ReadMessage& read) {
    if (!read.identified || read.number == answers_unidentified) [[unlikely]]
        return {std::nullopt, true};
    return {read.number & ~answers_corrupted, (read.number & answers_corrupted) != 0 || !read.intact};
}

inline Answer read_answer(std::span<const std::byte> payload, Handling handling) {
    return as_answer(read_message(payload, handling));
}

}  // namespace tacholog
