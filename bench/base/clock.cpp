#include "base/clock.hpp"

#include <sys/prctl.h>

#include <array>
#include <cerrno>
#include <cstdio>

namespace tacholog {

ClockFacts measure_clock() {
    timespec resolution{};
    ::clock_getres(CLOCK_MONOTONIC, &resolution);

    // Uses the fastest of several batches of readings, because an interruption makes some of them slower.
    constexpr int batches = 20;
    constexpr int readings = 1000;
    double best_ns = 1e9;
    for (int batch = 0; batch < batches; ++batch) {
        const Nanoseconds start = now_ns();
        Nanoseconds end = start;
        for (int reading = 0; reading < readings; ++reading) end = now_ns();
        best_ns = std::min(best_ns, static_cast<double>(end - start) / readings);
    }
    return {resolution.tv_sec * nanoseconds_per_second + resolution.tv_nsec, best_ns};
}

void sleep_until(Nanoseconds time_ns) {
    const timespec time{time_ns / nanoseconds_per_second, time_ns % nanoseconds_per_second};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) continue;
}

void wake_on_time() {
    ::prctl(PR_SET_TIMERSLACK, 1UL);
}

std::string utc_time() {
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME, &time);
    std::tm parts{};
    ::gmtime_r(&time.tv_sec, &parts);
    std::array<char, 32> seconds{};
    std::strftime(seconds.data(), seconds.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%s.%03dZ", seconds.data(), static_cast<int>(time.tv_nsec / 1'000'000));
    return text.data();
}

}  // namespace tacholog
