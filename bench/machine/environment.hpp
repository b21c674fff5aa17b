// What is known of the machine, read from the machine and never typed. What cannot be read is left unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tacholog {

/// This machine. What could not be read is empty.
struct Host {
    std::string name;
    std::string kernel;
    std::string distribution;
    std::string cpu_model;
    std::optional<long> cpus_online;
    std::optional<long> threads_per_core;
    std::optional<std::uint64_t> memory_bytes;
    std::string governor;
    std::string isolated_cpus;  ///< a list; "none" if the kernel isolates none
    std::string idle_driver;
    std::string idle_states;             ///< of the first CPU, as "POLL, C1, C6 (off)"
    std::string turbo;                   ///< on or off
    std::string transparent_huge_pages;  ///< always, madvise or never
    std::string virtualisation;
    std::string clocksource;
    std::optional<bool> mitigations_off;
};

struct Load {
    bool at_end = false;
    double load1 = 0;
    double load5 = 0;
    double load15 = 0;
};

struct Affinity {
    std::string role;
    std::string requested;  ///< empty: nothing was asked for
    std::string achieved;
    std::string participant = {};  ///< which of several publishers or subscribers; so below
};

Host read_host();
Load read_load(bool at_end);

/// The memory that this process can still get, of the machine and of its control groups, as far as the kernel tells:
/// page cache is given back for it. `root` is where /proc and /sys are.
std::optional<std::uint64_t> available_memory_bytes(const std::string& root = "");

/// What the control group of this folder, of version 1 or 2, leaves of its memory; nothing if it has no limit.
std::optional<std::uint64_t> memory_left_in_group(const std::string& folder);

/// "0,2-4" -> 0 2 3 4.
Result<std::vector<int>> parse_cpus(std::string_view text);

/// The CPUs that the calling thread may run on.
std::vector<int> allowed_cpus();

/// Whether `pin` would succeed: a CPU that is not there is a wrong option, and to be told before anything is measured.
Result<void> can_pin(const std::string& role, const std::vector<int>& cpus);

/// Lets the calling thread run on these CPUs only; on any if the list is empty. Returns what the kernel says it did.
Result<Affinity> pin(const std::string& role, const std::vector<int>& cpus);

}  // namespace tacholog
