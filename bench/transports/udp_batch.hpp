// Best-effort UDP in batches: each message is a datagram of its own, as without them, and is lost alone or not at all;
// but one system call takes many. Where the kernel has it, those that are alike pass through it as one, to be cut apart
// at the network card or by the receiver (UDP_SEGMENT and UDP_GRO); else they share the call (sendmmsg, recvmmsg).
#pragma once

#include <memory>

#include "base/fd.hpp"
#include "transports/transport.hpp"

namespace tacholog {

/// `socket` is connected to the subscriber at `peer`, who drew `stream`. A message fits one datagram.
std::unique_ptr<Publisher> batched_udp_publisher(Fd socket, std::uint64_t stream, const Topic& topic, std::string peer);

/// `socket` is bound.
std::unique_ptr<Subscriber> batched_udp_subscriber(Fd socket, std::uint64_t stream, const Topic& topic);

}  // namespace tacholog
