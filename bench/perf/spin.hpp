// Busy polling by hand. Gives the CPU away once it took longer than any answer takes, as perftest does: on a machine
// that is not quiet, both would otherwise measure time slices.
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
