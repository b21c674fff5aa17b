// An Ethernet frame with a UDP datagram in it, as bytes: written and read here where the kernel's IP stack does not.
#pragma once

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace tacholog {

/// Where a frame comes from or goes to: the interface, the host, the port (both as on the wire).
struct XdpAddress {
    std::array<std::uint8_t, ETH_ALEN> mac{};
    std::uint32_t ip = 0;
    std::uint16_t port = 0;
};

struct [[gnu::packed]] UdpFrame {
    ether_header ethernet;
    iphdr ip;
    udphdr udp;
};

/// What a frame carries behind its headers, at an MTU of 1500.
inline constexpr std::size_t frame_payload = 1500 - sizeof(iphdr) - sizeof(udphdr);
inline constexpr std::size_t largest_frame = sizeof(UdpFrame) + frame_payload;

/// The checksum of an IPv4 header whose own checksum is 0 (RFC 1071).
inline std::uint16_t checksum(const iphdr& header) {
    std::array<std::uint16_t, sizeof(iphdr) / 2> words{};
    std::memcpy(words.data(), &header, sizeof header);
    std::uint32_t sum = 0;
    for (const auto word : words) sum += word;
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

/// Writes the headers of a frame that carries `bytes`. UDP's checksum is left out, as IPv4 allows: Ethernet has its
/// own.
inline void write_headers(std::byte* frame, const XdpAddress& from, const XdpAddress& to, std::size_t bytes) {
    UdpFrame headers{};
    std::memcpy(headers.ethernet.ether_dhost, to.mac.data(), to.mac.size());
    std::memcpy(headers.ethernet.ether_shost, from.mac.data(), from.mac.size());
    headers.ethernet.ether_type = htons(ETHERTYPE_IP);
    iphdr ip{};
    ip.version = 4;
    ip.ihl = sizeof ip / 4;
    ip.ttl = 64;
    ip.frag_off = htons(IP_DF);
    ip.protocol = IPPROTO_UDP;
    ip.saddr = from.ip;
    ip.daddr = to.ip;
    ip.tot_len = htons(static_cast<std::uint16_t>(sizeof(iphdr) + sizeof(udphdr) + bytes));
    ip.check = checksum(ip);
    headers.ip = ip;
    headers.udp.source = from.port;
    headers.udp.dest = to.port;
    headers.udp.len = htons(static_cast<std::uint16_t>(sizeof(udphdr) + bytes));
    std::memcpy(frame, &headers, sizeof headers);
}

/// What a frame carries, without the padding of short ones; nothing if its lengths are not those of a UDP datagram.
inline std::span<const std::byte> carried(std::span<const std::byte> frame) {
    if (frame.size() < sizeof(UdpFrame)) return {};
    UdpFrame headers{};
    std::memcpy(&headers, frame.data(), sizeof headers);
    const std::size_t length = ntohs(headers.udp.len);
    if (length < sizeof(udphdr) || sizeof(UdpFrame) - sizeof(udphdr) + length > frame.size()) return {};
    return frame.subspan(sizeof(UdpFrame), length - sizeof(udphdr));
}

}  // namespace tacholog
