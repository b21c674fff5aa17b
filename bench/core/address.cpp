#include "core/address.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>

namespace tacholog {

std::optional<sockaddr_in> parse_address(std::string_view host, int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    if (::inet_pton(AF_INET, std::string{host}.c_str(), &address.sin_addr) != 1) return std::nullopt;
    return address;
}

std::string to_text(const sockaddr_in& address) {
    std::array<char, INET_ADDRSTRLEN> host{};
    ::inet_ntop(AF_INET, &address.sin_addr, host.data(), host.size());
    return std::string{host.data()} + ":" + std::to_string(ntohs(address.sin_port));
}

sockaddr_in local_address(const Fd& socket) {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
    return address;
}

}  // namespace tacholog
