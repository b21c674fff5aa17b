// Carries out a run, with its sides, its processes or threads, its log and its exit status.
#pragma once

#include "cli/options.hpp"
#include "reporters/events.hpp"
#include "transports/transport.hpp"

namespace tacholog {

/// Returns the exit status: 0 measured, 1 failed, 2 not possible with these options.
int run(const Options& options, const Build& build);

}  // namespace tacholog
