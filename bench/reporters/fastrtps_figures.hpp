// What the dialects of Fast-RTPS' two tests, of all generations, have in common.
#pragma once

#include <cmath>
#include <cstdint>

#include "cli/options.hpp"
#include "reporters/events.hpp"

namespace tacholog::reporters {

/// Both tables stand at the publisher. A throughput test without bursts is none of the tool's.
inline bool fastrtps_expresses(Test test, Role role) {
    return (test == Test::latency || test == Test::demand) && role != Role::sub;
}

/// The tool sorts its samples and takes the floor(count * share)-th of them, counted from 1; not a number if that is
/// the 0th.
inline double fastrtps_quantile_ns(const Histogram& histogram, std::uint64_t millionths) {
    const Wide rank = static_cast<Wide>(histogram.count()) * millionths / 1'000'000;
    if (rank == 0) return std::nan("");
    return static_cast<double>(histogram.value_at_rank(static_cast<std::uint64_t>(rank)));
}

inline double to_us(double ns) {
    return ns / 1000;
}

/// The tool's own arithmetic, which its readers hold each row to: all samples over all of the time, though `n` of them
/// lie `n - 1` periods apart. 0 of less than two, where there is no rate; or if it took no time, where the tool would
/// divide by it.
inline double fastrtps_samples_per_s(std::uint64_t samples, double duration_us) {
    if (samples < 2 || duration_us <= 0) return 0;
    return static_cast<double>(samples) * 1e6 / duration_us;
}

/// 10^6 bit/s of payload.
inline double fastrtps_megabits_per_s(std::uint64_t samples, std::size_t payload_bytes, double duration_us) {
    return fastrtps_samples_per_s(samples, duration_us) * static_cast<double>(payload_bytes) * 8 / 1e6;
}

}  // namespace tacholog::reporters
