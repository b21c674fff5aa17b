// Unix sockets in the abstract namespace, and the transfer of a shared memory descriptor over such a socket. Neither
// the socket nor the memory has a name in a file system, so nothing is left behind if a side is killed.
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

/// All names begin with the same prefix, so that a name from a peer never leads to the socket of another program.
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

/// This call does not wait: a connection is established as soon as it is in the queue of the listener.
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

/// Returns true if the other end was closed. The kernel also closes it if the process is killed.
inline bool hung_up(const Fd& socket) {
    pollfd waiting{socket.get(), POLLIN | POLLRDHUP, 0};
    return ::poll(&waiting, 1, 0) > 0 && (waiting.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/// The head of shared memory, by which a subscriber detects memory of another program or another version. Increase the
/// version whenever you change the layout behind it: the ring, its slots, the pool, its chunks, or how the sides wake
/// each other.
struct alignas(128) MemoryHead {  // the size of a pair of cache lines, so that the next byte starts a pair
    static constexpr std::uint64_t right_magic = 0x4D48534F48434154;  // "TACHOSHM" in memory
    static constexpr std::uint64_t right_version = 2;

    std::uint64_t magic = right_magic;
    std::uint64_t version = right_version;
    std::uint64_t bytes = 0;  ///< of the memory behind this head
};

struct MemoryOffer {
    std::size_t max_bytes = 0;  ///< of the largest message
    std::size_t reader = 0;     ///< the index of this subscriber, from 0
};

/// The socket message that offers shared memory. It holds one offer, and has room for one descriptor.
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
    // Takes all received descriptors, because a descriptor that is not taken would stay open. Two may arrive, because
    // the padding leaves room for a second one.
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
