// Checks which network path the data took. Compares the network counters of the kernel with the number of payload bytes
// of the run.
#pragma once

#include "reporters/events.hpp"
#include "transports/transport.hpp"

namespace tacholog {

std::string_view to_text(Way way);

/// Whether the counters agree with the expected path. They also include the control channel and all other programs of
/// the network namespace. Therefore a run with less than 1 MiB of payload is not judged.
WayTaken way_taken(Way expected, const Path& path, std::uint64_t carried_bytes);

/// A text for the log; empty if the counters agree with the path, or if this cannot be decided.
std::string words_of_fallback(const WayTaken& way);

}  // namespace tacholog
