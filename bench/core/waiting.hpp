// How a side waits for the other, or for its time: it polls without rest, it sleeps until the kernel wakes it, or it
// does the first for a while and then the second. Polling spins for a bounded while, then gives the CPU away at every
// turn, so that two sides that share one core still make progress.
#pragma once

#include <sched.h>

#include "core/clock.hpp"

namespace tacholog {

enum class Waiting { busy_poll, block, spin_then_block };

/// Whether a side may be asleep when something comes for it, and has to be woken.
inline bool sleeps(Waiting waiting) {
    return waiting != Waiting::busy_poll;
}

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
    // About 50 us: longer than any answer of a peer that has a core, shorter than a time slice.
    static constexpr int spins_before_yield = 1000;

    /// So many turns before it yields or sleeps: fewer where a turn costs more than a look at memory.
    explicit BusyPoll(Patience patience, Waiting waiting = Waiting::busy_poll, int spins = spins_before_yield)
        : patience_(patience), spins_(waiting == Waiting::block ? 0 : spins), sleeps_(sleeps(waiting)) {}

    /// Waits one turn. False once the patience is used up (at the first turn if there was none), or if it is time to
    /// sleep.
    bool wait() {
        if (patience_.count() <= 0) return false;
        if (++turns_ <= spins_) {
            spin_pause();
            return true;
        }
        return wait_longer();
    }

private:
    bool wait_longer() {
        if (sleeps_) return false;
        if (deadline_ns_ == 0) deadline_ns_ = now_ns() + to_nanoseconds(patience_);
        ::sched_yield();
        return now_ns() < deadline_ns_;
    }

    Patience patience_;
    int spins_;
    bool sleeps_;
    int turns_ = 0;
    Nanoseconds deadline_ns_ = 0;
};

/// Who sleeps wakes some microseconds late; who polls after sleeping wakes before the time by so much.
inline constexpr Nanoseconds polled_before_time_ns = 60'000;

/// Waits for a moment.
inline void wait_until(Nanoseconds time_ns, Waiting waiting) {
    if (waiting == Waiting::block) return sleep_until(time_ns);
    if (sleeps(waiting)) sleep_until(time_ns - polled_before_time_ns);
    BusyPoll poll{Patience{1}};
    while (now_ns() < time_ns) poll.wait();
}

}  // namespace tacholog
