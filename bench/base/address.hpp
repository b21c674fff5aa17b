// IP addresses as text, "127.0.0.1:7420", "[::1]:7420" or "[fe80::1%eth0]:7420", and as the kernel wants them.
#pragma once

#include <netinet/in.h>

#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace tacholog {

/// An address of either family, and a port.
class Address {
public:
    Address() = default;
    Address(const sockaddr_in& address) { std::memcpy(&address_, &address, sizeof address); }
    Address(const sockaddr_in6& address) : address_(address) {}

    int family() const { return address_.sin6_family; }
    std::uint16_t port() const { return ntohs(address_.sin6_port); }
    socklen_t length() const { return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in); }

    /// Of the family AF_INET.
    sockaddr_in v4() const {
        sockaddr_in address{};
        std::memcpy(&address, &address_, sizeof address);
        return address;
    }
    const sockaddr_in6& v6() const { return address_; }

    /// Whether it says nothing without its zone: the same one may be on each network that this host is on.
    bool is_of_one_link() const {
        return family() == AF_INET6 &&
               (IN6_IS_ADDR_LINKLOCAL(&address_.sin6_addr) || IN6_IS_ADDR_MC_LINKLOCAL(&address_.sin6_addr));
    }
    /// The index of the interface to that network; 0: none is named.
    std::uint32_t zone() const { return family() == AF_INET6 ? address_.sin6_scope_id : 0; }
    void set_zone(std::uint32_t interface) {
        if (family() == AF_INET6) address_.sin6_scope_id = interface;
    }

    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }

    /// Where the kernel may write one, with so many bytes at most.
    sockaddr* room() { return reinterpret_cast<sockaddr*>(&address_); }
    static constexpr socklen_t room_bytes = sizeof(sockaddr_in6);

private:
    sockaddr_in6 address_{};  // the larger one; family and port lie at the same offsets in both
};

/// Numeric only, an IPv6 address with or without brackets, one of a single link with its zone: "fe80::1%eth0".
std::optional<Address> parse_address(std::string_view host, int port);

/// The first address of a host, as numbers (but the zone): a name goes through the system's resolver, which takes the
/// time it takes.
Result<std::string> resolve(const std::string& host);

/// The address alone, without brackets, with its zone.
std::string host_of(const Address& address);

std::string to_text(const Address& address);

/// The address a socket is bound to, as the kernel knows it.
Address local_address(const Fd& socket);

/// The network interface that has this address; empty if none has.
std::string interface_with(const Address& address);

/// Whether both are of one host: zones and ports aside, IPv4 being what it is in an IPv6 address that stands for it.
bool of_one_host(const Address& one, const Address& other);

/// Either family in sixteen bytes, IPv4 as the IPv6 address that stands for it (::ffff:192.0.2.1), and back.
in6_addr to_bytes(const Address& address);
Address from_bytes(const in6_addr& bytes, std::uint16_t port);

}  // namespace tacholog
