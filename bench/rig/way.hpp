// Checks which network path the data took: compares the network counters of the kernel with the number of bytes that
// were carried.
#pragma once

#include "reporters/events.hpp"
#include "transports/transport.hpp"

namespace tacholog {

std::string_view to_text(Way way);

/// Whether the counters agree with the path that a transport expects. The counters also include the control channel and
/// every other program of the network namespace. So less than 1 MiB is not judged.
WayTaken way_taken(Way expected, const Path& path, std::uint64_t carried_bytes);

/// A text for the log if the counters do not agree with the path; empty if they do, or if this cannot be decided.
std::string words_of_fallback(const WayTaken& way);

}  // namespace tacholog
