// Busy polling as in perftest: it yields the CPU if it takes longer than any answer. Otherwise, on a busy machine, both
// would measure time slices.
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
