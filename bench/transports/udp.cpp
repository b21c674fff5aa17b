// UDP over IPv4, best effort: what the receiver's socket buffer cannot hold is lost, and nothing is sent again. A
// message above one datagram is cut into datagrams of up to 65507 bytes and is put together from them in any order; if
// one of them is missing when the next message begins, the whole message is lost. On a network whose MTU is smaller,
// the kernel cuts each datagram once more, and one lost packet costs the datagram.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "core/fd.hpp"
#include "core/waiting.hpp"
#include "transports/ip_endpoint.hpp"
#include "transports/transport.hpp"
#include "transports/udp_socket.hpp"

namespace tacholog::transports {
namespace {

constexpr std::size_t max_datagram = 65507;

/// What every datagram begins with.
struct FragmentHeader {
    std::uint64_t stream;   ///< drawn by the subscriber, so that nothing of another run is taken for its own
    std::uint64_t message;  ///< counts the publisher's messages
    std::uint32_t fragment;
    std::uint32_t total_bytes;
};

constexpr std::size_t max_fragment = max_datagram - sizeof(FragmentHeader);

std::size_t fragments_of(std::size_t bytes) {
    return (bytes + max_fragment - 1) / max_fragment;
}

class UdpPublisher final : public Publisher {
public:
    UdpPublisher(Fd socket, std::uint64_t stream, std::size_t max_bytes, std::string peer)
        : socket_(std::move(socket)), header_{stream, 0, 0, 0}, buffer_(max_bytes), peer_(std::move(peer)) {}

    std::optional<SocketBuffers> buffers() const override { return buffers_of(socket_); }

private:
    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        if (bytes > buffer_.size())
            return Error{"loan " + std::to_string(bytes) + " bytes for " + peer_ + ": too large"};
        header_.fragment = 0;
        header_.total_bytes = static_cast<std::uint32_t>(bytes);
        return std::span{buffer_}.first(bytes);
    }

    // What was sent of a message stays sent: after a false, the next call goes on with the fragment that did not fit.
    Result<bool> commit(Patience patience) override {
        BusyPoll poll{patience};
        while (header_.fragment * max_fragment < header_.total_bytes) {
            if (send_fragment()) {
                ++header_.fragment;
            } else if (errno != EAGAIN && errno != ENOBUFS && errno != EINTR) {
                return os_error("send to " + peer_);
            } else if (!poll.wait()) {
                return false;
            }
        }
        ++header_.message;
        return true;
    }

    bool send_fragment() {
        const std::size_t offset = header_.fragment * max_fragment;
        std::array<iovec, 2> parts{
            iovec{&header_, sizeof header_},
            iovec{buffer_.data() + offset, std::min(max_fragment, header_.total_bytes - offset)}};
        msghdr datagram{};
        datagram.msg_iov = parts.data();
        datagram.msg_iovlen = parts.size();
        return ::sendmsg(socket_.get(), &datagram, MSG_NOSIGNAL) >= 0;
    }

    void abandon() noexcept override {
        if (header_.fragment > 0) ++header_.message;  // its first fragments are out; the number is spent
    }

    Fd socket_;
    FragmentHeader header_;
    std::vector<std::byte> buffer_;
    std::string peer_;
};

/// The message that is being put together from its fragments. A fragment is received where it will most likely belong,
/// behind the one before it, so that most are never moved: a receiver that copies twice loses what it could have kept.
class Assembly {
public:
    explicit Assembly(std::size_t max_bytes)
        : bytes_(fragments_of(max_bytes) * max_fragment), present_(fragments_of(max_bytes)) {}

    /// Where to receive the next fragment. Never over one that is there already.
    std::span<std::byte> expected() { return std::span{bytes_}.subspan(expected_ * max_fragment, max_fragment); }

    /// Takes the fragment that was received into expected(). True if it made its message whole; what belongs to older
    /// messages or is there already changes nothing.
    bool add(const FragmentHeader& header, std::size_t bytes) {
        if (started_ && header.message < message_) return false;
        if (!started_ || header.message > message_) begin(header);
        if (header.total_bytes != total_bytes_ || present_[header.fragment]) return false;
        if (header.fragment != expected_) {
            std::memcpy(bytes_.data() + header.fragment * max_fragment, expected().data(), bytes);
        }
        present_[header.fragment] = true;
        --missing_;
        expect_next(header.fragment);
        return missing_ == 0;
    }

    std::span<const std::byte> whole() const { return std::span{bytes_}.first(total_bytes_); }

private:
    // What has just been received lies at expected(), which belongs to no fragment that is present: beginning a new
    // message forgets the old ones and leaves it there to be moved.
    void begin(const FragmentHeader& header) {
        started_ = true;
        message_ = header.message;
        total_bytes_ = header.total_bytes;
        missing_ = fragments_of(total_bytes_);
        std::fill(present_.begin(), present_.end(), false);
    }

    void expect_next(std::size_t fragment) {
        expected_ = 0;
        if (missing_ == 0) return;
        const auto after = std::find(present_.begin() + static_cast<std::ptrdiff_t>(fragment), present_.end(), false);
        const auto found = after != present_.end() ? after : std::find(present_.begin(), present_.end(), false);
        expected_ = static_cast<std::size_t>(found - present_.begin());
    }

    std::vector<std::byte> bytes_;
    std::vector<bool> present_;
    bool started_ = false;
    std::uint64_t message_ = 0;
    std::size_t total_bytes_ = 0;
    std::size_t missing_ = 0;
    std::size_t expected_ = 0;
};

class UdpSubscriber final : public Subscriber {
public:
    UdpSubscriber(Fd socket, std::uint64_t stream, std::size_t max_bytes)
        : socket_(std::move(socket)), stream_(stream), max_bytes_(max_bytes), assembly_(max_bytes) {}

    std::string endpoint() const override { return IpEndpoint{local_address(socket_), stream_}.text(); }
    Result<bool> match(Patience) override { return true; }  // bound is all it can be

    std::optional<SocketBuffers> buffers() const override { return buffers_of(socket_); }

private:
    Result<std::span<const std::byte>> receive(Patience patience) override {
        BusyPoll poll{patience};
        while (true) {
            FragmentHeader header{};
            const auto received = receive_datagram(header);
            if (received >= 0) {
                const auto message = accept(header, static_cast<std::size_t>(received));
                if (message.data() != nullptr) return message;
            } else if (errno != EAGAIN && errno != EINTR && errno != ECONNREFUSED) {
                return os_error("receive on " + endpoint());
            } else if (!poll.wait()) {
                return std::span<const std::byte>{};
            }
        }
    }

    ssize_t receive_datagram(FragmentHeader& header) {
        const auto place = assembly_.expected();
        std::array<iovec, 2> parts{iovec{&header, sizeof header}, iovec{place.data(), place.size()}};
        msghdr datagram{};
        datagram.msg_iov = parts.data();
        datagram.msg_iovlen = parts.size();
        return ::recvmsg(socket_.get(), &datagram, 0);
    }

    /// The message that this datagram completes, if it does. Whatever is not ours is dropped.
    std::span<const std::byte> accept(const FragmentHeader& header, std::size_t received) {
        const std::size_t total = header.total_bytes;
        if (received <= sizeof header || header.stream != stream_) return {};
        if (total > max_bytes_ || header.fragment >= fragments_of(total)) return {};
        const std::size_t bytes = received - sizeof header;
        if (bytes != std::min(max_fragment, total - header.fragment * max_fragment)) return {};
        if (total <= max_fragment) return assembly_.expected().first(bytes);
        return assembly_.add(header, bytes) ? assembly_.whole() : std::span<const std::byte>{};
    }

    void release() noexcept override {}

    Fd socket_;
    std::uint64_t stream_;
    std::size_t max_bytes_;
    Assembly assembly_;
};

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    auto socket = open_udp_socket(topic.local_address);
    if (!socket) return socket.error();
    return std::unique_ptr<Subscriber>{
        std::make_unique<UdpSubscriber>(std::move(*socket), new_token(), topic.max_bytes)};
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, std::string_view endpoint) {
    const auto subscriber = parse_endpoint(endpoint);
    if (!subscriber) return Error{"advertise to '" + std::string{endpoint} + "': not a UDP endpoint"};
    auto socket = open_udp_socket();
    if (!socket) return socket.error();
    const std::string peer = to_text(subscriber->address);
    if (::connect(socket->get(), generic(subscriber->address), sizeof subscriber->address) != 0)
        return os_error("connect UDP to " + peer);
    return std::unique_ptr<Publisher>{
        std::make_unique<UdpPublisher>(std::move(*socket), subscriber->token, topic.max_bytes, peer)};
}

}  // namespace

extern const Transport udp{"udp",
                           "UDP datagrams, IPv4; best effort, fragments above 65483 bytes",
                           "copy",
                           Reliability::best_effort,
                           Parties::processes,
                           subscribe,
                           advertise};

}  // namespace tacholog::transports
