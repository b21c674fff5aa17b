// Which CPUs measure, and whether one is left for the rig's own work: watching the control channel and writing results.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace tacholog {

/// What one side of a run says of its CPUs.
struct SideCpus {
    std::string host;           ///< the boot of its host: alike on both sides if they share CPUs
    std::vector<int> allowed;   ///< before it was pinned
    std::vector<int> achieved;  ///< those that it measures on
    std::size_t threads = 1;    ///< that measure there
};

/// Where the rig's own work is done on a side.
struct Placement {
    bool live = false;           ///< whether it is done while a phase is measured; else what can wait is done after it
    bool shared = false;         ///< whether measuring threads share a CPU: a waiting one then gives it away
    std::vector<int> reporting;  ///< the CPUs for it; any, if there are none
};

/// The placement of one of the sides of a run, of which `all` are known.
Placement choose_placement(const SideCpus& own, const std::vector<SideCpus>& all);

/// As one line of text, and back.
std::string to_text(const SideCpus& cpus);
Result<SideCpus> parse_side_cpus(std::string_view text);

/// The boot of this host.
std::string boot_identity();

}  // namespace tacholog
