// Reliable and ordered UDP over IPv4 or IPv6: every message arrives exactly once and in order, even if datagrams are
// lost, duplicated or reordered. A message that is larger than one datagram is cut into datagrams that fit the MTU of
// the path. The subscriber reports its missing packets, and the publisher sends only these again. If the last packets
// are lost, the publisher finds this out by asking. If the subscriber is slow, the publisher waits. If one side leaves,
// it tells the other; if it dies, the other notices after five seconds of silence. The window has the size of
// the subscriber's socket buffer, and it does not shrink if packets are lost. Therefore this transport is for private
// networks, not for the shared Internet.
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
