// Where the CPUs of the two sides are: whether they share a core, a cache or a NUMA node, and how long a cache line
// takes from one CPU to the other. Results over shared memory depend more on the place of the CPUs than on the code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/placement.hpp"

namespace tacholog {

/// The closest thing that both CPUs share.
enum class CpuRelation : std::uint8_t {
    unknown,       ///< the kernel does not tell
    unpinned,      ///< a side may run on several CPUs
    one_cpu,       ///< both sides run on the same CPU
    siblings,      ///< two hardware threads of one core
    shared_cache,  ///< two cores that share a cache
    one_node,      ///< two cores of one NUMA node that share no cache
    two_nodes,
    two_hosts,
    mixed,  ///< not the same for all subscribers
};

struct MeasuringCpus {
    CpuRelation relation = CpuRelation::unknown;
    int cache_level = -1;  ///< of the smallest cache that both CPUs share; 0: they share none; -1: unknown
    int publisher_node = -1;
    int subscriber_node = -1;
    std::int64_t cache_line_ps = -1;  ///< how long a cache line takes from one CPU to the other; -1: not measured
};

/// What the kernel says about two CPUs of this host. `root` is the folder that contains /sys.
MeasuringCpus compare_cpus(int publisher, int subscriber, const std::string& root = "");

/// Returns half of the median round trip of a cache line to this CPU, measured for 10 ms. Returns nothing if no thread
/// of this process gets that CPU within a second.
std::optional<std::int64_t> measure_cache_line_ps(int cpu);

/// Also measures how long a cache line takes from the publisher to the first subscriber, if each of the two has one
/// CPU. The publisher must be the caller.
MeasuringCpus find_measuring_cpus(const SideCpus& publisher, const std::vector<SideCpus>& subscribers);

std::string_view to_text(CpuRelation relation);

}  // namespace tacholog
