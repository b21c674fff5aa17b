// One stream of reliable UDP, and its two ends: the side under test has one, the fuzzer speaks at the other.
#pragma once

#include <cstdint>

#include "fuzz/datagrams.hpp"
#include "transports/transport.hpp"

namespace tacholog::fuzz {

inline constexpr std::uint64_t stream = 1;
inline constexpr std::size_t max_bytes = 40;

inline Topic topic() {
    return {"fuzz", max_bytes, ""};
}

/// Says the first `bytes` of something.
template <typename Said>
void say(const Fd& socket, const Said& said, std::size_t bytes = sizeof(Said)) {
    ::send(socket.get(), &said, bytes, MSG_DONTWAIT);
}

}  // namespace tacholog::fuzz
