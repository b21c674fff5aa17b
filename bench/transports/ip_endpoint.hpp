// The IP endpoint of a subscriber, as text that is sent over the control channel: "127.0.0.1:40000/1234" or
// "[::1]:40000/1234". It is an address and a random token. Datagrams of other runs have other tokens, and are rejected.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "base/address.hpp"
#include "base/text.hpp"
#include "transports/transport.hpp"

namespace tacholog {

struct IpEndpoint {
    Address address;
    std::uint64_t token = 0;

    /// The text has no zone, because each host has its own names for its interfaces.
    std::string text() const {
        Address told = address;
        told.set_zone(0);
        return to_text(told) + "/" + std::to_string(token);
    }
};

/// A link-local address from the peer gets the zone of our own address, because both are on the same link.
inline Address reached_from(Address peer, std::string_view own_host) {
    const auto own = parse_address(own_host, 0);
    if (own && peer.is_of_one_link()) peer.set_zone(own->zone());
    return peer;
}

inline std::uint64_t new_token() {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
}

inline std::optional<IpEndpoint> parse_endpoint(std::string_view text) {
    const auto slash = text.find('/');
    const auto colon = text.substr(0, slash).rfind(':');
    if (colon == std::string_view::npos || slash == std::string_view::npos) return std::nullopt;
    const auto port = to_number<std::uint16_t>(text.substr(colon + 1, slash - colon - 1));
    const auto token = to_number<std::uint64_t>(text.substr(slash + 1));
    if (!port || *port == 0 || !token) return std::nullopt;
    const auto host = text.substr(0, colon);
    if (host.find('%') != std::string_view::npos) return std::nullopt;
    const auto address = parse_address(host, *port);
    // An IPv6 address needs brackets. Without them, it is not clear where the address ends and where the port begins.
    if (!address || (address->family() == AF_INET6 && host.front() != '[')) return std::nullopt;
    return IpEndpoint{*address, *token};
}

/// `own_host` is the address at which the peer reaches this side.
inline std::optional<IpEndpoint> parse_endpoint(std::string_view text, std::string_view own_host) {
    auto endpoint = parse_endpoint(text);
    if (endpoint) endpoint->address = reached_from(endpoint->address, own_host);
    return endpoint;
}

/// Returns the address of the subscriber that has sent this endpoint. The error names `advertise`, which needs the
/// address.
inline Result<IpEndpoint> subscriber_at(std::string_view endpoint, const Topic& topic, std::string_view protocol) {
    const auto found = parse_endpoint(endpoint, topic.local_address);
    if (found) return *found;
    return Error{"advertise to '" + std::string{endpoint} + "': not a " + std::string{protocol} + " endpoint"};
}

/// For Transport::endpoint_at. A text that is no endpoint is returned unchanged, because `advertise` rejects it later.
inline std::optional<std::string> ip_endpoint_at(std::string_view text, const Address& host) {
    const auto endpoint = parse_endpoint(text);
    if (endpoint && !of_one_host(endpoint->address, host)) return std::nullopt;
    return std::string{text};
}

}  // namespace tacholog
