// UDP over IPv4 or IPv6, best effort: data that exceeds the receiver's socket buffer is lost, and nothing is sent
// again. A message that is larger than one datagram is cut into datagrams of up to 65507 bytes, which may arrive in any
// order. If one of them is missing when the next message begins, the whole message is lost. If the MTU of the network
// is smaller, the kernel cuts each datagram into packets, and one lost packet loses the datagram. With batching, each
// message is one datagram, and many are sent with one call (udp_batch.cpp).
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/fd.hpp"
#include "transports/socket_wait.hpp"
#include "transports/transport.hpp"
#include "transports/udp_batch.hpp"
#include "transports/udp_endpoint.hpp"
#include "transports/udp_fragments.hpp"

namespace tacholog::transports {
namespace {

class UdpPublisher final : public Publisher {
public:
    UdpPublisher(Fd socket, std::uint64_t stream, const Topic& topic, std::string peer)
        : Publisher(topic.max_bytes),
          socket_(std::move(socket)),
          wait_(topic.waiting, SocketWait::For::sending),
          header_{stream, 0, 0, 0},
          buffer_(header_room + topic.max_bytes),
          peer_(std::move(peer)) {}

    Facts facts() const override { return socket_facts(socket_); }

private:
    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        header_.fragment = 0;
        header_.total_bytes = static_cast<std::uint32_t>(bytes);
        return std::span{buffer_}.subspan(header_room, bytes);
    }

    // Continues after `not_yet` with the fragment that did not fit. No fragment is sent twice.
    Result<Done> commit(Patience patience) override {
        wait_.begin(socket_, patience);
        while (header_.fragment * max_fragment < header_.total_bytes) {
            if (send_fragment()) {
                ++header_.fragment;
            } else if (errno != EAGAIN && errno != ENOBUFS && errno != EINTR) {
                return os_error("send to " + peer_);
            } else if (!wait_.again()) {
                return Done::not_yet;
            }
        }
        ++header_.message;
        return Done::yes;
    }

    // Most messages have one fragment, which lies directly after its header. The two are sent as one buffer, because
    // the kernel takes less time for one than for two: that saves 60 ns of the 2 us of a small message (a virtual
    // machine with 2 CPUs, 2026-11-22).
    bool send_fragment() {
        const std::size_t offset = header_.fragment * max_fragment;
        const std::size_t bytes = std::min(max_fragment, header_.total_bytes - offset);
        std::byte* piece = buffer_.data() + header_room + offset;
        const int flags = MSG_NOSIGNAL | wait_.flags();
        if (offset == 0) {
            std::memcpy(piece - sizeof header_, &header_, sizeof header_);
            return send_bytes(socket_.get(), piece - sizeof header_, sizeof header_ + bytes, flags) >= 0;
        }
        std::array<iovec, 2> parts{iovec{&header_, sizeof header_}, iovec{piece, bytes}};
        msghdr datagram{};
        datagram.msg_iov = parts.data();
        datagram.msg_iovlen = parts.size();
        return ::sendmsg(socket_.get(), &datagram, flags) >= 0;
    }

    void abandon() noexcept override {
        if (header_.fragment > 0) ++header_.message;  // some fragments were sent, so this number must not be used again
    }

    Fd socket_;
    SocketWait wait_;
    FragmentHeader header_;
    std::vector<std::byte> buffer_;
    std::string peer_;
};

class UdpSubscriber final : public Subscriber {
public:
    UdpSubscriber(Fd socket, std::uint64_t stream, const Topic& topic)
        : socket_(std::move(socket)),
          wait_(topic.waiting, SocketWait::For::receiving),
          stream_(stream),
          assembly_(stream, topic.max_bytes) {}

    std::string endpoint() const override { return IpEndpoint{local_address(socket_), stream_}.text(); }
    Result<Done> match(Patience) override { return Done::yes; }  // nothing to wait for: a bound socket can receive

    Facts facts() const override { return socket_facts(socket_); }

private:
    Result<std::span<const std::byte>> receive(Patience patience) override {
        wait_.begin(socket_, patience);
        while (true) {
            FragmentHeader header{};
            const auto received = receive_datagram(header);
            if (received >= 0) {
                const auto message = assembly_.accept(header, static_cast<std::size_t>(received));
                if (message.data() != nullptr) return message;
                if (!wait_.goes_on()) return std::span<const std::byte>{};
            } else if (errno != EAGAIN && errno != EINTR && errno != ECONNREFUSED) {
                return os_error("receive on " + endpoint());
            } else if (!wait_.again()) {
                return std::span<const std::byte>{};
            }
        }
    }

    ssize_t receive_datagram(FragmentHeader& header) {
        if (const auto whole = assembly_.expected_datagram(); !whole.empty()) {
            const auto received = receive_bytes(socket_.get(), whole.data(), whole.size(), wait_.flags());
            if (received > 0) std::memcpy(&header, whole.data(), sizeof header);
            return received;
        }
        const auto buffer = assembly_.expected();
        std::array<iovec, 2> parts{iovec{&header, sizeof header}, iovec{buffer.data(), buffer.size()}};
        msghdr datagram{};
        datagram.msg_iov = parts.data();
        datagram.msg_iovlen = parts.size();
        return ::recvmsg(socket_.get(), &datagram, wait_.flags());
    }

    void release() noexcept override {}

    Fd socket_;
    SocketWait wait_;
    std::uint64_t stream_;
    Assembly assembly_;
};

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    auto seat = open_udp_seat(topic);
    if (!seat) return seat.error();
    auto& [socket, own] = *seat;
    if (topic.batch_messages > 1) return batched_udp_subscriber(std::move(socket), own.token, topic);
    return std::unique_ptr<Subscriber>{std::make_unique<UdpSubscriber>(std::move(socket), own.token, topic)};
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, const Endpoints& endpoints) {
    auto way = connect_udp(topic, endpoints.front());
    if (!way) return way.error();
    auto& [socket, to, name] = *way;
    if (topic.batch_messages > 1) return batched_udp_publisher(std::move(socket), to.token, topic, name);
    return std::unique_ptr<Publisher>{std::make_unique<UdpPublisher>(std::move(socket), to.token, topic, name)};
}

}  // namespace

extern const Transport udp{
    .name = "udp",
    .summary = "UDP datagrams, IPv4 or IPv6; best effort, fragments above 65483 bytes",
    .data_path = "copy",
    .reliability = Reliability::best_effort,
    .reach = Reach::network,
    .subscribe = subscribe,
    .advertise = advertise,
    .most_batch_bytes = std::size_t{64} * 1024,
    .endpoint_at = ip_endpoint_at,
};

}  // namespace tacholog::transports
