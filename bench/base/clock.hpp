// The only clock of the rig: CLOCK_MONOTONIC in nanoseconds. The wall clock is read only to note the time of the run.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>
#include <utility>

namespace tacholog {

using Nanoseconds = std::int64_t;
/// A waiting time in milliseconds. It may have a fraction, because an open loop may wait for less than one millisecond.
using Patience = std::chrono::duration<double, std::milli>;

inline constexpr Nanoseconds nanoseconds_per_second = 1'000'000'000;

inline Nanoseconds now_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<Nanoseconds>(time.tv_sec) * nanoseconds_per_second + time.tv_nsec;
}

inline Nanoseconds to_nanoseconds(double seconds) {
    return static_cast<Nanoseconds>(seconds * static_cast<double>(nanoseconds_per_second));
}

inline Nanoseconds to_nanoseconds(Patience patience) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(patience).count();
}

/// Signals do not end the sleep.
void sleep_until(Nanoseconds time_ns);

/// Without this call, the kernel may lengthen each sleep of this thread by 50 us.
void wake_on_time();

/// A point in time by which a wait must be over.
class Deadline {
public:
    explicit Deadline(Patience patience) : at_ns_(now_ns() + to_nanoseconds(patience)) {}

    bool passed() const { return now_ns() >= at_ns_; }

    /// The result is in whole milliseconds, rounded up, because a poll() that waits 0 ms would spin.
    Patience left() const { return Patience{std::max<Nanoseconds>(0, (at_ns_ - now_ns() + 999'999) / 1'000'000)}; }

private:
    Nanoseconds at_ns_;
};

/// Measures for how long nothing has arrived. The time between two checks counts as 20 ms at most. If more time has
/// passed, the waiting thread itself was stopped (its machine was paused, or other threads had the CPU), and nobody
/// looked whether something arrived.
class Silence {
public:
    explicit Silence(Patience longest) { begin(longest); }

    /// Starts the measurement again. Call this when something has arrived.
    void begin(Patience longest) {
        left_ns_ = to_nanoseconds(longest);
        looked_ns_ = now_ns();
    }

    /// Call this after each check that found nothing. Returns true when nothing has arrived for the longest allowed
    /// time.
    bool passed() {
        const Nanoseconds now = now_ns();
        left_ns_ -= std::min(now - std::exchange(looked_ns_, now), longest_look_ns);
        return left_ns_ <= 0;
    }

private:
    static constexpr Nanoseconds longest_look_ns = 20'000'000;

    Nanoseconds left_ns_ = 0;
    Nanoseconds looked_ns_ = 0;
};

struct ClockFacts {
    Nanoseconds resolution_ns = 0;
    /// This value is written to the log, never subtracted from results.
    double overhead_ns = 0;
};

ClockFacts measure_clock();

/// The format is that of RFC 3339, with milliseconds.
std::string utc_time();

}  // namespace tacholog
