// The options of the sustain test: the goal, the range of rates, and the parameters of the search.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace tacholog {

/// The latency that a trial must keep: "p99=100us".
struct LatencyGoal {
    std::string statistic;         ///< the name as in the log: p50, p99.9, max
    std::uint64_t millionths = 0;  ///< the percentile in millionths: 999'000 is p99.9, 1'000'000 is the maximum
    Nanoseconds limit_ns = 0;

    bool operator==(const LatencyGoal&) const = default;
};

Result<LatencyGoal> parse_latency_goal(std::string_view text);

struct RateRange {
    double least_per_s = 1000;
    double most_per_s = 10'000'000;
};

/// The text looks like "1000,1000000".
Result<RateRange> parse_rate_range(std::string_view text);

struct SustainPlan {
    std::optional<LatencyGoal> latency;  ///< nothing: the option was not given, which is an error in the sustain test
    double loss_ratio = 0;
    RateRange rates;
    double short_s = 1;         ///< length of the trials that narrow the interval
    double full_s = 5;          ///< length of the trials that confirm the interval
    double width_ratio = 0.01;  ///< (upper bound - lower bound) / upper bound
    int trials = 3;             ///< number of full-length trials that decide on a rate
    double exceed_ratio = 0.5;  ///< which share of the trial time at one rate may miss the goal
};

/// A rate rounded to five digits, so that the rate of a trial is exactly the one that is printed.
double rounded_rate(double rate_per_s);

}  // namespace tacholog
