// The sustain test: the highest rate at which a goal of latency and loss holds. The procedure is MLRsearch (RFC 9971)
// with one goal. This file and sustain.cpp are the search alone, which measures nothing (sustain_publisher.cpp does).
//
//  1. A trial sends at one rate for a set time, in an open loop. It passes if the percentile that the goal names is at
//     most the goal's latency, and the loss is at most the goal's. Lost is every message of the schedule that was not
//     answered: also one that was never sent, because the transport took no more.
//  2. A rate is a lower bound if its trials passed for enough of the time, an upper bound if they cannot do so any
//     more, else undecided, and measured again (`classify`, the load classification of RFC 9971).
//  3. With short trials the rate is quadrupled from the lowest one until it is an upper bound. Then the interval is
//     halved on a logarithmic scale until it is as narrow as asked for (the goal width).
//  4. The two bounds found so are confirmed by full-length trials. A bound that is not confirmed moves outwards, in
//     steps that grow; the interval is then halved again, by full-length trials.
//  5. The result is the relevant lower bound: the highest lower bound below the lowest upper bound. The knee lies
//     between it and that upper bound, so the result is low by the goal width at most.
//  6. It can be high, too: above the capacity of a transport that queues, the queue grows by (rate / capacity - 1) of
//     the trial's length. So an excess of up to goal latency / trial length passes (of p99; of p50 twice as much).
//     Longer trials make that smaller.
//  7. Rates at which the goal held are counted if they lie further above the upper bound than that explains. They say
//  that the outcome of a trial is not a
//     matter of the rate alone (`Sustained::passed_above`): other work on the host, or a transport that batches.
//  8. If all rates pass, the result is "at least the highest"; if the lowest one does not, "below the lowest".
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"

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

/// How often, and how long, a rate was tried. In seconds, as RFC 9971 adds up durations.
struct Tried {
    double full_passed_s = 0;
    double full_missed_s = 0;
    double short_passed_s = 0;
    double short_missed_s = 0;
};

enum class Bound { undecided, lower, upper };

/// The load classification of RFC 9971: what these trials make of a rate, where trials have to add up to
/// `duration_sum_s`.
Bound classify(const Tried& tried, double duration_sum_s, double exceed_ratio);

/// Which trial comes next.
struct TrialOrder {
    double rate_per_s = 0;
    double duration_s = 0;
    bool full_length = false;
};

enum class SustainOutcome { found, above_range, below_range };

struct Sustained {
    SustainOutcome outcome = SustainOutcome::found;
    std::optional<double> rate_per_s;   ///< the relevant lower bound; nothing if the lowest rate misses the goal
    std::optional<double> upper_per_s;  ///< the relevant upper bound; nothing if the highest rate keeps the goal
    std::uint64_t trials = 0;           ///< in all
    Tried at_rate;                      ///< the trials of the result's rate
    std::uint64_t passed_above =
        0;  ///< rates at which trials passed, further above the upper bound than a queue explains
};

/// Asks for one trial after the other.
class SustainSearch {
public:
    explicit SustainSearch(const SustainPlan& plan);

    /// Nothing: the search is over.
    std::optional<TrialOrder> next() const;
    /// What the trial that was asked for last has shown.
    void add(const TrialOrder& trial, bool passed);
    Sustained result() const;

private:
    struct Bounds {
        std::optional<double> lower;
        std::optional<double> upper;
    };

    Bound bound_of(const Tried& tried, bool full_length) const;
    Bounds bounds(bool full_length) const;
    /// The rate that narrows this interval; nothing if it is narrow enough, or cannot be narrowed.
    std::optional<double> narrower(const Bounds& bounds) const;
    /// The rate to be tried next by full-length trials, given the interval that short ones have found.
    std::optional<double> confirming(const Bounds& found) const;

    SustainPlan plan_;
    std::map<double, Tried> rates_;
    std::uint64_t trials_ = 0;
};

}  // namespace tacholog
