// The endpoint of a subscriber behind a NAT, as text for the control channel. The text states the address that the
// subscriber has in its own network. It also states the ports of the publisher to which the subscriber will send.
#pragma once

#include <algorithm>
#include <vector>

#include "transports/ip_endpoint.hpp"

namespace tacholog {

inline constexpr std::size_t door_count = 4;  ///< several, because one of them may be in use

/// "127.0.0.1:40000/1234/20001,20002": the subscriber's own address, its token, and the ports of the publisher that it
/// will send to.
struct WanEndpoint {
    IpEndpoint own;
    std::vector<std::uint16_t> doors;

    std::string text() const { return own.text() + "/" + comma_separated(doors); }
};

inline std::optional<WanEndpoint> parse_wan_endpoint(std::string_view text) {
    const auto slash = text.rfind('/');
    if (slash == std::string_view::npos) return std::nullopt;
    const auto own = parse_endpoint(text.substr(0, slash));
    if (!own) return std::nullopt;
    WanEndpoint endpoint{*own, {}};
    for (std::string_view rest = text.substr(slash + 1); !rest.empty();) {
        const auto comma = std::min(rest.find(','), rest.size());
        const auto door = to_number<std::uint16_t>(rest.substr(0, comma));
        if (!door || endpoint.doors.size() == door_count) return std::nullopt;
        endpoint.doors.push_back(*door);
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    if (endpoint.doors.empty()) return std::nullopt;
    return endpoint;
}

/// For Transport::endpoint_at. Returns the endpoint of the other side with the address `host`, which the other side
/// uses for the control channel. A side behind a NAT does not know its own public address, so this side sends first, to
/// the returned endpoint.
inline std::optional<std::string> wan_endpoint_at(std::string_view text, const Address& host) {
    auto endpoint = parse_wan_endpoint(text);
    if (!endpoint) return std::string{text};
    endpoint->own.address = from_bytes(to_bytes(host), endpoint->own.address.port());
    return endpoint->text();
}

}  // namespace tacholog
