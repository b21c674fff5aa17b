#include "control/agreement.hpp"

#include <optional>

#include "base/text.hpp"

namespace tacholog {
namespace {

std::string demands(const Options& options) {
    if (options.test != Test::demand) return "";
    std::vector<Nanoseconds> recovery_ms;
    for (const auto time : options.recovery_ns) recovery_ms.push_back(time / 1'000'000);
    return " --demands=" + to_text(options.demand_table) + " --recovery=" + comma_separated(recovery_ms);
}

std::string settings(const Options& options) {
    std::string text;
    for (const auto& [name, value] : options.settings) text += " --set-" + name + "=" + value;
    return text;
}

/// The subscriber does not need the plan of the search, but its log states the plan too.
std::string search(const Options& options) {
    const SustainPlan& plan = options.sustain;
    if (options.test != Test::sustain) return "";
    return " --latency-goal=" + plan.latency->statistic + "=" + std::to_string(plan.latency->limit_ns) + "ns" +
           " --loss-goal=" + exact(plan.loss_ratio) + " --rate-range=" + exact(plan.rates.least_per_s) + "," +
           exact(plan.rates.most_per_s) + " --trial-duration=" + exact(plan.short_s) +
           " --goal-width=" + exact(plan.width_ratio) + " --trials=" + std::to_string(plan.trials) +
           " --exceed-ratio=" + exact(plan.exceed_ratio);
}

std::string tuning(const Tuning& tuning) {
    return (tuning.realtime ? " --realtime=" + std::to_string(*tuning.realtime) : "") +
           (tuning.lock_memory ? " --lock-memory=yes" : "") +
           (tuning.numa_node ? " --numa=" + std::to_string(*tuning.numa_node) : "");
}

}  // namespace

std::string agreement(const Options& options) {
    const auto number = [](std::optional<double> value, const char* otherwise) {
        return value ? exact(*value) : std::string{otherwise};
    };
    return "--test=" + std::string{to_text(options.test)} + " --transport=" + options.transport +
           " --sizes=" + comma_separated(options.sizes) + demands(options) +
           " --duration=" + exact(options.duration_s) + " --warmup=" + number(options.warmup_s, "steady") +
           " --rate=" + number(options.rate_per_s, "max") + " --touch=" + std::string{to_text(options.handling.touch)} +
           " --verify=" + (options.handling.verify ? "yes" : "no") +
           " --wait=" + std::string{to_text(options.waiting)} + " --basis=" + std::string{to_text(options.basis)} +
           " --subscribers=" + std::to_string(options.audience.subscribers) +
           " --slow-subscriber=" + std::string{to_text(options.audience.slow)} +
           " --batch-bytes=" + std::to_string(options.batch_bytes) +
           " --probe-every=" + std::to_string(options.probe_every) +
           (options.interval_s == Options{}.interval_s ? "" : " --interval-length=" + exact(options.interval_s)) +
           settings(options) + (options.publishers > 1 ? " --publishers=" + std::to_string(options.publishers) : "") +
           search(options) + tuning(options.tuning) +
           (options.instances ? " --instances=" + std::to_string(*options.instances) : "");
}

}  // namespace tacholog
