// What a side used of its machine, and which way the bytes really went, both as the kernel counted them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/case.hpp"
#include "base/clock.hpp"

namespace tacholog {

/// What one role used during one case, warm-up included.
struct Resources {
    std::string role;
    Case measured;
    Nanoseconds duration_ns = 0;
    Nanoseconds user_ns = 0;
    Nanoseconds system_ns = 0;
    std::uint64_t voluntary_switches = 0;
    std::uint64_t involuntary_switches = 0;
    std::uint64_t peak_memory_bytes = 0;
    bool peak_is_own = false;  ///< else it is at least that of the program which started this one
    std::string participant = {};
};

struct PathCounter {
    std::string key;
    std::uint64_t count = 0;
};
using PathCounters = std::vector<PathCounter>;

/// What the kernel counted on its network paths during the run.
struct Path {
    PathCounters counters;
};

enum class UsageOf { process, thread };

/// What has been used since this was made.
class Usage {
public:
    explicit Usage(UsageOf whose);

    /// Everything but the role and the case. Peak memory is at least that of the program which started this one.
    Resources so_far() const;

private:
    UsageOf whose_;
    Nanoseconds start_ns_;
    Resources before_;
};

/// The largest resident set of this process since its program was started; nothing if the kernel does not tell.
std::optional<std::uint64_t> peak_memory_bytes();

/// The processor time that a program has used so far, with all its threads, in steps of 10 ms; nothing if it is not
/// there.
std::optional<Nanoseconds> processor_time_of(pid_t program);

/// The kernel's counters of UDP and TCP in this network namespace; empty where they cannot be read.
PathCounters read_path_counters();

/// What has been counted between two readings.
Path path_between(const PathCounters& before, const PathCounters& after);

}  // namespace tacholog
