// The sustain test: the highest rate at which a goal of latency and loss holds. The procedure is MLRsearch (RFC 9971)
// with one goal. This file and sustain.cpp only search; sustain_publisher.cpp measures.
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
//  7. Rates at which the goal held are counted if they lie further above the upper bound than that explains
//     (`Sustained::passed_above`). Then the rate alone does not decide a trial: other work on the host does, or a
//     transport that batches.
//  8. If all rates pass, the result is "at least the highest"; if the lowest one does not, "below the lowest".
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "cli/sustain_plan.hpp"
#include "reporters/events.hpp"

namespace tacholog {

enum class Bound { undecided, lower, upper };

/// The load classification of RFC 9971: what these trials make of a rate, where trials have to add up to
/// `duration_sum_s`.
Bound classify(const Tried& tried, double duration_sum_s, double exceed_ratio);

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
