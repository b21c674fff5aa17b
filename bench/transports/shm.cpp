// Shared memory between two processes of one host, copied in and read in place. Reliable and ordered: a full ring
// blocks the publisher. The memory is a memfd that only a descriptor leads to, handed over a Unix socket in the
// abstract namespace: nothing has a name in a file system, so nothing is left behind, whatever kills either side.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>

#include "core/fd.hpp"
#include "transports/ring_transport.hpp"

namespace tacholog::transports {
namespace {

/// An abstract-namespace address: no file, gone with its socket.
struct AbstractAddress {
    explicit AbstractAddress(std::string_view name) {
        address.sun_family = AF_UNIX;
        const std::size_t size = std::min(name.size(), sizeof address.sun_path - 1);
        std::copy_n(name.begin(), size, address.sun_path + 1);
        length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
    }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

    sockaddr_un address{};
    socklen_t length = 0;
};

/// Whether the other end of a connected socket has been closed, as the kernel does for a killed process too.
bool hung_up(const Fd& socket) {
    pollfd waiting{socket.get(), POLLIN | POLLRDHUP, 0};
    return ::poll(&waiting, 1, 0) > 0 && (waiting.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/// A message of one size_t (the largest message) with room for one descriptor beside it.
struct Envelope {
    Envelope() {
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        header.msg_control = control.data();
        header.msg_controllen = control.size();
    }

    std::size_t max_bytes = 0;
    iovec part{&max_bytes, sizeof max_bytes};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr header{};
};

bool send_descriptor(const Fd& socket, const Fd& memory, std::size_t max_bytes) {
    Envelope envelope;
    envelope.max_bytes = max_bytes;
    cmsghdr* attached = CMSG_FIRSTHDR(&envelope.header);
    attached->cmsg_level = SOL_SOCKET;
    attached->cmsg_type = SCM_RIGHTS;
    attached->cmsg_len = CMSG_LEN(sizeof(int));
    const int number = memory.get();
    std::memcpy(CMSG_DATA(attached), &number, sizeof number);
    return ::sendmsg(socket.get(), &envelope.header, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof envelope.max_bytes);
}

Result<Fd> receive_descriptor(const Fd& socket, std::size_t& max_bytes) {
    Envelope envelope;
    const auto received = ::recvmsg(socket.get(), &envelope.header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (received < 0) return os_error("receive the descriptor of the shared memory");
    const cmsghdr* attached = CMSG_FIRSTHDR(&envelope.header);
    if (received != static_cast<ssize_t>(sizeof max_bytes) || attached == nullptr ||
        attached->cmsg_type != SCM_RIGHTS) {
        return Error{"receive the descriptor of the shared memory: the publisher sent something else"};
    }
    int number = -1;
    std::memcpy(&number, CMSG_DATA(attached), sizeof number);
    max_bytes = envelope.max_bytes;
    return Fd{number};
}

class ShmPublisher final : public RingPublisher {
public:
    ShmPublisher(const std::shared_ptr<Mapping>& memory, RingShape shape, Fd socket, const std::string& name)
        : RingPublisher(Ring{memory->start(), shape}, memory, name), socket_(std::move(socket)) {}

private:
    bool peer_gone() override { return hung_up(socket_); }

    Fd socket_;
};

class ShmSubscriber final : public RingSubscriber {
public:
    ShmSubscriber(Fd listener, const Topic& topic)
        : RingSubscriber(topic.name), listener_(std::move(listener)), topic_(topic) {}

    std::string endpoint() const override { return topic_.name; }

    Result<bool> match(Patience patience) override {
        const Deadline deadline{patience};
        if (!socket_) {
            if (!readable(listener_, deadline)) return false;
            socket_ = Fd{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
            if (!socket_) return os_error("accept @" + topic_.name);
        }
        if (!attached()) {
            if (!readable(socket_, deadline)) return false;
            return map_ring();
        }
        return true;
    }

private:
    static bool readable(const Fd& socket, const Deadline& deadline) {
        pollfd waiting{socket.get(), POLLIN, 0};
        return ::poll(&waiting, 1, static_cast<int>(deadline.left().count())) > 0;
    }

    Result<bool> map_ring() {
        std::size_t max_bytes = 0;
        auto memory = receive_descriptor(socket_, max_bytes);
        if (!memory) return memory.error();
        if (max_bytes != topic_.max_bytes) return Error{"join " + topic_.name + ": the sides differ in message size"};
        const auto shape = RingShape::for_messages(max_bytes);
        auto mapping = Mapping::map(memory->get(), shape.bytes());
        if (!mapping) return mapping.error();
        const Ring ring{mapping->start(), shape};
        attach(ring, std::make_shared<Mapping>(std::move(*mapping)));
        return true;
    }

    bool peer_gone() override { return hung_up(socket_); }

    Fd listener_;
    Fd socket_;
    Topic topic_;
};

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    Fd listener{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!listener) return os_error("socket for @" + topic.name);
    const AbstractAddress address{topic.name};
    if (::bind(listener.get(), address.get(), address.length) != 0) return os_error("bind @" + topic.name);
    if (::listen(listener.get(), 1) != 0) return os_error("listen @" + topic.name);
    return std::unique_ptr<Subscriber>{std::make_unique<ShmSubscriber>(std::move(listener), topic)};
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, std::string_view endpoint) {
    const auto shape = RingShape::for_messages(topic.max_bytes);
    const Fd memory{::memfd_create("tacholog", MFD_CLOEXEC)};
    if (!memory) return os_error("create shared memory");
    if (::ftruncate(memory.get(), static_cast<off_t>(shape.bytes())) != 0) return os_error("size shared memory");
    auto mapping = Mapping::map(memory.get(), shape.bytes());
    if (!mapping) return mapping.error();

    Fd socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!socket) return os_error("socket for @" + std::string{endpoint});
    const AbstractAddress address{endpoint};
    if (::connect(socket.get(), address.get(), address.length) != 0)
        return os_error("connect @" + std::string{endpoint});
    if (!send_descriptor(socket, memory, topic.max_bytes)) return os_error("send to @" + std::string{endpoint});
    return std::unique_ptr<Publisher>{std::make_unique<ShmPublisher>(std::make_shared<Mapping>(std::move(*mapping)),
                                                                     shape, std::move(socket), topic.name)};
}

}  // namespace

extern const Transport shm{"shm",
                           "shared memory between processes of one host; reliable, copied in, read in place",
                           "copy",
                           Reliability::reliable,
                           Parties::processes,
                           subscribe,
                           advertise};

}  // namespace tacholog::transports
