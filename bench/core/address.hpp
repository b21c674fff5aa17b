// IPv4 addresses as text, "127.0.0.1:7420", and as the kernel wants them.
#pragma once

#include <netinet/in.h>

#include <optional>
#include <string>
#include <string_view>

#include "core/fd.hpp"

namespace tacholog {

/// Numeric IPv4 only: a name would need a resolver, which waits without a limit.
std::optional<sockaddr_in> parse_address(std::string_view host, int port);

std::string to_text(const sockaddr_in& address);

/// The address a socket is bound to, as the kernel knows it.
sockaddr_in local_address(const Fd& socket);

inline const sockaddr* generic(const sockaddr_in& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}

}  // namespace tacholog
