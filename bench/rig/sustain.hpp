// The sustain test: the highest rate at which a goal of latency and loss holds. The procedure is MLRsearch (RFC 9971)
// with one goal. This file and sustain.cpp only search; sustain_publisher.cpp measures.
//
//  1. A trial sends at one rate for a set time, in an open loop. It passes if the percentile that the goal names is at
//     most the goal's latency, and the loss is at most the goal's. A message of the schedule counts as lost if it was
//     not answered, even if it was never sent because the transport accepted no more.
//  2. A rate is a lower bound if its trials passed for enough of the time, and an upper bound if that is no longer
//     possible. Otherwise it is undecided, and is measured again (`classify`, the load classification of RFC 9971).
//  3. With short trials, the rate is increased fourfold from the lowest rate until it is an upper bound. Then the
//     interval is halved on a logarithmic scale until it is as narrow as the goal width.
//  4. These two bounds are confirmed by full-length trials. A bound that is not confirmed moves outwards, in growing
//     steps; then the interval is halved again, by full-length trials.
//  5. The result is the relevant lower bound: the highest lower bound below the lowest upper bound. The true limit lies
//     between it and that upper bound, so the result is too low by at most the goal width.
//  6. The result can also be too high: above the capacity of a transport that queues, the queue grows by
//     (rate / capacity - 1) of the trial's length. So a trial still passes if the rate exceeds the capacity by a share
//     of up to (goal latency / trial length) for p99, and twice as much for p50. Longer trials make this error smaller.
//  7. Rates further above the upper bound than this error explains are counted if the goal held at them
//     (`Sustained::passed_above`). In that case the rate is not the only cause: other work on the host also matters, or
//     the transport batches messages.
//  8. If all rates pass, the result is "at least the highest"; if the lowest one does not pass, "below the lowest".
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "cli/sustain_plan.hpp"
#include "reporters/events.hpp"

namespace tacholog {

enum class Bound { undecided, lower, upper };

/// Classifies a rate as in RFC 9971, from its trials so far. The rate becomes a bound as soon as no further trials, up
/// to `duration_sum_s` in total, can change this.
Bound classify(const Tried& tried, double duration_sum_s, double exceed_ratio);

/// Decides which trial is next.
class SustainSearch {
public:
    explicit SustainSearch(const SustainPlan& plan);

    /// Returns nothing if the search is over.
    std::optional<TrialOrder> next() const;
    void add(const TrialOrder& trial, bool passed);
    Sustained result() const;

private:
    struct Bounds {
        std::optional<double> lower;
        std::optional<double> upper;
    };

    Bound bound_of(const Tried& tried, bool full_length) const;
    Bounds bounds(bool full_length) const;
    /// Returns the rate at which the interval between the bounds is divided next. Returns nothing if the interval is
    /// narrow enough, or if it cannot be divided.
    std::optional<double> narrower(const Bounds& bounds) const;
    /// The rate of the next full-length trial, for the interval that short trials have found.
    std::optional<double> confirming(const Bounds& found) const;

    SustainPlan plan_;
    std::map<double, Tried> rates_;
    std::uint64_t trials_ = 0;
};

}  // namespace tacholog
