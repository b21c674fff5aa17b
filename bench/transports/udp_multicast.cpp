// Reliable and ordered UDP multicast over IPv4 or IPv6, from one publisher to one or more subscribers. Each message is
// sent once, to a group. It arrives at every subscriber exactly once and in order, even if datagrams are lost,
// duplicated or reordered. A message that is larger than one datagram is cut into datagrams that fit the MTU of the
// path. Each subscriber reports its missing packets, and the publisher sends them to the group again. If the last
// packets are lost, the publisher finds this out by asking. If a subscriber is slow, the publisher waits. With
// --slow-subscriber drop, it continues without the subscriber after ten milliseconds. If the memory of a message is
// then reused before this subscriber has received it, the message is lost for this subscriber only, and counted.
//
// The publisher chooses the group, port and stream at random, and invites each subscriber at the address from the
// control channel. If one side leaves, it tells the other; if it dies, the other notices after five seconds of silence.
// Datagrams do not leave the local network (their TTL is 1, and IPv6 groups are link-local, ff12::/16). Linux supports
// IPv6 multicast on all interfaces except the loopback. The window has the size of the smallest socket buffer, and it
// does not shrink if packets are lost.
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <sys/socket.h>

#include <random>

#include "base/meeting_ports.hpp"
#include "transports/reliable_publisher.hpp"
#include "transports/reliable_subscriber.hpp"
#include "transports/udp_endpoint.hpp"

namespace tacholog::transports {
namespace {

template <typename Value>
bool set_option(const Fd& socket, int level, int option, const Value& value) {
    return ::setsockopt(socket.get(), level, option, &value, sizeof value) == 0;
}

/// Returns the index of the interface that has this address; 0 if no interface has the address.
std::uint32_t interface_of(const Address& own) {
    return own.zone() > 0 ? own.zone() : ::if_nametoindex(interface_with(own).c_str());
}

/// Joins the group on the interface that has the address `own`.
bool enter(const Fd& socket, const Address& group, const Address& own) {
    if (group.family() == AF_INET) {
        const ip_mreq membership{group.v4().sin_addr, own.v4().sin_addr};
        return set_option(socket, IPPROTO_IP, IP_ADD_MEMBERSHIP, membership);
    }
    const ipv6_mreq membership{group.v6().sin6_addr, group.zone()};
    return set_option(socket, IPPROTO_IPV6, IPV6_JOIN_GROUP, membership);
}

/// The socket receives on the interface with the address `own`. Other processes of this host may receive from the group
/// too.
Result<Fd> hear(const Address& group, const Address& own) {
    const std::string name = to_text(group);
    auto socket = open_udp_socket(group.family());
    if (!socket) return socket.error();
    const int yes = 1;
    const int no = 0;
    ::setsockopt(socket->get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    // The socket is bound to the address of the group. If it were bound to any address, it would also receive unicast
    // datagrams to this port.
    if (::bind(socket->get(), group.get(), group.length()) != 0) return os_error("bind UDP to group " + name);
    // For IPv6, the zone of the group already selects the interface.
    if (group.family() == AF_INET && !set_option(*socket, IPPROTO_IP, IP_MULTICAST_ALL, no))
        return os_error("hear nothing but group " + name);
    if (!enter(*socket, group, own)) return os_error("join group " + name);
    return socket;
}

bool is_group(const Address& address) {
    if (address.family() == AF_INET) return IN_MULTICAST(ntohl(address.v4().sin_addr.s_addr));
    return IN6_IS_ADDR_MC_LINKLOCAL(&address.v6().sin6_addr);
}

Result<Fd> join(const reliable::Invitation& invitation, const Address& own) {
    Address group = from_bytes(invitation.group, ntohs(invitation.port));
    if (group.family() != own.family() || !is_group(group) || group.port() == 0)
        return Error{"join group " + to_text(group) + ": that is none"};
    group.set_zone(interface_of(own));
    return hear(group, own);
}

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    auto seat = open_udp_seat(topic);
    if (!seat) return seat.error();
    auto& [socket, own] = *seat;
    return std::unique_ptr<Subscriber>{std::make_unique<reliable::ReliableSubscriber>(
        std::move(socket), own.token, topic, own.text(),
        [address = own.address](const reliable::Invitation& invitation) { return join(invitation, address); })};
}

/// For IPv4, the group is organisation-local. For IPv6, it is temporary and link-local.
Address draw_group(const Address& own) {
    std::random_device random;
    const std::uint16_t port = htons(meeting_port(Meeting::group, random()));
    if (own.family() == AF_INET) {
        std::uniform_int_distribution<std::uint32_t> host_part{1, 0xFFFE};
        sockaddr_in group{};
        group.sin_family = AF_INET;
        group.sin_addr.s_addr = htonl(0xEFC00000U | host_part(random));  // 239.192.0.0/16
        group.sin_port = port;
        return group;
    }
    const std::uint32_t host_part = random() | 1U;
    sockaddr_in6 group{};
    group.sin6_family = AF_INET6;
    group.sin6_addr.s6_addr[0] = 0xFF;
    group.sin6_addr.s6_addr[1] = 0x12;
    std::memcpy(&group.sin6_addr.s6_addr[12], &host_part, sizeof host_part);
    group.sin6_port = port;
    group.sin6_scope_id = interface_of(own);
    return group;
}

/// The socket sends to groups on the interface with this address, and receives the answers.
Result<Fd> open_speaker(const std::string& host) {
    auto socket = open_udp_socket(host);
    if (!socket) return socket.error();
    const Address own = local_address(*socket);
    const bool set = own.family() == AF_INET ? set_option(*socket, IPPROTO_IP, IP_MULTICAST_IF, own.v4().sin_addr)
                                             : set_option(*socket, IPPROTO_IPV6, IPV6_MULTICAST_IF, interface_of(own));
    if (!set) return os_error("multicast from " + host);
    return socket;
}

/// Returns the number of message bytes per datagram. To find this number, a second socket is connected to the group.
/// The first socket must stay unconnected, because a connected socket could not receive the answers.
Result<std::size_t> piece_for(const std::string& host, const Address& group) {
    const auto scout = open_speaker(host);
    if (!scout) return scout.error();
    if (::connect(scout->get(), group.get(), group.length()) == 0) return reliable::piece_for(*scout);
    const bool loopback = errno == ENETUNREACH && host == "::1";
    Error problem = os_error("find the way from " + host + " to group " + to_text(group));
    if (loopback) problem.text += " (Linux has none for IPv6 by the loopback: give --address one of another interface)";
    return problem;
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, const Endpoints& endpoints) {
    auto socket = open_speaker(topic.local_address);
    if (!socket) return socket.error();
    const Address group = draw_group(local_address(*socket));
    reliable::Link link{{}, false, group, new_token(), to_text(group), {}, topic.audience.slow};
    for (const std::string& endpoint : endpoints) {
        const auto peer = subscriber_at(endpoint, topic, "UDP");
        if (!peer) return peer.error();
        link.guests.push_back({.token = peer->token, .address = peer->address, .name = to_text(peer->address)});
    }
    link.socket = std::move(*socket);
    const auto piece = piece_for(topic.local_address, group);
    if (!piece) return piece.error();
    return std::unique_ptr<Publisher>{std::make_unique<reliable::ReliablePublisher>(std::move(link), topic, *piece)};
}

}  // namespace

extern const Transport udp_multicast{
    .name = "udp-multicast",
    .summary = "UDP multicast made reliable and ordered, IPv4 or IPv6; sent once, for any number",
    .data_path = "copy",
    .reliability = Reliability::reliable,
    .reach = Reach::network,
    .subscribe = subscribe,
    .advertise = advertise,
    .reaches_several = true,
    .drops_for_slow = true,
    .endpoint_at = ip_endpoint_at,
};

}  // namespace tacholog::transports
