// UDP ports that one side chooses at random, for a socket of the other side or for a multicast group. They lie below
// the range from which Linux chooses free ports. DDS does not use them either: it has a block of 250 ports for each
// domain, starting at 7400, and its participants use two ports each from the beginning of a block (DDSI-RTPS 2.5,
// 9.6.2.3), often for all addresses of a host.
#pragma once

#include <cstdint>

namespace tacholog {

/// The purpose of a port. Multicast groups may share a port with each other, but not with anything else.
enum class Meeting : std::uint8_t { group, door };

/// Returns one of a few thousand ports. `number` is random, or is made from a name.
constexpr std::uint16_t meeting_port(Meeting meeting, std::uint64_t number) {
    constexpr unsigned block_ports = 250;
    constexpr unsigned first_block = 7400 + 51 * block_ports;  // 20150
    constexpr unsigned blocks = 50;                            // the last block ends at port 32649, below 32768
    constexpr unsigned ports = 50;                             // the number of ports in each block for each purpose
    constexpr unsigned first_port = 150;  // DDS uses the ports below it, for the 70 participants of a domain
    const auto block = static_cast<unsigned>(number / ports % blocks);
    const unsigned offset = first_port + (meeting == Meeting::door ? ports : 0) + static_cast<unsigned>(number % ports);
    return static_cast<std::uint16_t>(first_block + block * block_ports + offset);
}

}  // namespace tacholog
