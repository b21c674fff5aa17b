// A witness for the way that the data took: what the kernel counted on its network paths, beside what was carried.
#pragma once

#include "reporters/events.hpp"
#include "transports/transport.hpp"

namespace tacholog {

std::string_view to_text(Way way);

/// Whether the counters agree with the way that a transport expects its data to take. They count the control channel
/// and every other program of the network namespace too, so that nothing is said of less than 1 MiB.
WayTaken way_taken(Way expected, const Path& path, std::uint64_t carried_bytes);

/// What the log says in words where they do not agree; empty where they do, or where nothing can be told.
std::string words_of_fallback(const WayTaken& way);

}  // namespace tacholog
