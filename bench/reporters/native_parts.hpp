// Code shared by several kinds of lines in the native log.
#pragma once

#include <array>
#include <string>

#include "reporters/events.hpp"
#include "reporters/native_line.hpp"

namespace tacholog::reporters {

struct Percentile {
    std::string_view key;
    std::uint64_t millionths;
};

inline constexpr std::array<Percentile, 7> percentiles{{{"p50_ns", 500'000},
                                                        {"p90_ns", 900'000},
                                                        {"p99_ns", 990'000},
                                                        {"p99.9_ns", 999'000},
                                                        {"p99.99_ns", 999'900},
                                                        {"p99.999_ns", 999'990},
                                                        {"p99.9999_ns", 999'999}}};

inline void add_faults(Line& line, const Faults& faults) {
    line.add("lost", faults.lost)
        .add("duplicated", faults.duplicated)
        .add("reordered", faults.reordered)
        .add("corrupted", faults.corrupted)
        .add("dropped", faults.dropped);
}

inline void add_statistics(Line& line, const Histogram& histogram, const std::string& prefix) {
    if (histogram.count() == 0) return;
    line.add(prefix + "mean_ns", histogram.mean_ns(), 1)
        .add(prefix + "std_ns", histogram.std_ns(), 1)
        .add(prefix + "min_ns", histogram.min_ns());
    for (const auto& [key, millionths] : percentiles)
        line.add(prefix + std::string{key}, histogram.percentile_ns(millionths));
    line.add(prefix + "max_ns", histogram.max_ns());
}

}  // namespace tacholog::reporters
