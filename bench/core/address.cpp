#include "core/address.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>

namespace tacholog {

std::optional<Address> parse_address(std::string_view host, int port) {
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    const std::string text{host};
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
    if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) return v4;
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = v4.sin_port;
    if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) return v6;
    return std::nullopt;
}

Result<std::string> resolve(const std::string& host) {
    if (const auto numeric = parse_address(host, 0)) return host_of(*numeric);
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const int problem = ::getaddrinfo(host.c_str(), nullptr, &wanted, &list);
    if (problem != 0) return Error{std::string{"no such host ("} + ::gai_strerror(problem) + ")"};
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{list, ::freeaddrinfo};
    for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
        if (one->ai_addrlen > Address::room_bytes) continue;
        Address address;
        std::memcpy(address.room(), one->ai_addr, one->ai_addrlen);
        return host_of(address);
    }
    return Error{"no IP address"};
}

std::string host_of(const Address& address) {
    std::array<char, INET6_ADDRSTRLEN> host{};
    const sockaddr_in v4 = address.v4();
    const bool six = address.family() == AF_INET6;
    const void* bytes = six ? static_cast<const void*>(&address.v6().sin6_addr) : &v4.sin_addr;
    ::inet_ntop(six ? AF_INET6 : AF_INET, bytes, host.data(), host.size());
    return std::string{host.data()};
}

std::string to_text(const Address& address) {
    std::string text = host_of(address);
    if (address.family() == AF_INET6) text.insert(0, 1, '[').push_back(']');
    return text.append(":").append(std::to_string(address.port()));
}

Address local_address(const Fd& socket) {
    Address address;
    socklen_t length = Address::room_bytes;
    ::getsockname(socket.get(), address.room(), &length);
    return address;
}

}  // namespace tacholog
