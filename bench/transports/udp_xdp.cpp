// UDP over IPv4 or IPv6 that bypasses the IP stack of the kernel (AF_XDP), best effort: datagrams that arrive while all
// frames are in use are lost, and nothing is sent again. Both sides must be on one Ethernet, each on its own interface
// with an MTU of 1500 or more. The first queue of the interface must receive the datagrams. The interface is the one
// with the address of the control channel. A message that is larger than one frame is cut as in `udp`, into fragments
// of 1448 bytes (1428 over IPv6). Needs root. The filter runs in the driver if the driver supports it, and otherwise
// in the generic hook after it. There is always one copy between driver and process (XDP_COPY).
#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

#include "transports/socket_wait.hpp"
#include "transports/transport.hpp"
#include "transports/udp_fragments.hpp"
#include "transports/xdp_endpoint.hpp"
#include "transports/xdp_port.hpp"

namespace tacholog::transports {
namespace {

constexpr std::size_t fragment_bytes_of(int family) {
    return frame_payload(family) - sizeof(FragmentHeader);
}

constexpr Patience longest_nap{5};
constexpr std::uint32_t frames_a_flush = 32;  // the kernel sends this many frames with one call

class XdpPublisher final : public Publisher {
public:
    XdpPublisher(XdpPort& port, const XdpEndpoint& subscriber, const Topic& topic)
        : Publisher(topic.max_bytes),
          port_(port),
          wait_(topic.waiting, SocketWait::For::sending),
          to_(subscriber.address),
          fragment_bytes_(fragment_bytes_of(to_.host.family())),
          header_{subscriber.token, 0, 0, 0},
          buffer_(topic.max_bytes) {}

private:
    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        header_.fragment = 0;
        header_.total_bytes = static_cast<std::uint32_t>(bytes);
        return std::span{buffer_}.first(bytes);
    }

    // Continues after `not_yet` with the fragment that did not fit. No fragment is sent twice.
    Result<Done> commit(Patience patience) override {
        wait_.begin(port_.descriptor(), patience, longest_nap);
        while (header_.fragment * fragment_bytes_ < header_.total_bytes) {
            if (enqueue()) {
                if (++header_.fragment % frames_a_flush == 0) port_.flush();
            } else if (!port_.flush() && !wait_.again()) {
                return Done::not_yet;
            }
        }
        while (!port_.flush()) {
            if (!wait_.again()) return Done::not_yet;
        }
        ++header_.message;
        return Done::yes;
    }

    bool enqueue() {
        const auto room = port_.acquire();
        if (room.empty()) return false;
        const std::size_t offset = header_.fragment * fragment_bytes_;
        const std::size_t bytes = std::min(fragment_bytes_, header_.total_bytes - offset);
        std::memcpy(room.data(), &header_, sizeof header_);
        std::memcpy(room.data() + sizeof header_, buffer_.data() + offset, bytes);
        port_.send(to_, sizeof header_ + bytes);
        return true;
    }

    void abandon() noexcept override {
        if (header_.fragment > 0) ++header_.message;  // some fragments were sent, so this number must not be used again
    }

    XdpPort& port_;
    SocketWait wait_;
    XdpAddress to_;
    std::size_t fragment_bytes_;
    FragmentHeader header_;
    std::vector<std::byte> buffer_;
};

class XdpSubscriber final : public Subscriber {
public:
    XdpSubscriber(XdpPort& port, std::uint64_t token, const Topic& topic)
        : port_(port),
          wait_(topic.waiting, SocketWait::For::receiving),
          token_(token),
          fragment_bytes_(fragment_bytes_of(port.address().host.family())),
          assembly_(token, topic.max_bytes, fragment_bytes_) {}

    std::string endpoint() const override { return XdpEndpoint{port_.address(), token_}.text(); }
    Result<Done> match(Patience) override { return Done::yes; }  // nothing to wait for: the filter is already active

private:
    Result<std::span<const std::byte>> receive(Patience patience) override {
        wait_.begin(port_.descriptor(), patience, longest_nap);
        while (true) {
            const auto datagram = port_.receive();
            if (!datagram.empty()) {
                const auto message = accept(datagram);
                port_.release();
                if (message.data() != nullptr) return message;
                if (!wait_.goes_on()) return std::span<const std::byte>{};
            } else if (!wait_.again()) {
                return std::span<const std::byte>{};
            }
        }
    }

    /// Returns the message if it is complete now.
    std::span<const std::byte> accept(std::span<const std::byte> datagram) {
        if (datagram.size() <= sizeof(FragmentHeader)) return {};
        FragmentHeader header{};
        std::memcpy(&header, datagram.data(), sizeof header);
        const auto fragment = datagram.subspan(sizeof header);
        if (fragment.size() > fragment_bytes_) return {};
        std::memcpy(assembly_.expected().data(), fragment.data(), fragment.size());
        return assembly_.accept(header, datagram.size());
    }

    void release() noexcept override {}

    XdpPort& port_;
    SocketWait wait_;
    std::uint64_t token_;
    std::size_t fragment_bytes_;
    Assembly assembly_;
};

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    const auto port = XdpPort::at(topic.local_address);
    if (!port) return port.error();
    return std::unique_ptr<Subscriber>{std::make_unique<XdpSubscriber>(**port, new_token(), topic)};
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, const Endpoints& endpoints) {
    const std::string& endpoint = endpoints.front();
    const auto subscriber = parse_xdp_endpoint(endpoint);
    if (!subscriber) return Error{"advertise to '" + endpoint + "': not an AF_XDP endpoint"};
    const auto port = XdpPort::at(topic.local_address);
    if (!port) return port.error();
    if (subscriber->address.host.family() != (*port)->address().host.family())
        return Error{"advertise to '" + endpoint + "': not of the family of " + topic.local_address};
    return std::unique_ptr<Publisher>{std::make_unique<XdpPublisher>(**port, *subscriber, topic)};
}

}  // namespace

extern const Transport udp_xdp{
    .name = "udp-xdp",
    .summary = "UDP past the kernel's IP stack (AF_XDP), IPv4 or IPv6, one Ethernet; best effort, needs root",
    .data_path = "copy",
    .reliability = Reliability::best_effort,
    .reach = Reach::network,
    .parties = Parties::hosts,
    .subscribe = subscribe,
    .advertise = advertise,
    .endpoint_at = xdp_endpoint_at,
};

}  // namespace tacholog::transports
