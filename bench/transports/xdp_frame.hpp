// Writes and reads Ethernet frames with a UDP datagram in them, because this transport bypasses the IP stack of the
// kernel.
#pragma once

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/address.hpp"

namespace tacholog {

/// The source or destination of a frame. Both have the same address family.
struct XdpAddress {
    std::array<std::uint8_t, ETH_ALEN> mac{};
    Address host;
};

struct [[gnu::packed]] UdpFrame {
    ether_header ethernet;
    iphdr ip;
    udphdr udp;
};

struct [[gnu::packed]] UdpFrameV6 {
    ether_header ethernet;
    ip6_hdr ip;
    udphdr udp;
};

/// The size of all headers before the payload.
inline constexpr std::size_t header_bytes(int family) {
    return family == AF_INET6 ? sizeof(UdpFrameV6) : sizeof(UdpFrame);
}

/// The payload size at an MTU of 1500.
inline constexpr std::size_t frame_payload(int family) {
    return 1500 + sizeof(ether_header) - header_bytes(family);
}

inline constexpr std::size_t largest_frame = 1500 + sizeof(ether_header);

/// Adds the bytes to `sum` as 16-bit words, as in the checksums of IP (RFC 1071).
inline std::uint64_t sum_of_words(std::span<const std::byte> bytes, std::uint64_t sum = 0) {
    std::uint32_t word = 0;  // adds two words at a time, and the carries at the end
    std::size_t at = 0;
    for (; at + sizeof word <= bytes.size(); at += sizeof word) {
        std::memcpy(&word, bytes.data() + at, sizeof word);
        sum += word;
    }
    word = 0;
    if (at < bytes.size()) std::memcpy(&word, bytes.data() + at, bytes.size() - at);
    return sum + word;
}

inline std::uint16_t checksum_of(std::uint64_t sum) {
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

inline ether_header ethernet_header(const XdpAddress& from, const XdpAddress& to, std::uint16_t type) {
    ether_header ethernet{};
    std::memcpy(ethernet.ether_dhost, to.mac.data(), to.mac.size());
    std::memcpy(ethernet.ether_shost, from.mac.data(), from.mac.size());
    ethernet.ether_type = htons(type);
    return ethernet;
}

inline udphdr udp_header(const XdpAddress& from, const XdpAddress& to, std::size_t bytes) {
    udphdr udp{};
    udp.source = htons(from.host.port());
    udp.dest = htons(to.host.port());
    udp.len = htons(static_cast<std::uint16_t>(sizeof(udphdr) + bytes));
    return udp;
}

/// The UDP checksum is omitted, because Ethernet has its own checksum. IPv4 allows this.
inline void write_headers_v4(std::byte* frame, const XdpAddress& from, const XdpAddress& to, std::size_t bytes) {
    iphdr ip{};
    ip.version = 4;
    ip.ihl = sizeof ip / 4;
    ip.ttl = 64;
    ip.frag_off = htons(IP_DF);
    ip.protocol = IPPROTO_UDP;
    ip.saddr = from.host.v4().sin_addr.s_addr;
    ip.daddr = to.host.v4().sin_addr.s_addr;
    ip.tot_len = htons(static_cast<std::uint16_t>(sizeof(iphdr) + sizeof(udphdr) + bytes));
    ip.check = checksum_of(sum_of_words(std::as_bytes(std::span{&ip, 1})));
    const UdpFrame headers{ethernet_header(from, to, ETHERTYPE_IP), ip, udp_header(from, to, bytes)};
    std::memcpy(frame, &headers, sizeof headers);
}

/// The UDP checksum is included, because IPv6 requires it. So the payload must be written before the headers.
inline void write_headers_v6(std::byte* frame, const XdpAddress& from, const XdpAddress& to, std::size_t bytes) {
    ip6_hdr ip{};
    ip.ip6_flow = htonl(6U << 28);
    ip.ip6_plen = htons(static_cast<std::uint16_t>(sizeof(udphdr) + bytes));
    ip.ip6_nxt = IPPROTO_UDP;
    ip.ip6_hlim = 64;
    ip.ip6_src = from.host.v6().sin6_addr;
    ip.ip6_dst = to.host.v6().sin6_addr;
    udphdr udp = udp_header(from, to, bytes);
    std::uint64_t sum = std::uint64_t{udp.len} + htons(IPPROTO_UDP);
    sum = sum_of_words(std::as_bytes(std::span{&ip.ip6_src, 1}), sum);
    sum = sum_of_words(std::as_bytes(std::span{&ip.ip6_dst, 1}), sum);
    sum = sum_of_words(std::as_bytes(std::span{&udp, 1}), sum);
    udp.check = checksum_of(sum_of_words({frame + sizeof(UdpFrameV6), bytes}, sum));
    if (udp.check == 0) udp.check = 0xffff;  // 0 would mean that there is no checksum
    const UdpFrameV6 headers{ethernet_header(from, to, ETHERTYPE_IPV6), ip, udp};
    std::memcpy(frame, &headers, sizeof headers);
}

inline void write_headers(std::byte* frame, const XdpAddress& from, const XdpAddress& to, std::size_t bytes) {
    to.host.family() == AF_INET6 ? write_headers_v6(frame, from, to, bytes) : write_headers_v4(frame, from, to, bytes);
}

/// Returns the payload without the padding of short frames. It is empty if the lengths are not those of a UDP datagram.
inline std::span<const std::byte> carried(std::span<const std::byte> frame, int family) {
    const std::size_t headers = header_bytes(family);
    if (frame.size() < headers) return {};
    udphdr udp{};
    std::memcpy(&udp, frame.data() + headers - sizeof udp, sizeof udp);
    const std::size_t length = ntohs(udp.len);
    if (length < sizeof udp || headers - sizeof udp + length > frame.size()) return {};
    return frame.subspan(headers, length - sizeof udp);
}

}  // namespace tacholog
