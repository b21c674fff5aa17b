// A stream of reliable UDP with two ends: the code under test uses one end, and the fuzzer sends on the other.
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

template <typename Said>
void say(const Fd& socket, const Said& said, std::size_t bytes = sizeof(Said)) {
    ::send(socket.get(), &said, bytes, MSG_DONTWAIT);
}

}  // namespace tacholog::fuzz
