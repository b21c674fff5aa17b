#include "core/message.hpp"

#include <bit>
#include <cstring>

namespace tacholog {
namespace {

constexpr std::uint64_t golden = 0x9E3779B97F4A7C15;  // odd, bits well mixed

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
    return first ^ std::rotl(second * golden, 31);
}

}  // namespace

void write_message(std::span<std::byte> payload, std::uint64_t number, Handling handling) {
    const auto body = payload.subspan(message_header_bytes);
    if (handling.touch != Touch::none) fill(body, number);
    store(payload.data(), number);
    store(payload.data() + sizeof number, handling.verify ? checksum(body, number) : 0);
}

ReadMessage read_message(std::span<const std::byte> payload, Handling handling) {
    const std::uint64_t number = load(payload.data());
    const auto body = payload.subspan(message_header_bytes);
    if (handling.verify) return {number, load(payload.data() + sizeof number) == checksum(body, number)};
    if (handling.touch == Touch::write_read) sum(body);
    return {number, true};
}

}  // namespace tacholog
