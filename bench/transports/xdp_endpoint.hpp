// The AF_XDP endpoint of a subscriber, as text that is sent over the control channel:
// "0a:1b:2c:3d:4e:5f/10.0.0.2:40000/1234" or "0a:1b:2c:3d:4e:5f/[fd00::2]:40000/1234". It is the MAC address of the
// interface, followed by an IpEndpoint.
#pragma once

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "transports/ip_endpoint.hpp"
#include "transports/xdp_frame.hpp"

namespace tacholog {

struct XdpEndpoint {
    XdpAddress address{};
    std::uint64_t token = 0;

    std::string text() const {
        constexpr std::string_view digits{"0123456789abcdef"};
        std::string mac;
        for (const auto byte : address.mac) {
            if (!mac.empty()) mac += ':';
            mac += {digits[byte >> 4], digits[byte & 0xf]};
        }
        return mac + "/" + IpEndpoint{address.host, token}.text();
    }
};

inline std::optional<XdpEndpoint> parse_xdp_endpoint(std::string_view text) {
    constexpr std::size_t mac_text = 17;
    if (text.size() <= mac_text || text[mac_text] != '/') return std::nullopt;
    XdpEndpoint endpoint;
    for (std::size_t at = 0; at < endpoint.address.mac.size(); ++at) {
        const std::string_view byte = text.substr(3 * at, 2);
        const auto read = std::from_chars(byte.data(), byte.data() + byte.size(), endpoint.address.mac[at], 16);
        if (read.ec != std::errc{} || read.ptr != byte.data() + byte.size()) return std::nullopt;
        if (at + 1 < endpoint.address.mac.size() && text[3 * at + 2] != ':') return std::nullopt;
    }
    const auto ip = parse_endpoint(text.substr(mac_text + 1));
    if (!ip) return std::nullopt;
    endpoint.address.host = ip->address;
    endpoint.token = ip->token;
    return endpoint;
}

/// For Transport::endpoint_at. Returns the text unchanged; nothing if the IP address of the endpoint is not on `host`.
/// The MAC address is not checked, but used as the peer has sent it.
inline std::optional<std::string> xdp_endpoint_at(std::string_view text, const Address& host) {
    const auto endpoint = parse_xdp_endpoint(text);
    if (endpoint && !of_one_host(endpoint->address.host, host)) return std::nullopt;
    return std::string{text};
}

}  // namespace tacholog
