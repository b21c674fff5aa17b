// Kernel features that a user may request for both sides of a run: a real-time priority for the measuring threads,
// memory that is never paged out, memory of one NUMA node. By default, perftest uses none of them.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"

namespace tacholog {

struct Tuning {
    std::optional<int> realtime;  ///< a priority of SCHED_FIFO
    bool lock_memory = false;
    std::optional<int> numa_node;

    /// The text for the log; "none" if nothing was requested. Its words and their order are always the same, because
    /// the logs of runs are compared by this text.
    std::string text() const;
};

/// The monitor's thread needs the next higher priority (see monitor.cpp).
inline constexpr int highest_realtime = 98;

/// The error is one line. This function changes nothing.
Result<void> can_apply(const Tuning& tuning);

/// The priority and the NUMA node apply to the calling thread and to the threads that it starts later. The memory lock
/// applies to the whole process. A forked process inherits everything except the lock.
Result<void> apply(const Tuning& tuning);

}  // namespace tacholog
