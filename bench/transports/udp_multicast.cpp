// UDP multicast over IPv4 made reliable and ordered, one publisher to one subscriber or many: each message is sent
// once, to a group, and arrives at every subscriber exactly once and in order, however many datagrams are lost, doubled
// or overtaken. A message above one datagram is cut into as many as fit the path's MTU unfragmented. Each subscriber
// names what it lacks, and that is sent again, to the group; a lost tail is found by asking for it. When a subscriber
// is slow, the publisher waits, or, if told so, goes on without it after ten milliseconds: what such a one lacks by the
// time that the publisher's memory is used again is lost to it alone, and counted.
//
// The publisher draws group, port and stream, and invites each subscriber at the address that the control channel told.
// When one side is gone, the other is told, or finds out by five seconds of silence. Datagrams do not leave the local
// network (their TTL is 1). The window is that of the smallest socket buffer and does not shrink on loss.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <sys/socket.h>

#include <random>

#include "transports/ip_endpoint.hpp"
#include "transports/reliable_publisher.hpp"
#include "transports/reliable_subscriber.hpp"
#include "transports/udp_socket.hpp"

namespace tacholog::transports {
namespace {

template <typename Value>
bool set_ip(const Fd& socket, int option, const Value& value) {
    return ::setsockopt(socket.get(), IPPROTO_IP, option, &value, sizeof value) == 0;
}

Result<Fd> open_v4_socket(const std::string& host) {
    const auto address = parse_address(host, 0);
    if (!address || address->family() != AF_INET) return Error{"udp-multicast at " + host + ": not an IPv4 address"};
    return open_udp_socket(host);
}

/// A socket that hears the group, over the interface that has this address. Others of this host may hear it too.
Result<Fd> hear(const Address& group, const in_addr& interface) {
    const std::string name = to_text(group);
    auto socket = open_udp_socket(AF_INET);
    if (!socket) return socket.error();
    const int yes = 1;
    const int no = 0;
    ::setsockopt(socket->get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    // Bound to the group, not to any address: the kernel then keeps what comes to the port by other ways.
    if (::bind(socket->get(), group.get(), group.length()) != 0) return os_error("bind UDP to group " + name);
    if (!set_ip(*socket, IP_MULTICAST_ALL, no)) return os_error("hear nothing but group " + name);
    const ip_mreq membership{group.v4().sin_addr, interface};
    if (!set_ip(*socket, IP_ADD_MEMBERSHIP, membership)) return os_error("join group " + name);
    return socket;
}

Result<Fd> join(const reliable::Invitation& invitation, const in_addr& interface) {
    sockaddr_in group{};
    group.sin_family = AF_INET;
    group.sin_addr.s_addr = invitation.group;
    group.sin_port = invitation.port;
    if (!IN_MULTICAST(ntohl(invitation.group)) || invitation.port == 0)
        return Error{"join group " + to_text(group) + ": that is none"};
    return hear(group, interface);
}

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    auto socket = open_v4_socket(topic.local_address);
    if (!socket) return socket.error();
    const IpEndpoint own{local_address(*socket), new_token()};
    const in_addr interface = own.address.v4().sin_addr;
    return std::unique_ptr<Subscriber>{std::make_unique<reliable::ReliableSubscriber>(
        std::move(*socket), own.token, topic, own.text(),
        [interface](const reliable::Invitation& invitation) { return join(invitation, interface); })};
}

/// Any of those that are for an organisation's own use, and a port below those that kernels give away.
sockaddr_in draw_group() {
    std::random_device random;
    std::uniform_int_distribution<std::uint32_t> place{1, 0xFFFE};
    std::uniform_int_distribution<std::uint16_t> port{20000, 32000};
    sockaddr_in group{};
    group.sin_family = AF_INET;
    group.sin_addr.s_addr = htonl(0xEFC00000U | place(random));  // 239.192.0.0/16
    group.sin_port = htons(port(random));
    return group;
}

/// Sends to groups over the interface that has this address; answers come to it too.
Result<Fd> open_speaker(const std::string& host) {
    auto socket = open_v4_socket(host);
    if (!socket) return socket.error();
    const in_addr interface = local_address(*socket).v4().sin_addr;
    if (!set_ip(*socket, IP_MULTICAST_IF, interface)) return os_error("multicast from " + host);
    return socket;
}

/// What of a message goes into one datagram to the group. A socket of its own is asked: one that is connected to a
/// group hears no answers.
Result<std::size_t> piece_for(const std::string& host, const Address& group) {
    const auto scout = open_speaker(host);
    if (!scout) return scout.error();
    if (::connect(scout->get(), group.get(), group.length()) != 0)
        return os_error("find the way from " + host + " to group " + to_text(group));
    return reliable::piece_for(*scout);
}

Result<std::unique_ptr<Publisher>> advertise_to_all(const Topic& topic, std::span<const std::string> endpoints) {
    const Address group = draw_group();
    reliable::Link link{{}, false, group, new_token(), to_text(group), {}, topic.audience.slow};
    for (const std::string& endpoint : endpoints) {
        const auto peer = parse_endpoint(endpoint);
        if (!peer) return Error{"advertise to '" + endpoint + "': not a UDP endpoint"};
        link.guests.push_back({.token = peer->token, .address = peer->address, .name = to_text(peer->address)});
    }
    auto socket = open_speaker(topic.local_address);
    if (!socket) return socket.error();
    link.socket = std::move(*socket);
    const auto piece = piece_for(topic.local_address, group);
    if (!piece) return piece.error();
    return std::unique_ptr<Publisher>{std::make_unique<reliable::ReliablePublisher>(std::move(link), topic, *piece)};
}

}  // namespace

extern const Transport udp_multicast{"udp-multicast",
                                     "UDP multicast made reliable and ordered, IPv4; sent once, for any number",
                                     "copy",
                                     Reliability::reliable,
                                     Parties::processes,
                                     subscribe,
                                     advertise_to_one<advertise_to_all>,
                                     advertise_to_all,
                                     true};

}  // namespace tacholog::transports
