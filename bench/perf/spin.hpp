// Busy polling as in perftest: after a long wait, it yields the CPU. Otherwise, on a busy machine, the figures would
// show the time slices of the kernel.
#pragma once

#include <sched.h>

#include "base/waiting.hpp"

namespace tacholog::perf {

class Spin {
public:
    void wait() {
        constexpr int most_turns = 1000;
        if (++turns_ <= most_turns) {
            spin_pause();
        } else {
            ::sched_yield();
        }
    }

private:
    int turns_ = 0;
};

}  // namespace tacholog::perf
