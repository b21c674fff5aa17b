// UDP ports that one side draws and the other, or a group, is bound to. They lie below those that Linux gives to
// whoever asks for any, and where DDS puts nothing: it has a block of 250 ports for each domain from 7400 on, and
// participants take the first of each block, two for each (DDSI-RTPS 2.5, 9.6.2.3), often for all addresses of a host.
#pragma once

#include <cstdint>

namespace tacholog {

/// What the ports are for. Groups may share a port with each other, but with nobody else.
enum class Meeting : std::uint8_t { group, door };

/// One of a few thousand ports, by a number that is drawn or made of a name.
constexpr std::uint16_t meeting_port(Meeting meeting, std::uint64_t number) {
    constexpr unsigned block_ports = 250;
    constexpr unsigned first_block = 7400 + 51 * block_ports;  // 20150
    constexpr unsigned blocks = 50;                            // the last one ends at 32649, below 32768
    constexpr unsigned ports = 50;                             // of each block, for each kind of meeting
    constexpr unsigned first_port = 150;                       // more than the 70 participants of a domain before it
    const auto block = static_cast<unsigned>(number / ports % blocks);
    const unsigned offset = first_port + (meeting == Meeting::door ? ports : 0) + static_cast<unsigned>(number % ports);
    return static_cast<std::uint16_t>(first_block + block * block_ports + offset);
}

}  // namespace tacholog
