#include "base/message.hpp"

#include <bit>

namespace tacholog {
namespace message_parts {

// The words are seed, seed + 1, and so on. They take hardly any time to compute, so only the memory limits the speed of
// writing.
void fill(std::span<std::byte> body, std::uint64_t number) {
    std::uint64_t word = (number + 1) * golden;
    const std::size_t whole = body.size() / sizeof word;
    for (std::size_t at = 0; at < whole; ++at) store(body.data() + at * sizeof word, word + at);
    word += whole;
    std::memcpy(body.data() + whole * sizeof word, &word, body.size() % sizeof word);
}

// The sum keeps the compiler from removing the loop. Nothing uses the sum, but the compiler must not know that.
void read_all(std::span<const std::byte> body) {
    std::uint64_t total = 0;
    const std::size_t whole = body.size() / sizeof total;
    for (std::size_t at = 0; at < whole; ++at) total += load(body.data() + at * sizeof total);
    for (std::size_t at = whole * sizeof total; at < body.size(); ++at)
        total += std::to_integer<std::uint64_t>(body[at]);
    asm volatile("" : : "r"(total) : "memory");
}

namespace {

// Mixes the sum so that each of its bits changes both halves of the result, because only 32 bits of the result are
// used. (With a plain XOR of the two halves, one of 2600 changed bytes was not detected.)
std::uint64_t mixed(std::uint64_t sum) {
    sum ^= sum >> 32;
    sum *= golden;
    sum ^= sum >> 29;
    sum *= size_factor;
    return sum ^ sum >> 32;
}

// Two running sums, as in Fletcher's checksum: the second sum depends on the order of the words, the first does not.
std::uint64_t checksum(std::span<const std::byte> body, std::uint64_t number) {
    std::uint64_t first = number;
    std::uint64_t second = body.size();
    const std::size_t whole = body.size() / sizeof first;
    for (std::size_t at = 0; at < whole; ++at) {
        first += load(body.data() + at * sizeof first);
        second += first;
    }
    for (std::size_t at = whole * sizeof first; at < body.size(); ++at) {
        first += std::to_integer<std::uint64_t>(body[at]);
        second += first;
    }
    // One sum is rotated, because otherwise changes in the high bits of both sums could cancel each other out.
    return mixed(first ^ std::rotl(second * golden, 31));
}

// The check word is folded to 16 bits by XOR only. So a change of any single byte of the number or of the due time
// always changes these bits.
std::uint64_t timed_check(std::uint64_t number, std::uint64_t due, std::size_t payload_bytes) {
    constexpr int out_of_line = 7;
    std::uint64_t check = number ^ std::rotl(due, out_of_line) ^ payload_bytes * golden;
    check ^= check >> 32;
    return (check ^ check >> 16) & UINT16_MAX;
}

constexpr unsigned due_shift = 16;

}  // namespace

void write_verified(std::span<std::byte> payload, std::uint64_t number, Handling handling) {
    const auto body = payload.subspan(message_header_bytes);
    if (handling.touch != Touch::none) fill(body, number);
    store(payload.data(), number);
    store(second_word(payload), header_check(number, payload.size()) ^ checksum(body, number) << 32);
}

ReadMessage read_verified(std::span<const std::byte> payload) {
    const std::uint64_t number = load(payload.data());
    const std::uint64_t difference = load(second_word(payload)) ^ header_check(number, payload.size());
    const bool identified = (difference & UINT32_MAX) == 0;
    const auto body = payload.subspan(message_header_bytes);
    return {number, identified, identified && difference == checksum(body, number) << 32};
}

}  // namespace message_parts

using namespace message_parts;

void write_timed_message(std::span<std::byte> payload, std::uint64_t number, Nanoseconds due_ns, Handling handling) {
    if (handling.touch != Touch::none) fill(payload.subspan(message_header_bytes), number);
    store(payload.data(), number);
    const std::uint64_t shifted = static_cast<std::uint64_t>(due_ns) << due_shift;
    store(second_word(payload), shifted | timed_check(number, shifted >> due_shift, payload.size()));
}

Nanoseconds TimedMessage::age_ns(Nanoseconds now) const {
    return static_cast<Nanoseconds>((static_cast<std::uint64_t>(now) - due) << due_shift) >> due_shift;
}

TimedMessage read_timed_message(std::span<const std::byte> payload, Handling handling) {
    const std::uint64_t number = load(payload.data());
    const std::uint64_t word = load(second_word(payload));
    const std::uint64_t due = word >> due_shift;
    if (handling.touch == Touch::write_read) read_all(payload.subspan(message_header_bytes));
    return {number, (word & UINT16_MAX) == timed_check(number, due, payload.size()), due};
}

}  // namespace tacholog
