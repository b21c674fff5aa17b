// UDP sockets, and the buffer sizes of sockets: the requested size, and the size in effect.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>

#include "base/address.hpp"
#include "base/fd.hpp"
#include "transports/transport.hpp"

namespace tacholog {

inline int effective(const Fd& socket, int option) {
    int bytes = 0;
    socklen_t length = sizeof bytes;
    ::getsockopt(socket.get(), SOL_SOCKET, option, &bytes, &length);
    return bytes;
}

inline std::string congestion_of(const Fd& socket) {
    std::array<char, 32> name{};
    socklen_t length = name.size() - 1;
    return ::getsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, name.data(), &length) == 0 ? name.data() : "";
}

/// The facts are the values in effect, as the kernel reports them.
inline Facts socket_facts(const Fd& socket) {
    Facts facts;
    add_fact(facts, receive_buffer_key, std::to_string(effective(socket, SO_RCVBUF)));
    add_fact(facts, send_buffer_key, std::to_string(effective(socket, SO_SNDBUF)));
    add_fact(facts, congestion_key, congestion_of(socket));
    return facts;
}

/// The socket is not bound. Buffers of 8 MiB are requested; the kernel may give less, because of net.core.[rw]mem_max.
inline Result<Fd> open_udp_socket(int family) {
    constexpr int wanted = 8 * 1024 * 1024;
    Fd socket{::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!socket) return os_error("open a UDP socket");
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &wanted, sizeof wanted);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &wanted, sizeof wanted);
    return socket;
}

/// The socket is bound to a port of the kernel's choice.
inline Result<Fd> open_udp_socket(const std::string& host) {
    const auto address = parse_address(host, 0);
    if (!address) return Error{"bind UDP to " + host + ": not an IP address"};
    auto socket = open_udp_socket(address->family());
    if (!socket) return socket.error();
    if (::bind(socket->get(), address->get(), address->length()) != 0)
        return os_error("bind UDP to " + to_text(*address));
    return socket;
}

}  // namespace tacholog
