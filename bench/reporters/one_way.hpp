// One-way latency, or half a round trip, in whole microseconds, as tools with such a clock have it: each sample is cut
// down by integer division before anything is computed from it. Samples come from a histogram, at the upper edges of
// its bins.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/histogram.hpp"
#include "cli/options.hpp"

namespace tacholog::reporters {

inline std::uint64_t one_way_us(std::uint64_t latency_ns, Basis basis = Basis::round_trip) {
    return latency_ns / 1000 / (basis == Basis::round_trip ? 2 : 1);
}

struct OneWay {
    double sum_us = 0;
    double mean_us = 0;
    double std_us = 0;
    std::uint64_t min_us = 0;
    std::uint64_t max_us = 0;
};

inline OneWay one_way(const Histogram& histogram, Basis basis = Basis::round_trip) {
    if (histogram.count() == 0) return {};
    double sum = 0;
    double squares = 0;
    for (const auto& bin : histogram.bins()) {
        const auto value = static_cast<double>(one_way_us(std::min(bin.upper_ns, histogram.max_ns()), basis));
        sum += static_cast<double>(bin.count) * value;
        squares += static_cast<double>(bin.count) * value * value;
    }
    // What lies above the top is in no bin.
    const auto above = static_cast<double>(one_way_us(histogram.max_ns(), basis));
    sum += static_cast<double>(histogram.overflow()) * above;
    squares += static_cast<double>(histogram.overflow()) * above * above;
    const auto count = static_cast<double>(histogram.count());
    const double mean = sum / count;
    return {sum, mean, std::sqrt(std::max(0.0, squares / count - mean * mean)), one_way_us(histogram.min_ns(), basis),
            one_way_us(histogram.max_ns(), basis)};
}

}  // namespace tacholog::reporters
