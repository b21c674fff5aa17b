// Unix sockets in the abstract namespace, where a name is no file and goes with its socket, and the descriptor of a
// shared memory that is handed over one: nothing has a name in a file system, so nothing is left behind, whatever kills
// either side.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace tacholog {

/// All begin alike, so that what a peer names as its own is never the socket of another program.
struct AbstractAddress {
    explicit AbstractAddress(std::string_view channel) {
        const std::string name = "tacholog/" + std::string{channel};
        address.sun_family = AF_UNIX;
        const std::size_t size = std::min(name.size(), sizeof address.sun_path - 1);
        std::copy_n(name.begin(), size, address.sun_path + 1);
        length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
    }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

    sockaddr_un address{};
    socklen_t length = 0;
};

inline Result<Fd> listen_locally(const std::string& name) {
    Fd listener{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!listener) return os_error("socket for @" + name);
    const AbstractAddress address{name};
    if (::bind(listener.get(), address.get(), address.length) != 0) return os_error("bind @" + name);
    if (::listen(listener.get(), SOMAXCONN) != 0) return os_error("listen @" + name);
    return listener;
}

/// Never waits: the connection stands as soon as it is in the listener's queue.
inline Result<Fd> connect_locally(const std::string& name) {
    Fd socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!socket) return os_error("socket for @" + name);
    const AbstractAddress address{name};
    if (::connect(socket.get(), address.get(), address.length) != 0) return os_error("connect @" + name);
    return socket;
}

inline bool readable(const Fd& socket, const Deadline& deadline) {
    pollfd waiting{socket.get(), POLLIN, 0};
    return ::poll(&waiting, 1, static_cast<int>(deadline.left().count())) > 0;
}

/// Whether the other end of a connected socket has been closed, as the kernel does for a killed process too.
inline bool hung_up(const Fd& socket) {
    pollfd waiting{socket.get(), POLLIN | POLLRDHUP, 0};
    return ::poll(&waiting, 1, 0) > 0 && (waiting.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/// Shared memory begins with this, so that a subscriber notices memory of another program or version. Raise the version
/// whenever you change anything behind it: the ring, its slots, the pool, its chunks, how the sides wake each other.
struct alignas(128) MemoryHead {  // a pair of cache lines, so that what follows begins with one: broadcast_ring.hpp
    static constexpr std::uint64_t right_magic = 0x4D48534F48434154;  // "TACHOSHM" in memory
    static constexpr std::uint64_t right_version = 2;

    std::uint64_t magic = right_magic;
    std::uint64_t version = right_version;
    std::uint64_t bytes = 0;  ///< of what follows
};

/// What a subscriber is told of the memory that it is given.
struct MemoryOffer {
    std::size_t max_bytes = 0;  ///< the largest message
    std::size_t reader = 0;     ///< which of the subscribers it is in there, from 0
};

/// A message of one offer with room for one descriptor beside it.
struct Envelope {
    Envelope() {
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        header.msg_control = control.data();
        header.msg_controllen = control.size();
    }

    MemoryOffer offer;
    iovec part{&offer, sizeof offer};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr header{};
};

inline bool send_descriptor(const Fd& socket, const Fd& memory, MemoryOffer offer) {
    Envelope envelope;
    envelope.offer = offer;
    cmsghdr* attached = CMSG_FIRSTHDR(&envelope.header);
    attached->cmsg_level = SOL_SOCKET;
    attached->cmsg_type = SCM_RIGHTS;
    attached->cmsg_len = CMSG_LEN(sizeof(int));
    const int number = memory.get();
    std::memcpy(CMSG_DATA(attached), &number, sizeof number);
    return ::sendmsg(socket.get(), &envelope.header, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof envelope.offer);
}

inline Result<Fd> receive_descriptor(const Fd& socket, MemoryOffer& offer) {
    Envelope envelope;
    const auto received = ::recvmsg(socket.get(), &envelope.header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (received < 0) return os_error("receive the descriptor of the shared memory");
    // All that came, or what is not wanted would stay open: there is room for two.
    std::vector<Fd> came;
    const cmsghdr* attached = CMSG_FIRSTHDR(&envelope.header);
    if (attached != nullptr && attached->cmsg_level == SOL_SOCKET && attached->cmsg_type == SCM_RIGHTS) {
        const std::size_t bytes = attached->cmsg_len - CMSG_LEN(0);
        for (std::size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(attached) + at, sizeof number);
            came.emplace_back(number);
        }
    }
    if (received != static_cast<ssize_t>(sizeof offer) || came.size() != 1 ||
        (envelope.header.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0) {
        return Error{"receive the descriptor of the shared memory: the publisher sent something else"};
    }
    offer = envelope.offer;
    return std::move(came.front());
}

}  // namespace tacholog
