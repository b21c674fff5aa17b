// The one clock of the rig: CLOCK_MONOTONIC in nanoseconds. The wall clock only says when a run was made.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>
#include <utility>

namespace tacholog {

using Nanoseconds = std::int64_t;
/// How long somebody may wait, in milliseconds and parts of them: an open loop waits for less than one.
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

/// Gives the CPU away until then, whatever signals come.
void sleep_until(Nanoseconds time_ns);

/// From here on this thread's sleeps end when they are to; the kernel is free to add 50 us otherwise.
void wake_on_time();

/// A point in time by which a wait must be over.
class Deadline {
public:
    explicit Deadline(Patience patience) : at_ns_(now_ns() + to_nanoseconds(patience)) {}

    bool passed() const { return now_ns() >= at_ns_; }

    /// What is left in whole milliseconds, rounded up so that a poll() with it never spins; 0 if nothing is.
    Patience left() const { return Patience{std::max<Nanoseconds>(0, (at_ns_ - now_ns() + 999'999) / 1'000'000)}; }

private:
    Nanoseconds at_ns_;
};

/// For how long nothing has come, as far as the one who waits has looked. A look counts for 20 ms at most: one who was
/// stopped meanwhile, with its machine or by others that had the CPU, cannot say that nothing came.
class Silence {
public:
    explicit Silence(Patience longest) { begin(longest); }

    /// Something came: the silence begins anew.
    void begin(Patience longest) {
        left_ns_ = to_nanoseconds(longest);
        looked_ns_ = now_ns();
    }

    /// To be asked at each look that found nothing. Whether it has lasted for as long as it may.
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
    double overhead_ns = 0;  ///< mean cost of one reading; logged, never subtracted
};

ClockFacts measure_clock();

/// Now, in UTC, as RFC 3339 with milliseconds.
std::string utc_time();

}  // namespace tacholog
