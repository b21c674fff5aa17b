// Hand-written UDP and TCP over the loopback, with one send and one receive per message.
#pragma once

#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/address.hpp"
#include "base/fd.hpp"
#include "perf/spin.hpp"

namespace tacholog::perf {

inline void insist(bool holds, const char* operation) {
    if (holds) return;
    std::cerr << "floor: " << operation << " failed\n";
    std::exit(1);
}

inline Fd bound_socket(int kind) {
    constexpr int wanted = 8 * 1024 * 1024;
    constexpr std::string_view unpaced = "reno";  // `nox -s perf` makes perftest use this algorithm too
    Fd socket{::socket(AF_INET, kind | SOCK_CLOEXEC, 0)};
    if (kind == SOCK_STREAM) ::setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, unpaced.data(), unpaced.size());
    if (kind == SOCK_DGRAM) {
        ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &wanted, sizeof wanted);
        ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &wanted, sizeof wanted);
    }
    const auto where = parse_address("127.0.0.1", 0);
    insist(::bind(socket.get(), where->get(), where->length()) == 0, "bind");
    return socket;
}

inline void connect_to(const Fd& socket, const Fd& other) {
    const Address where = local_address(other);
    insist(::connect(socket.get(), where.get(), where.length()) == 0, "connect");
}

inline void send_at_once(const Fd& socket) {
    const int yes = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/// Whether the kernel joins small messages of a stream into full packets (Nagle's algorithm).
enum class Joined { no, yes };

/// Two sockets that are connected to each other.
inline std::pair<Fd, Fd> connected_sockets(int kind, Joined joined = Joined::no) {
    Fd near = bound_socket(kind);
    Fd far = bound_socket(kind);
    if (kind == SOCK_DGRAM) {
        connect_to(near, far);
        connect_to(far, near);
        return {std::move(near), std::move(far)};
    }
    insist(::listen(far.get(), 1) == 0, "listen");
    connect_to(near, far);
    Fd accepted{::accept4(far.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (joined == Joined::no) {
        send_at_once(near);
        send_at_once(accepted);
    }
    return {std::move(near), std::move(accepted)};
}

class BareSocket {
public:
    BareSocket(int socket, std::size_t bytes, int kind, bool busy)
        : socket_(socket), flags_(busy ? MSG_DONTWAIT : 0), stream_(kind == SOCK_STREAM), buffer_(bytes) {}

    void send() {
        for (std::size_t sent = 0; sent < buffer_.size();) {
            const auto count = ::send(socket_, buffer_.data() + sent, buffer_.size() - sent, flags_ | MSG_NOSIGNAL);
            if (count > 0) sent += static_cast<std::size_t>(count);
        }
    }

    void receive() {
        Spin spin;
        for (std::size_t received = 0; received < buffer_.size();) {
            const auto count = ::recv(socket_, buffer_.data() + received, buffer_.size() - received, flags_);
            if (count <= 0) {
                spin.wait();
                continue;
            }
            received += static_cast<std::size_t>(count);
            if (!stream_) return;
        }
    }

private:
    int socket_;
    int flags_;
    bool stream_;
    std::vector<char> buffer_;
};

/// Two connected sockets. The kernel cuts one send into several datagrams, and joins them for one receive if possible.
class SegmentedSockets {
public:
    explicit SegmentedSockets(std::size_t bytes) : sockets_(connected_sockets(SOCK_DGRAM)), bytes_(bytes) {
        constexpr int yes = 1;
        // Every kernel that supports segmentation accepts this number of datagrams.
        constexpr std::size_t most_together = 64;
        constexpr std::size_t most_bytes = 65507;
        const int segment = static_cast<int>(bytes);
        insist(::setsockopt(sockets_.first.get(), SOL_UDP, UDP_SEGMENT, &segment, sizeof segment) == 0, "UDP_SEGMENT");
        insist(::setsockopt(sockets_.second.get(), SOL_UDP, UDP_GRO, &yes, sizeof yes) == 0, "UDP_GRO");
        together_.resize(std::min(most_together, most_bytes / bytes) * bytes);
        received_.resize(std::size_t{64} * 1024);
    }

    void send() { ::send(sockets_.first.get(), together_.data(), together_.size(), 0); }

    /// Returns the number of received datagrams.
    std::size_t receive() {
        const auto count = ::recv(sockets_.second.get(), received_.data(), received_.size(), 0);
        return count > 0 ? static_cast<std::size_t>(count) / bytes_ : 0;
    }

private:
    std::pair<Fd, Fd> sockets_;
    std::size_t bytes_;
    std::vector<char> together_;
    std::vector<char> received_;
};

}  // namespace tacholog::perf
