// Facts about the machine, always read from the machine itself, never entered by the user. A fact that cannot be read
// stays unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tacholog {

/// Facts about this machine. A fact is empty if it could not be read.
struct Host {
    std::string name;
    std::string kernel;
    std::string distribution;
    std::string cpu_model;
    std::optional<long> cpus_online;
    std::optional<long> threads_per_core;
    std::optional<std::uint64_t> memory_bytes;
    std::string governor;
    std::string isolated_cpus;  ///< "none" if the kernel isolates none
    std::string idle_driver;
    std::string idle_states;               ///< of the first CPU, for example "POLL, C1, C6 (off)"
    std::string turbo;                     ///< on or off
    std::string transparent_huge_pages;    ///< for memory that is not shared: always, madvise or never
    std::string shared_memory_huge_pages;  ///< for shared memory: always, within_size, advise, never, deny or force
    /// The time that real-time threads may run, as "950000 of 1000000 us"; "none": no limit.
    std::string realtime_throttling;
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
    std::string requested;  ///< the CPUs that the user asked for; empty: the user did not ask for any
    std::string achieved;
    /// The name of the participant, such as "sub2"; empty if there is only one publisher or subscriber. The field
    /// `participant` of other structs has the same meaning.
    std::string participant = {};
};

Host read_host();
Load read_load(bool at_end);

/// The smallest limit of the machine and of the control groups of this process, as far as the kernel reports them. Page
/// cache counts as available, because the kernel frees it. `root` is the folder that contains /proc and /sys.
std::optional<std::uint64_t> available_memory_bytes(const std::string& root = "");

/// The control group may be of version 1 or 2. Returns nothing if it has no limit.
std::optional<std::uint64_t> memory_left_in_group(const std::string& folder);

/// The size of the shared memory that a process has mapped. Pages count only while they are in memory, not while they
/// are paged out.
struct SharedMemoryInUse {
    std::uint64_t bytes = 0;
    std::uint64_t huge_page_bytes = 0;  ///< how many of these bytes are in huge pages
};

/// Returns the shared memory that this process uses; nothing if this process has no shared memory, or if the kernel
/// does not report all numbers. `root` is the folder that contains /proc.
std::optional<SharedMemoryInUse> shared_memory_in_use(const std::string& root = "");

/// "0,2-4" gives 0, 2, 3 and 4.
Result<std::vector<int>> parse_cpus(std::string_view text);

/// The CPUs on which the calling thread may run.
std::vector<int> allowed_cpus();

/// Returns an error if `pin` would fail. A CPU that does not exist is a wrong option, and must be reported before any
/// measurement.
Result<void> can_pin(const std::string& role, const std::vector<int>& cpus);

/// Restricts the calling thread; does nothing if the list is empty. Returns the CPUs that the kernel reports
/// afterwards.
Result<Affinity> pin(const std::string& role, const std::vector<int>& cpus);

}  // namespace tacholog
