// A run: sides, processes or threads, log, exit status.
#pragma once

#include "cli/options.hpp"
#include "reporters/events.hpp"
#include "transports/transport.hpp"

namespace tacholog {

/// Runs what the options ask for and returns the exit status: 0 measured, 1 failed, 2 cannot be done as asked.
int run(const Options& options, const Build& build);

}  // namespace tacholog
