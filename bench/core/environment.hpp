// What is known of the machine, read from the machine and never typed. What cannot be read is left unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/events.hpp"
#include "core/result.hpp"

namespace tacholog {

Host read_host();
Load read_load(bool at_end);

/// The memory that this process can still get, of the machine and of its control groups, as far as the kernel tells:
/// page cache is given back for it. `root` is where /proc and /sys are.
std::optional<std::uint64_t> available_memory_bytes(const std::string& root = "");

/// What the control group of this folder, of version 1 or 2, leaves of its memory; nothing if it has no limit.
std::optional<std::uint64_t> memory_left_in_group(const std::string& folder);

/// The CPUs that the calling thread may run on.
std::vector<int> allowed_cpus();

/// Whether `pin` would succeed: a CPU that is not there is a wrong option, and to be told before anything is measured.
Result<void> can_pin(const std::string& role, const std::vector<int>& cpus);

/// Lets the calling thread run on these CPUs only; on any if the list is empty. Returns what the kernel says it did.
Result<Affinity> pin(const std::string& role, const std::vector<int>& cpus);

}  // namespace tacholog
