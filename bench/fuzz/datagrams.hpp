// Two ends of a local socket that preserves datagram boundaries. It replaces UDP, so that nothing leaves the process.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "base/fd.hpp"
#include "fuzz/input.hpp"

namespace tacholog::fuzz {

inline std::pair<Fd, Fd> datagram_sockets() {
    std::array<int, 2> ends{};
    require(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
    return {Fd{ends[0]}, Fd{ends[1]}};
}

/// Discards everything that has arrived, so that the other end can continue.
inline void drain(const Fd& socket) {
    std::array<std::byte, 2048> bytes{};
    while (::recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) >= 0) {
    }
}

}  // namespace tacholog::fuzz
