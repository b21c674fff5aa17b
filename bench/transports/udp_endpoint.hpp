// How the two sides of a transport over UDP connect: the subscriber opens a socket and sends its endpoint, and the
// publisher opens a socket that is connected to it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "transports/ip_endpoint.hpp"
#include "transports/udp_socket.hpp"

namespace tacholog {

/// A subscriber's socket, bound to a port that the kernel has chosen, and its endpoint for the publisher.
struct UdpSeat {
    Fd socket;
    IpEndpoint endpoint;
};

inline Result<UdpSeat> open_udp_seat(const Topic& topic) {
    auto socket = open_udp_socket(topic.local_address);
    if (!socket) return socket.error();
    const IpEndpoint endpoint{local_address(*socket), new_token()};
    return UdpSeat{std::move(*socket), endpoint};
}

/// A publisher's socket, connected to one subscriber.
struct UdpWay {
    Fd socket;
    IpEndpoint to;
    std::string name;  ///< for error messages
};

inline Result<UdpWay> connect_udp(const Topic& topic, std::string_view endpoint) {
    const auto to = subscriber_at(endpoint, topic, "UDP");
    if (!to) return to.error();
    auto socket = open_udp_socket(to->address.family());
    if (!socket) return socket.error();
    std::string name = to_text(to->address);
    if (::connect(socket->get(), to->address.get(), to->address.length()) != 0)
        return os_error("connect UDP to " + name);
    return UdpWay{std::move(*socket), *to, std::move(name)};
}

}  // namespace tacholog
