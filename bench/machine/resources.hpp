// The resources that a side used, and the network path that the bytes really took; both are counted by the kernel.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/case.hpp"
#include "base/clock.hpp"

namespace tacholog {

/// The resources that one role used during one case, including the warm-up.
struct Resources {
    std::string role;
    Case measured;
    Nanoseconds duration_ns = 0;
    Nanoseconds user_ns = 0;
    Nanoseconds system_ns = 0;
    std::uint64_t voluntary_switches = 0;
    std::uint64_t involuntary_switches = 0;
    std::uint64_t peak_memory_bytes = 0;
    bool peak_is_own = false;  ///< if false, the value includes the peak of the program that started this one
    std::string participant = {};
};

struct PathCounter {
    std::string key;
    std::uint64_t count = 0;
};
using PathCounters = std::vector<PathCounter>;

/// The network counters of the kernel: their increase during the run.
struct Path {
    PathCounters counters;
};

enum class UsageOf { process, thread };

/// Measures the resources used since this object was created.
class Usage {
public:
    explicit Usage(UsageOf whose);

    /// Returns the resources used so far. The role and the case are left empty.
    Resources so_far() const;

private:
    UsageOf whose_;
    Nanoseconds start_ns_;
    Resources before_;
};

/// The largest resident set of this process since its program was started; nothing if the kernel does not report it.
std::optional<std::uint64_t> peak_memory_bytes();

/// The time of the program with all its threads, in steps of 10 ms; nothing if the program does not exist.
std::optional<Nanoseconds> processor_time_of(pid_t program);

/// The counters of IP, UDP and TCP in this network namespace; empty if they cannot be read.
PathCounters read_path_counters();

Path path_between(const PathCounters& before, const PathCounters& after);

}  // namespace tacholog
