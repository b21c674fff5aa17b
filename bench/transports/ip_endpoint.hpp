// Where a subscriber can be reached over IP, as text that travels over the control channel: "127.0.0.1:40000/1234" or
// "[::1]:40000/1234", an address and the token that it drew, so that nothing of another run is taken for its own.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "core/address.hpp"
#include "core/text.hpp"

namespace tacholog {

struct IpEndpoint {
    Address address;
    std::uint64_t token = 0;

    std::string text() const { return to_text(address) + "/" + std::to_string(token); }
};

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
    const auto address = parse_address(host, *port);
    // Only with brackets is it clear where an IPv6 address ends and its port begins.
    if (!address || (address->family() == AF_INET6 && host.front() != '[')) return std::nullopt;
    return IpEndpoint{*address, *token};
}

}  // namespace tacholog
