// A socket's buffers: what is asked for, and what the kernel gave.
#pragma once

#include <sys/socket.h>

#include "core/fd.hpp"
#include "transports/transport.hpp"

namespace tacholog {

inline int effective(const Fd& socket, int option) {
    int bytes = 0;
    socklen_t length = sizeof bytes;
    ::getsockopt(socket.get(), SOL_SOCKET, option, &bytes, &length);
    return bytes;
}

inline SocketBuffers buffers_of(const Fd& socket) {
    return {effective(socket, SO_RCVBUF), effective(socket, SO_SNDBUF)};
}

/// Asks for 8 MiB each; the kernel gives less if net.core.[rw]mem_max says so.
inline void ask_for_large_buffers(const Fd& socket) {
    constexpr int wanted = 8 * 1024 * 1024;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &wanted, sizeof wanted);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &wanted, sizeof wanted);
}

}  // namespace tacholog
