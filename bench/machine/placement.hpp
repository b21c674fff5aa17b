// Chooses the CPUs for the rig's own work (watching the control channel and writing results), if there are CPUs that
// the measurement does not need.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace tacholog {

/// The CPUs of one side of a run, as this side reports them.
struct SideCpus {
    std::string host;  ///< identifies the boot of its host; it is equal on both sides if they run on the same host
    std::vector<int> allowed;   ///< the CPUs that the side could use before it was pinned
    std::vector<int> achieved;  ///< the CPUs on which the side measures
    std::size_t threads = 1;    ///< threads that measure on these CPUs
};

/// Where and when one side does the rig's own work.
struct Placement {
    bool live = false;    ///< true: the work is done during a phase; false: work that can wait is done after the phase
    bool shared = false;  ///< measuring threads share CPUs, so a waiting thread yields its CPU
    std::vector<int> reporting;  ///< the CPUs for this work; empty: any CPU
};

/// `all` contains every side of the run that is known so far.
Placement choose_placement(const SideCpus& own, const std::vector<SideCpus>& all);

/// The text is one line.
std::string to_text(const SideCpus& cpus);
Result<SideCpus> parse_side_cpus(std::string_view text);

/// This text identifies the current boot of this host.
std::string boot_identity();

}  // namespace tacholog
