// What the rig puts into a payload: a sequence number and a checksum in its first 16 bytes, then, if the payload is to
// be touched, words that depend on the sequence number and on their place, so that a misplaced fragment shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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
    std::uint64_t number = 0;
    bool intact = true;  ///< always true if not verified
};

ReadMessage read_message(std::span<const std::byte> payload, Handling handling);

}  // namespace tacholog
