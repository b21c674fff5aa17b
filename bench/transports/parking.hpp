// A word in shared memory (a futex) on which threads sleep until another thread wakes them. It is zero if no thread
// sleeps.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>

#include "base/waiting.hpp"

namespace tacholog {

class alignas(64) Parking {
public:
    static constexpr Nanoseconds longest_nap_ns = 50'000'000;

    /// Sleeps until `ready()` returns true. Calls `gone()` after each nap, and after each wake-up without a message,
    /// because a killed peer wakes nobody. Returns true if ready.
    template <typename Ready, typename Gone>
    bool park(Ready&& ready, Patience patience, Gone&& gone, Nanoseconds nap_ns) {
        const Nanoseconds deadline = now_ns() + to_nanoseconds(patience);
        for (Nanoseconds left = to_nanoseconds(patience); left > 0; left = deadline - now_ns()) {
            const std::uint32_t seen = state_.fetch_or(somebody_sleeps, std::memory_order_acq_rel) | somebody_sleeps;
            if (ready()) return true;
            sleep(seen, std::min(left, nap_ns));
            if (ready()) return true;
            if (gone()) return false;
        }
        return false;
    }

    /// Wakes all threads that sleep here. Call it after writing the data that they wait for. No wake-up is lost: a
    /// sleeping thread first sets its bit in the word, and then checks for the data; a waking thread first writes the
    /// data, and then checks the bit. Both change the same word, so at least one of them sees what the other has done.
    void wake() {
        if ((state_.fetch_and(~somebody_sleeps, std::memory_order_acq_rel) & somebody_sleeps) != 0) [[unlikely]]
            wake_all();
    }

private:
    // A thread sets this bit of the word before it sleeps. The other bits are a counter of wake-ups. Without the
    // counter, a thread could miss a wake-up that comes just before the thread sleeps: the wake-up clears the bit, but
    // a second thread may set the bit again at once. The word would then look unchanged.
    static constexpr std::uint32_t somebody_sleeps = 1;
    static constexpr std::uint32_t one_wake = 2;

    void wake_all() {
        state_.fetch_add(one_wake, std::memory_order_acq_rel);
        ::syscall(SYS_futex, word(), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    }
    void sleep(std::uint32_t seen, Nanoseconds time_ns) {
        const timespec time{time_ns / nanoseconds_per_second, time_ns % nanoseconds_per_second};
        ::syscall(SYS_futex, word(), FUTEX_WAIT, seen, &time, nullptr, 0);
    }
    std::uint32_t* word() { return reinterpret_cast<std::uint32_t*>(&state_); }

    std::atomic<std::uint32_t> state_{0};
};

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

/// Waits until `ready()` returns true, and returns true then. `waiting` decides whether the caller polls or sleeps
/// meanwhile. Returns false if the wait takes longer than `patience`, or if `gone()` returns true.
template <typename Ready, typename Gone>
bool wait_for(Ready&& ready, Waiting waiting, Patience patience, Parking& parking, Gone&& gone,
              Nanoseconds nap_ns = Parking::longest_nap_ns) {
    for (BusyPoll poll{patience, waiting}; poll.wait();) {
        if (ready()) return true;
    }
    return sleeps(waiting) && parking.park(ready, patience, gone, nap_ns);
}

}  // namespace tacholog
