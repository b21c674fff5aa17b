// UDP over IPv4 or IPv6 made reliable and ordered: every message exactly once and in order, however many datagrams are
// lost, doubled or overtaken. A message above one datagram is cut into as many as fit the path's MTU unfragmented. The
// subscriber names what it lacks and the publisher sends just that again; a lost tail is found by asking for it. When
// the subscriber is slow, the publisher waits; when one side is gone, the other is told, or finds out by five seconds
// of silence. The window is that of the subscriber's socket buffer and does not shrink on loss: for networks of one's
// own, not for sharing the Internet.
#include <sys/socket.h>

#include "transports/reliable_publisher.hpp"
#include "transports/reliable_subscriber.hpp"
#include "transports/udp_endpoint.hpp"

namespace tacholog::transports {
namespace {

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    auto seat = open_udp_seat(topic);
    if (!seat) return seat.error();
    auto& [socket, own] = *seat;
    return std::unique_ptr<Subscriber>{
        std::make_unique<reliable::ReliableSubscriber>(std::move(socket), own.token, topic, own.text())};
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, const Endpoints& endpoints) {
    auto way = connect_udp(topic, endpoints.front());
    if (!way) return way.error();
    auto& [socket, to, name] = *way;
    const std::size_t piece = reliable::piece_for(socket);
    reliable::Link link{std::move(socket), true, to.address, to.token, name};
    return std::unique_ptr<Publisher>{std::make_unique<reliable::ReliablePublisher>(std::move(link), topic, piece)};
}

}  // namespace

extern const Transport udp_reliable{
    .name = "udp-reliable",
    .summary = "UDP made reliable and ordered, IPv4 or IPv6; what is lost is asked for and sent again",
    .data_path = "copy",
    .reliability = Reliability::reliable,
    .reach = Reach::network,
    .subscribe = subscribe,
    .advertise = advertise,
    .endpoint_at = ip_endpoint_at,
};

}  // namespace tacholog::transports
