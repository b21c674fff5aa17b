// Reliable UDP for a subscriber behind a NAT. Nobody can reach such a subscriber before it has sent something. Only the
// address of the publisher needs to be known. The subscriber proposes ports over the control channel, and the publisher
// opens one of them. The subscriber sends to these ports, and the publisher answers to the source address that it sees.
// If the NAT changes this address, the publisher uses the new one. The subscriber sends something every second, so that
// the NAT keeps the mapping.
//
// Answers go in the opposite direction, so the publisher of the answers may be the side behind the NAT. Therefore each
// publisher also sends first, to the address from the subscriber's endpoint. The first datagram that arrives on either
// side decides which of the two routes is used. In all other respects, this transport is like udp-reliable: it is
// reliable and ordered, waits for a slow subscriber, and ends after five seconds of silence. Its datagrams are small
// enough for tunnels.
#include <sys/socket.h>

#include <random>

#include "base/meeting_ports.hpp"
#include "transports/reliable_publisher.hpp"
#include "transports/reliable_subscriber.hpp"
#include "transports/udp_endpoint.hpp"
#include "transports/wan_endpoint.hpp"

namespace tacholog::transports {
namespace {

constexpr std::size_t ip_and_udp = 48;  // the size for IPv6; IPv4 needs less
constexpr std::size_t piece_bytes = 1400 - ip_and_udp - sizeof(reliable::PacketHeader);

std::vector<std::uint16_t> propose_doors() {
    std::random_device random;
    std::vector<std::uint16_t> doors(door_count);
    for (std::uint16_t& door : doors) door = meeting_port(Meeting::door, random());
    return doors;
}

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    auto seat = open_udp_seat(topic);
    if (!seat) return seat.error();
    const WanEndpoint endpoint{seat->endpoint, propose_doors()};
    std::vector<Address> doors;
    for (const std::uint16_t door : endpoint.doors) {
        const auto where = parse_address(topic.peer_address, door);
        if (!where) return Error{"look for the publisher at " + topic.peer_address + ": not an IP address"};
        doors.push_back(*where);
    }
    return std::unique_ptr<Subscriber>{std::make_unique<reliable::ReliableSubscriber>(
        std::move(seat->socket), endpoint.own.token, topic, endpoint.text(), std::move(doors))};
}

/// Binds the socket to the first of the proposed ports that is free here.
Result<void> open_door(const Fd& socket, const std::string& host, const std::vector<std::uint16_t>& doors) {
    for (const std::uint16_t door : doors) {
        const auto address = parse_address(host, door);
        if (!address) return Error{"bind UDP to " + host + ": not an IP address"};
        if (::bind(socket.get(), address->get(), address->length()) == 0) return {};
        if (errno != EADDRINUSE) break;
    }
    return os_error("bind UDP on " + host + " to a port that the subscriber proposed");
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, const Endpoints& endpoints) {
    const auto endpoint = parse_wan_endpoint(endpoints.front());
    if (!endpoint) return Error{"advertise to '" + endpoints.front() + "': not a UDP endpoint with ports to open"};
    auto socket = open_udp_socket(endpoint->own.address.family());
    if (!socket) return socket.error();
    if (auto opened = open_door(*socket, topic.local_address, endpoint->doors); !opened) return opened.error();
    const Address peer = reached_from(endpoint->own.address, topic.local_address);
    reliable::Link link{std::move(*socket), false, peer, endpoint->own.token, topic.name};
    return std::unique_ptr<Publisher>{
        std::make_unique<reliable::ReliablePublisher>(std::move(link), topic, piece_bytes)};
}

}  // namespace

extern const Transport udp_wan{
    .name = "udp-wan",
    .summary = "reliable UDP, IPv4 or IPv6, for a side behind a NAT: it speaks first, the other answers there",
    .data_path = "copy",
    .reliability = Reliability::reliable,
    .reach = Reach::network,
    .subscribe = subscribe,
    .advertise = advertise,
    .endpoint_at = wan_endpoint_at,
};

}  // namespace tacholog::transports
