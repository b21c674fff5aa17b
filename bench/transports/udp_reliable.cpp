// UDP over IPv4 or IPv6 made reliable and ordered: every message exactly once and in order, however many datagrams are
// lost, doubled or overtaken. A message above one datagram is cut into as many as fit the path's MTU unfragmented. The
// subscriber names what it lacks and the publisher sends just that again; a lost tail is found by asking for it. When
// the subscriber is slow, the publisher waits; when one side is gone, the other is told, or finds out by five seconds
// of silence. The window is that of the subscriber's socket buffer and does not shrink on loss: for networks of one's
// own, not for sharing the Internet.
#include <sys/socket.h>

#include "transports/ip_endpoint.hpp"
#include "transports/reliable_publisher.hpp"
#include "transports/reliable_subscriber.hpp"
#include "transports/udp_socket.hpp"

namespace tacholog::transports {
namespace {

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    auto socket = open_udp_socket(topic.local_address);
    if (!socket) return socket.error();
    const IpEndpoint own{local_address(*socket), new_token()};
    return std::unique_ptr<Subscriber>{
        std::make_unique<reliable::ReliableSubscriber>(std::move(*socket), own.token, topic, own.text())};
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, std::string_view endpoint) {
    const auto peer = parse_endpoint(endpoint, topic.local_address);
    if (!peer) return Error{"advertise to '" + std::string{endpoint} + "': not a UDP endpoint"};
    auto socket = open_udp_socket(peer->address.family());
    if (!socket) return socket.error();
    const std::string name = to_text(peer->address);
    if (::connect(socket->get(), peer->address.get(), peer->address.length()) != 0)
        return os_error("connect UDP to " + name);
    const std::size_t piece = reliable::piece_for(*socket);
    reliable::Link link{std::move(*socket), true, peer->address, peer->token, name};
    return std::unique_ptr<Publisher>{std::make_unique<reliable::ReliablePublisher>(std::move(link), topic, piece)};
}

}  // namespace

extern const Transport udp_reliable{
    "udp-reliable",
    "UDP made reliable and ordered, IPv4 or IPv6; what is lost is asked for and sent again",
    "copy",
    Reliability::reliable,
    Parties::processes,
    subscribe,
    advertise,
    nullptr,
    false,
    0,
    nullptr,
    ip_endpoint_at};

}  // namespace tacholog::transports
