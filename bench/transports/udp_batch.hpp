// Best-effort UDP in batches. Each message is still a datagram of its own, and may be lost alone, but one system call
// sends or receives many. If the kernel supports it, datagrams of equal length pass through it as one, and are cut
// apart at the network card or by the receiver (UDP_SEGMENT and UDP_GRO). Otherwise they only share the system call
// (sendmmsg, recvmmsg).
#pragma once

#include <memory>

#include "base/fd.hpp"
#include "transports/transport.hpp"

namespace tacholog {

/// `socket` must be connected to the subscriber at `peer`, which has chosen `stream`. Each message must fit into one
/// datagram.
std::unique_ptr<Publisher> batched_udp_publisher(Fd socket, std::uint64_t stream, const Topic& topic, std::string peer);

/// `socket` must be bound.
std::unique_ptr<Subscriber> batched_udp_subscriber(Fd socket, std::uint64_t stream, const Topic& topic);

}  // namespace tacholog
