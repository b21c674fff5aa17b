// What the sustain test is asked for: a goal, the rates to search in, and how to search.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace tacholog {

/// What has to hold in a trial: "p99=100us".
struct LatencyGoal {
    std::string statistic;         ///< as in the log: p50, p99.9, max
    std::uint64_t millionths = 0;  ///< of the percentile; 1'000'000: the maximum
    Nanoseconds limit_ns = 0;

    bool operator==(const LatencyGoal&) const = default;
};

Result<LatencyGoal> parse_latency_goal(std::string_view text);

struct RateRange {
    double least_per_s = 1000;
    double most_per_s = 10'000'000;
};

/// "1000,1000000".
Result<RateRange> parse_rate_range(std::string_view text);

/// What is searched for, and how.
struct SustainPlan {
    std::optional<LatencyGoal> latency;  ///< nothing: not given, which the sustain test refuses
    double loss_ratio = 0;
    RateRange rates;
    double short_s = 1;         ///< length of the trials that narrow the interval down
    double full_s = 5;          ///< length of those that confirm it
    double width_ratio = 0.01;  ///< upper bound less lower bound, divided by the upper bound
    int trials = 3;             ///< so many full-length trials decide on a rate
    double exceed_ratio = 0.5;  ///< of the time of a rate's trials: what may miss the goal
};

/// A rate with five digits: the rate that is tried is the one that is printed.
double rounded_rate(double rate_per_s);

}  // namespace tacholog
