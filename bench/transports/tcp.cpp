// TCP over IPv4 or IPv6, with one connection per topic and subscriber. Reliable and ordered: if a subscriber is slow,
// its window closes and the publisher waits, and the other subscribers wait too. Each message is sent immediately,
// after a frame of eight bytes, to one subscriber after the other. Batches are optional: several messages are then sent
// with one call. With Nagle's algorithm on (a setting), each message still has its own call, but the kernel joins small
// messages into packets. A frame that states more bytes than agreed is rejected, and a connection without the token of
// the subscriber is closed.
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "transports/ip_endpoint.hpp"
#include "transports/stream.hpp"

namespace tacholog::transports {
namespace {

/// Call this before the socket is connected. An accepted socket inherits the setting from the listening socket.
Result<void> set_congestion(const Fd& socket, const std::string& name) {
    if (name.empty()) return {};
    if (::setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size())) == 0)
        return {};
    return os_error("use congestion control " + name);
}

constexpr std::string_view default_of_kernel = "kernel";

Result<void> check_congestion(std::string_view name) {
    constexpr std::size_t longest = 15;  // TCP_CA_NAME_MAX without the terminating zero
    const bool is_name = std::all_of(name.begin(), name.end(), [](char letter) {
        return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
    });
    if (!is_name || name.empty() || name.size() > longest)
        return Error{"not the name of an algorithm, like cubic, reno or bbr"};
    const Fd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (set_congestion(socket, std::string{name})) return {};
    std::ifstream file{"/proc/sys/net/ipv4/tcp_available_congestion_control"};
    std::string available;
    std::getline(file, available);
    return Error{"this kernel does not let us use it; it has " + available};
}

constexpr std::array settings{
    Setting{.name = "congestion",
            .values = "NAME",
            .default_value = default_of_kernel,
            .meaning = "the algorithm of congestion control on both sides, like cubic, reno or bbr; kernel: the "
                       "kernel's default. The log's socket lines state the one in effect",
            .check = check_congestion},
    Setting{.name = "nagle",
            .values = "on|off",
            .default_value = "off",
            .meaning =
                "Nagle's algorithm; on: while data is on its way, the kernel keeps small messages back and joins "
                "them into full packets; off: each message is sent at once (TCP_NODELAY)"}};

/// The name is empty if the kernel's default is used.
std::string congestion_of(const Topic& topic) {
    const std::string name = value_of(topic.settings, "congestion");
    return name == default_of_kernel ? "" : name;
}

bool joins(const Topic& topic) {
    return value_of(topic.settings, "nagle") == "on";
}

void send_at_once(const Fd& socket) {
    const int yes = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    const auto address = parse_address(topic.local_address, 0);
    if (!address) return Error{"bind TCP to " + topic.local_address + ": not an IP address"};
    Fd listener{::socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!listener) return os_error("open a TCP socket");
    if (auto set = set_congestion(listener, congestion_of(topic)); !set) return set.error();
    if (::bind(listener.get(), address->get(), address->length()) != 0)
        return os_error("bind TCP to " + topic.local_address);
    if (::listen(listener.get(), 4) != 0) return os_error("listen on TCP at " + topic.local_address);
    const IpEndpoint own{local_address(listener), new_token()};
    return std::unique_ptr<Subscriber>{
        std::make_unique<StreamSubscriber>(std::move(listener), own.token, topic, own.text(), send_at_once,
                                           joins(topic) ? SenderJoins::yes : SenderJoins::no)};
}

/// Has a time limit of its own, because the kernel would try for minutes. Connecting takes one round trip.
Result<Fd> connect_to(const Address& address, const Topic& topic) {
    constexpr int longest_ms = 5000;
    const std::string operation = "connect TCP to " + to_text(address);
    Fd socket{::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!socket) return os_error(operation);
    if (auto set = set_congestion(socket, congestion_of(topic)); !set) return set.error();
    if (!joins(topic)) send_at_once(socket);
    if (::connect(socket.get(), address.get(), address.length()) == 0) return socket;
    if (errno != EINPROGRESS) return os_error(operation);
    pollfd waiting{socket.get(), POLLOUT, 0};
    if (::poll(&waiting, 1, longest_ms) <= 0) return os_error(operation, ETIMEDOUT);
    int problem = 0;
    socklen_t length = sizeof problem;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &problem, &length);
    if (problem != 0) return os_error(operation, problem);
    return socket;
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, const Endpoints& endpoints) {
    auto publisher = std::make_unique<StreamPublisher>(topic);
    for (const std::string& endpoint : endpoints) {
        const auto peer = subscriber_at(endpoint, topic, "TCP");
        if (!peer) return peer.error();
        auto socket = connect_to(peer->address, topic);
        if (!socket) return socket.error();
        const auto added = publisher->add(std::move(*socket), to_text(peer->address), peer->token);
        if (!added) return added.error();
    }
    return std::unique_ptr<Publisher>{std::move(publisher)};
}

}  // namespace

extern const Transport tcp{
    .name = "tcp",
    .summary = "TCP, IPv4 or IPv6; reliable, copied in and out, each message sent by itself",
    .data_path = "copy",
    .reliability = Reliability::reliable,
    .reach = Reach::network,
    .subscribe = subscribe,
    .advertise = advertise,
    .reaches_several = true,
    .most_batch_bytes = most_stream_batch_bytes,
    .settings = settings,
    .endpoint_at = ip_endpoint_at,
    .remark =
        "tcp: of messages of up to 256 KiB the subscriber leaves the last byte on the wire in the socket until it "
        "looks for the next message, so that its kernel does not acknowledge each one by itself, which would "
        "cost some 1 us a message",
};

}  // namespace tacholog::transports
