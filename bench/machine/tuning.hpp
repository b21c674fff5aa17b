// What a user may ask of the kernel for both sides of a run: a real-time priority for what measures, memory that is
// never paged out, memory of one NUMA node. perftest asks for none of it by itself.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"

namespace tacholog {

struct Tuning {
    std::optional<int> realtime;  ///< a priority of SCHED_FIFO
    bool lock_memory = false;
    std::optional<int> numa_node;

    /// In the same order and words each time, "none" without any: logs of runs are compared by it.
    std::string text() const;
};

/// The highest priority that --realtime takes: the monitor's thread has the next one (see monitor.cpp).
inline constexpr int highest_realtime = 98;

/// An error in one line if this process may not have all of it. Nothing has changed afterwards.
Result<void> can_apply(const Tuning& tuning);

/// For the thread that calls it and those that it starts from then on: the priority, and where their memory comes from.
/// For the whole process: that memory is locked. A forked process inherits everything but the lock.
Result<void> apply(const Tuning& tuning);

}  // namespace tacholog
