// How the rig waits for the other side: busy polling. It spins for a bounded while, then gives the CPU away at every
// turn, so that two sides that share one core still make progress.
#pragma once

#include <sched.h>

#include "core/clock.hpp"

namespace tacholog {

/// Tells the CPU that this is a spin loop.
inline void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

class BusyPoll {
public:
    explicit BusyPoll(Patience patience) : patience_(patience) {}

    /// Waits one turn. False once the patience is used up (at the first turn if there was none).
    bool wait() {
        if (patience_.count() <= 0) return false;
        if (++turns_ <= spins_before_yield) {
            spin_pause();
            return true;
        }
        return wait_longer();
    }

private:
    // About 50 us: longer than any answer of a peer that has a core, shorter than a time slice.
    static constexpr int spins_before_yield = 1000;

    bool wait_longer() {
        if (deadline_ns_ == 0) deadline_ns_ = now_ns() + std::chrono::nanoseconds(patience_).count();
        ::sched_yield();
        return now_ns() < deadline_ns_;
    }

    Patience patience_;
    int turns_ = 0;
    Nanoseconds deadline_ns_ = 0;
};

}  // namespace tacholog
