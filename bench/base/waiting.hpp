// How a side waits for the other side, or for a point in time: it polls without a break, it sleeps until the kernel
// wakes it, or it polls for a while and then sleeps. Where the two sides share a core, polling spins for a limited time
// and then yields the CPU at every turn, so that both sides make progress.
#pragma once

#include <sched.h>

#include "base/clock.hpp"

namespace tacholog {

enum class Waiting { busy_poll, block, spin_then_block };

/// Whether a side may be asleep when a message arrives. The other side must then wake it.
inline bool sleeps(Waiting waiting) {
    return waiting != Waiting::busy_poll;
}

inline void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Whether polling yields the CPU after a long time without success. A transport yields, because it does not know which
/// other threads need the CPU. The rig does not yield if each measuring thread has a CPU of its own.
enum class Yield { yes, no };

class BusyPoll {
public:
    /// How long a side spins. A peer with its own core answers in less time. A time slice of the kernel is longer.
    static constexpr Nanoseconds spin_ns = 50'000;

    explicit BusyPoll(Patience patience, Waiting waiting = Waiting::busy_poll, Yield yield = Yield::yes)
        : patience_(patience), spins_(waiting != Waiting::block), sleeps_(sleeps(waiting)), yield_(yield) {}

    /// Waits one turn. Returns false if it is time to sleep, or if the patience is used up. A patience of 0 is used up
    /// at the first turn.
    bool wait() {
        if (patience_.count() <= 0) return false;
        if (spins_) {
            spin_pause();
            if (++turns_ % turns_a_look != 0) return true;
            return look();
        }
        return wait_longer();
    }

private:
    // The clock is not read at every turn. A turn that only spins takes 4 to 50 ns; a turn with a system call takes a
    // microsecond.
    static constexpr int turns_a_look = 32;

    bool look() {
        const Nanoseconds now = now_ns();
        if (start_ns_ == 0) start_ns_ = now;
        spins_ = now - start_ns_ < spin_ns;
        return true;
    }

    bool wait_longer() {
        if (sleeps_) return false;
        if (deadline_ns_ == 0) deadline_ns_ = now_ns() + to_nanoseconds(patience_);
        if (yield_ == Yield::yes) {
            ::sched_yield();
        } else {
            spin_pause();
        }
        return now_ns() < deadline_ns_;
    }

    Patience patience_;
    bool spins_;
    bool sleeps_;
    Yield yield_;
    int turns_ = 0;
    Nanoseconds start_ns_ = 0;  ///< approximate time at which polling began; 0: no check of the clock yet
    Nanoseconds deadline_ns_ = 0;
};

/// A sleeping thread wakes some microseconds late. A side that polls after its sleep is therefore woken this much
/// earlier.
inline constexpr Nanoseconds polled_before_time_ns = 60'000;

inline void wait_until(Nanoseconds time_ns, Waiting waiting, Yield yield = Yield::yes) {
    if (waiting == Waiting::block) return sleep_until(time_ns);
    if (sleeps(waiting)) sleep_until(time_ns - polled_before_time_ns);
    BusyPoll poll{Patience{1}, Waiting::busy_poll, yield};
    while (now_ns() < time_ns) poll.wait();
}

}  // namespace tacholog
