// The lines of the sustain test in the native log.
#pragma once

#include <string_view>

#include "reporters/native_parts.hpp"

namespace tacholog::reporters {

inline std::string_view to_text(SustainOutcome outcome) {
    if (outcome == SustainOutcome::above_range) return "above_range";
    return outcome == SustainOutcome::found ? "found" : "below_range";
}

/// Adds the goal and the parameters to the line of the configuration.
inline void add_search(Line& line, const SustainPlan& plan) {
    line.add("goal_statistic", plan.latency->statistic)
        .add("goal_latency_ns", plan.latency->limit_ns)
        .add_given("goal_loss_ratio", plan.loss_ratio)
        .add_given("goal_width_ratio", plan.width_ratio)
        .add_given("exceed_ratio", plan.exceed_ratio)
        .add_given("least_rate_per_s", plan.rates.least_per_s)
        .add_given("most_rate_per_s", plan.rates.most_per_s)
        .add_given("short_trial_s", plan.short_s)
        .add("trials", plan.trials);
}

inline Line line_of(const Trial& trial) {
    Line line{"trial"};
    line.add("payload_bytes", trial.payload_bytes)
        .add("basis", to_text(Basis::round_trip))
        .add("from", "schedule")
        .add("index", trial.index)
        .add("length", trial.order.full_length ? "full" : "short")
        .add_given("rate_per_s", trial.order.rate_per_s)
        .add("planned", trial.planned)
        .add("sent", trial.sent)
        .add("held_back", trial.held_back)
        .add("samples", trial.latency->count());
    add_faults(line, trial.faults);
    line.add("loss_ratio", trial.loss_ratio, 9).add("duration_ns", trial.duration_ns);
    if (trial.offered_rate_per_s) line.add("offered_rate_per_s", *trial.offered_rate_per_s, 3);
    line.add("lateness_p99_ns", trial.lateness->percentile_ns(990'000));
    add_statistics(line, *trial.latency, "");
    line.add("latency_kept", trial.keeps_latency).add("loss_kept", trial.keeps_loss).add("passed", trial.passed());
    return line;
}

inline Line line_of(const SustainResult& result) {
    const SustainPlan& plan = result.plan;
    const Sustained& found = result.found;
    Line line{"sustain"};
    line.add("payload_bytes", result.payload_bytes)
        .add("basis", to_text(Basis::round_trip))
        .add("from", "schedule")
        .add("goal_statistic", plan.latency->statistic)
        .add("goal_latency_ns", plan.latency->limit_ns)
        .add_given("goal_loss_ratio", plan.loss_ratio)
        .add_given("exceed_ratio", plan.exceed_ratio)
        .add("outcome", to_text(found.outcome))
        .add("trials", found.trials)
        .add_given("rate_per_s", found.rate_per_s);
    if (found.rate_per_s) {
        line.add("passed_s", found.at_rate.full_passed_s, 3).add("missed_s", found.at_rate.full_missed_s, 3);
    }
    line.add_given("upper_rate_per_s", found.upper_per_s);
    if (found.rate_per_s && found.upper_per_s)
        line.add("width_ratio", (*found.upper_per_s - *found.rate_per_s) / *found.upper_per_s, 6);
    return line.add("passed_above", found.passed_above).add("duration_ns", result.duration_ns);
}

}  // namespace tacholog::reporters
