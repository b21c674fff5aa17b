#include "rig/sustain.hpp"

#include <algorithm>
#include <cmath>

namespace tacholog {
Bound classify(const Tried& tried, double duration_sum_s, double exceed_ratio) {
    // The load classification of RFC 9971. Short trials never make a rate a lower bound, but they can make it an upper
    // bound. The short trials that passed outweigh a part of the time of the short trials that missed the goal. Only
    // the rest of this time counts against the rate.
    const double outweighed_s = exceed_ratio < 1 ? tried.short_passed_s * exceed_ratio / (1 - exceed_ratio) : 0;
    const double missed_s = tried.full_missed_s + std::max(0.0, tried.short_missed_s - outweighed_s);
    const double whole_s = std::max(tried.full_passed_s + missed_s, duration_sum_s);
    const double may_miss_s = whole_s * exceed_ratio * (1 + 1e-9);  // sums of durations have rounding errors
    // The rate is a lower bound if the time in which trials miss the goal cannot become longer than allowed, even if
    // all trials that are still to come miss the goal.
    if (whole_s - tried.full_passed_s <= may_miss_s) return Bound::lower;
    return missed_s <= may_miss_s ? Bound::undecided : Bound::upper;
}

SustainSearch::SustainSearch(const SustainPlan& plan) : plan_(plan) {}

/// If `full_length` is false, the search is narrowing the interval of rates: one short trial is then enough to decide
/// about a rate, and full-length trials count like short ones.
Bound SustainSearch::bound_of(const Tried& tried, bool full_length) const {
    if (full_length) return classify(tried, plan_.full_s * plan_.trials, plan_.exceed_ratio);
    const Tried all{tried.full_passed_s + tried.short_passed_s, tried.full_missed_s + tried.short_missed_s, 0, 0};
    return classify(all, plan_.short_s, plan_.exceed_ratio);
}

SustainSearch::Bounds SustainSearch::bounds(bool full_length) const {
    Bounds bounds;
    for (const auto& [rate, tried] : rates_) {
        const Bound bound = bound_of(tried, full_length);
        if (bound == Bound::lower) bounds.lower = rate;
        if (bound != Bound::upper) continue;
        bounds.upper = rate;
        break;  // higher rates no longer matter
    }
    return bounds;
}

std::optional<double> SustainSearch::narrower(const Bounds& bounds) const {
    const auto [lower, upper] = bounds;
    if (!lower || !upper || *upper - *lower <= *upper * plan_.width_ratio) return std::nullopt;
    const double middle = rounded_rate(std::sqrt(*lower * *upper));
    if (middle <= *lower || middle >= *upper) return std::nullopt;
    return middle;
}

std::optional<double> SustainSearch::confirming(const Bounds& found) const {
    const auto [lower, upper] = bounds(true);
    if (lower && upper) return narrower({lower, upper});
    if (!lower && !upper) return found.lower.value_or(plan_.rates.least_per_s);
    // Only one bound exists. The search goes away from it, in steps that double: one goal width, then two, then four.
    double step = 1 / (1 - plan_.width_ratio);
    const double from = lower ? *lower : *upper;
    for (const auto& [rate, tried] : rates_) {
        if (bound_of(tried, true) != (lower ? Bound::lower : Bound::upper)) continue;
        if (rate != from) step = std::min(step * step, 1e6);
    }
    if (lower) {
        if (*lower >= plan_.rates.most_per_s) return std::nullopt;
        const double outwards = std::min(rounded_rate(*lower * step), plan_.rates.most_per_s);
        return found.upper && *found.upper > *lower ? std::min(*found.upper, outwards) : outwards;
    }
    if (*upper <= plan_.rates.least_per_s) return std::nullopt;
    return std::max(rounded_rate(*upper / step), plan_.rates.least_per_s);
}

std::optional<TrialOrder> SustainSearch::next() const {
    constexpr double coarse_step = 4;
    const auto short_trial = [&](double rate) { return TrialOrder{rate, plan_.short_s, false}; };
    const Bounds found = bounds(false);
    if (!found.lower && !found.upper) return short_trial(plan_.rates.least_per_s);
    const bool is_confirmed_so_far = std::any_of(rates_.begin(), rates_.end(), [](const auto& rate) {
        return rate.second.full_passed_s + rate.second.full_missed_s > 0;
    });
    if (!is_confirmed_so_far) {
        if (found.lower && !found.upper && *found.lower < plan_.rates.most_per_s)
            return short_trial(std::min(rounded_rate(*found.lower * coarse_step), plan_.rates.most_per_s));
        if (const auto rate = narrower(found)) return short_trial(*rate);
    }
    for (const auto& [rate, tried] : rates_) {
        if (tried.full_passed_s + tried.full_missed_s > 0 && bound_of(tried, true) == Bound::undecided)
            return TrialOrder{rate, plan_.full_s, true};
    }
    const auto rate = confirming(found);
    if (!rate) return std::nullopt;
    return TrialOrder{*rate, plan_.full_s, true};
}

void SustainSearch::add(const TrialOrder& trial, bool passed) {
    Tried& tried = rates_[trial.rate_per_s];
    if (trial.full_length) {
        (passed ? tried.full_passed_s : tried.full_missed_s) += trial.duration_s;
    } else {
        (passed ? tried.short_passed_s : tried.short_missed_s) += trial.duration_s;
    }
    ++trials_;
}

Sustained SustainSearch::result() const {
    const auto [lower, upper] = bounds(true);
    Sustained result;
    result.rate_per_s = lower;
    result.upper_per_s = upper;
    result.trials = trials_;
    if (!upper) result.outcome = SustainOutcome::above_range;
    if (!lower) result.outcome = SustainOutcome::below_range;
    if (lower) result.at_rate = rates_.at(*lower);
    // At slightly higher rates, a short trial may pass because a queue hides the overload. This is not a contradiction.
    const double hidden = plan_.latency ? 2 * static_cast<double>(plan_.latency->limit_ns) / 1e9 / plan_.short_s : 0;
    for (const auto& [rate, tried] : rates_) {
        const bool is_above = upper && rate > *upper * (1 + hidden);
        if (is_above && bound_of(tried, false) == Bound::lower) ++result.passed_above;
    }
    return result;
}

}  // namespace tacholog
