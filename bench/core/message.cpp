#include "core/message.hpp"

#include <bit>
#include <cstring>

namespace tacholog {
namespace {

constexpr std::uint64_t golden = 0x9E3779B97F4A7C15;  // odd, bits well mixed
constexpr std::uint64_t size_factor = 0xD6E8FEB86659FD93;

std::uint64_t load(const std::byte* from) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, sizeof word);
    return word;
}

void store(std::byte* to, std::uint64_t word) {
    std::memcpy(to, &word, sizeof word);
}

// The words are seed, seed + 1, ...: cheap enough that writing costs what the memory costs.
void fill(std::span<std::byte> body, std::uint64_t number) {
    std::uint64_t word = (number + 1) * golden;
    const std::size_t whole = body.size() / sizeof word;
    for (std::size_t at = 0; at < whole; ++at) store(body.data() + at * sizeof word, word + at);
    word += whole;
    std::memcpy(body.data() + whole * sizeof word, &word, body.size() % sizeof word);
}

// Reads every byte; the sum is of no interest, but the compiler must not find that out.
void sum(std::span<const std::byte> body) {
    std::uint64_t total = 0;
    const std::size_t whole = body.size() / sizeof total;
    for (std::size_t at = 0; at < whole; ++at) total += load(body.data() + at * sizeof total);
    for (std::size_t at = whole * sizeof total; at < body.size(); ++at)
        total += std::to_integer<std::uint64_t>(body[at]);
    asm volatile("" : : "r"(total) : "memory");
}

// Every bit of the sum has its say in each half: 32 bits of it are kept. (Halves laid over each other missed one
// changed byte in 2600, those at a word's upper end.)
std::uint64_t mixed(std::uint64_t sum) {
    sum ^= sum >> 32;
    sum *= golden;
    sum ^= sum >> 29;
    sum *= size_factor;
    return sum ^ sum >> 32;
}

// Two running sums (Fletcher's): the second depends on the order of the words, the first does not.
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
    // Turned against each other, or changes in the high bits of both could cancel out.
    return mixed(first ^ std::rotl(second * golden, 31));
}

// One number has one check word, so that a change in either of them alone always shows. The upper half goes into the
// lower one, which with a checksum is all that is left to check the number by.
std::uint64_t header_check(std::uint64_t number, std::size_t payload_bytes) {
    const std::uint64_t check = (number + payload_bytes * size_factor) * golden;
    return check ^ check >> 32;
}

// Folded by XOR alone: a change of any one byte of number or moment always shows in 16 bits.
std::uint64_t timed_check(std::uint64_t number, std::uint64_t due, std::size_t payload_bytes) {
    constexpr int out_of_line = 7;
    std::uint64_t check = number ^ std::rotl(due, out_of_line) ^ payload_bytes * golden;
    check ^= check >> 32;
    return (check ^ check >> 16) & UINT16_MAX;
}

std::byte* second_word(std::span<std::byte> payload) {
    return payload.data() + sizeof(std::uint64_t);
}

const std::byte* second_word(std::span<const std::byte> payload) {
    return payload.data() + sizeof(std::uint64_t);
}

constexpr unsigned due_shift = 16;

// A message's round never gets as far as these bits, see instances.hpp.
constexpr std::uint64_t answers_corrupted = std::uint64_t{1} << 47;
constexpr std::uint64_t answers_unidentified = UINT64_MAX;

}  // namespace

void write_message(std::span<std::byte> payload, std::uint64_t number, Handling handling) {
    const auto body = payload.subspan(message_header_bytes);
    if (handling.touch != Touch::none) fill(body, number);
    store(payload.data(), number);
    const std::uint64_t of_body = handling.verify ? checksum(body, number) << 32 : 0;
    store(second_word(payload), header_check(number, payload.size()) ^ of_body);
}

ReadMessage read_message(std::span<const std::byte> payload, Handling handling) {
    const std::uint64_t number = load(payload.data());
    const auto body = payload.subspan(message_header_bytes);
    const std::uint64_t difference = load(second_word(payload)) ^ header_check(number, payload.size());
    if (handling.verify) [[unlikely]] {
        const bool identified = (difference & UINT32_MAX) == 0;
        return {number, identified, identified && difference == checksum(body, number) << 32};
    }
    if (handling.touch == Touch::write_read) sum(body);
    return {number, difference == 0, difference == 0};
}

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
    if (handling.touch == Touch::write_read) sum(payload.subspan(message_header_bytes));
    return {number, (word & UINT16_MAX) == timed_check(number, due, payload.size()), due};
}

std::uint64_t number_of_answer_to(const ReadMessage& message) {
    if (!message.identified) return answers_unidentified;
    return message.intact ? message.number : message.number | answers_corrupted;
}

Answer read_answer(std::span<const std::byte> payload, Handling handling) {
    const ReadMessage answer = read_message(payload, handling);
    if (!answer.identified || answer.number == answers_unidentified) return {std::nullopt, true};
    const bool came_corrupted = (answer.number & answers_corrupted) != 0;
    return {answer.number & ~answers_corrupted, came_corrupted || !answer.intact};
}

}  // namespace tacholog
