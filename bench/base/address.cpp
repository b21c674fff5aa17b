#include "base/address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>

#include "base/text.hpp"

namespace tacholog {
namespace {

/// `text` is the name or the index of an interface. Returns 0 if it is neither.
std::uint32_t zone_of(const std::string& text) {
    const auto index = ::if_nametoindex(text.c_str());
    return index != 0 ? index : to_number<std::uint32_t>(text).value_or(0);
}

std::string to_text_of_zone(std::uint32_t zone) {
    std::array<char, IF_NAMESIZE> name{};
    return ::if_indextoname(zone, name.data()) != nullptr ? name.data() : std::to_string(zone);
}

/// Both addresses must be of the same family.
bool same_host(const Address& one, const Address& other) {
    if (one.family() == AF_INET) return one.v4().sin_addr.s_addr == other.v4().sin_addr.s_addr;
    return IN6_ARE_ADDR_EQUAL(&one.v6().sin6_addr, &other.v6().sin6_addr) && one.zone() == other.zone();
}

Result<std::string> checked_host(const Address& address) {
    if (address.is_of_one_link() && address.zone() == 0)
        return Error{"a link-local address needs its interface, as in " + host_of(address) + "%eth0"};
    return host_of(address);
}

}  // namespace

std::optional<Address> parse_address(std::string_view host, int port) {
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    const auto percent = host.find('%');
    const std::string text{host.substr(0, percent)};
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
    if (percent == std::string_view::npos && ::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) return v4;
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = v4.sin_port;
    if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) != 1) return std::nullopt;
    Address address{v6};
    if (percent == std::string_view::npos) return address;
    address.set_zone(zone_of(std::string{host.substr(percent + 1)}));
    if (!address.is_of_one_link() || address.zone() == 0) return std::nullopt;
    return address;
}

Result<std::string> resolve(const std::string& host) {
    if (const auto numeric = parse_address(host, 0)) return checked_host(*numeric);
    if (host.find('%') != std::string::npos)
        return Error{"the text before % must be a link-local address, and the text after it an interface of this host"};
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
        return checked_host(address);
    }
    return Error{"no IP address"};
}

std::string host_of(const Address& address) {
    std::array<char, INET6_ADDRSTRLEN> host{};
    const sockaddr_in v4 = address.v4();
    const bool six = address.family() == AF_INET6;
    const void* bytes = six ? static_cast<const void*>(&address.v6().sin6_addr) : &v4.sin_addr;
    ::inet_ntop(six ? AF_INET6 : AF_INET, bytes, host.data(), host.size());
    std::string text{host.data()};
    if (address.zone() > 0) text.append("%").append(to_text_of_zone(address.zone()));
    return text;
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

std::string interface_with(const Address& address) {
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) return "";
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner{all, ::freeifaddrs};
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != address.family()) continue;
        Address found;
        std::memcpy(found.room(), one->ifa_addr, address.length());
        if (same_host(found, address)) return one->ifa_name;
    }
    return "";
}

in6_addr to_bytes(const Address& address) {
    if (address.family() == AF_INET6) return address.v6().sin6_addr;
    const in_addr v4 = address.v4().sin_addr;
    in6_addr bytes{};
    bytes.s6_addr[10] = bytes.s6_addr[11] = 0xFF;
    std::memcpy(&bytes.s6_addr[12], &v4, sizeof v4);
    return bytes;
}

bool of_one_host(const Address& one, const Address& other) {
    const in6_addr here = to_bytes(one);
    const in6_addr there = to_bytes(other);
    return IN6_ARE_ADDR_EQUAL(&here, &there);
}

Address from_bytes(const in6_addr& bytes, std::uint16_t port) {
    if (IN6_IS_ADDR_V4MAPPED(&bytes)) {
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        v4.sin_port = htons(port);
        std::memcpy(&v4.sin_addr, &bytes.s6_addr[12], sizeof v4.sin_addr);
        return v4;
    }
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    v6.sin6_addr = bytes;
    return v6;
}

}  // namespace tacholog
