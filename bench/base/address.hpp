// IP addresses as text ("127.0.0.1:7420", "[::1]:7420" or "[fe80::1%eth0]:7420") and as the structs that system calls
// take.
#pragma once

#include <netinet/in.h>

#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace tacholog {

/// An IPv4 or IPv6 address, and a port.
class Address {
public:
    Address() = default;
    Address(const sockaddr_in& address) { std::memcpy(&address_, &address, sizeof address); }
    Address(const sockaddr_in6& address) : address_(address) {}

    int family() const { return address_.sin6_family; }
    std::uint16_t port() const { return ntohs(address_.sin6_port); }
    socklen_t length() const { return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in); }

    /// The address must be of the family AF_INET.
    sockaddr_in v4() const {
        sockaddr_in address{};
        std::memcpy(&address, &address_, sizeof address);
        return address;
    }
    const sockaddr_in6& v6() const { return address_; }

    /// A link-local address needs its zone, because the same address may exist on each network of this host.
    bool is_of_one_link() const {
        return family() == AF_INET6 &&
               (IN6_IS_ADDR_LINKLOCAL(&address_.sin6_addr) || IN6_IS_ADDR_MC_LINKLOCAL(&address_.sin6_addr));
    }
    /// Returns the index of the interface that the address names; 0 if the address names no interface.
    std::uint32_t zone() const { return family() == AF_INET6 ? address_.sin6_scope_id : 0; }
    void set_zone(std::uint32_t interface) {
        if (family() == AF_INET6) address_.sin6_scope_id = interface;
    }

    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }

    /// The memory into which a system call can write an address, of at most `room_bytes` bytes.
    sockaddr* room() { return reinterpret_cast<sockaddr*>(&address_); }
    static constexpr socklen_t room_bytes = sizeof(sockaddr_in6);

private:
    sockaddr_in6 address_{};  // the larger struct; both have family and port at the same offsets
};

/// Accepts only numeric addresses: IPv4, or IPv6 with or without brackets. A link-local address may have a zone:
/// "fe80::1%eth0".
std::optional<Address> parse_address(std::string_view host, int port);

/// The first address of a host, in numeric form (its zone may be a name). A host name is looked up by the system's
/// resolver; there is no time limit for that.
Result<std::string> resolve(const std::string& host);

/// The address without port and brackets, but with its zone.
std::string host_of(const Address& address);

std::string to_text(const Address& address);

Address local_address(const Fd& socket);

/// Returns an empty text if no interface has this address.
std::string interface_with(const Address& address);

/// Returns whether two addresses are the same, without their zones and ports. An IPv4 address is the same as its
/// IPv4-mapped IPv6 address.
bool of_one_host(const Address& one, const Address& other);

/// An IPv4 address becomes its IPv4-mapped IPv6 address (::ffff:192.0.2.1).
in6_addr to_bytes(const Address& address);
Address from_bytes(const in6_addr& bytes, std::uint16_t port);

}  // namespace tacholog
