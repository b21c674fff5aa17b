// Decides when a warm-up is over: after a fixed time, or when the measured value no longer drifts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "reporters/events.hpp"

namespace tacholog {

/// Returns the median of the latencies, or 0 if there are no latencies.
inline double median_of(const Histogram& histogram) {
    return histogram.count() > 0 ? static_cast<double>(histogram.value_at_rank((histogram.count() + 1) / 2)) : 0;
}

class SteadyRule {
public:
    explicit SteadyRule(std::optional<double> fixed_s) : fixed_s_(fixed_s) {}

    Nanoseconds longest_ns() const { return fixed_s_ ? to_nanoseconds(*fixed_s_) : give_up_s * nanoseconds_per_second; }

    /// Call this after each second. `value` is the median round trip or the rate of this second. `messages` and
    /// `elapsed_ns` count from the start of the warm-up. Returns true if the warm-up is over.
    bool second_passed(double value, std::uint64_t messages, Nanoseconds elapsed_ns) {
        if (fixed_s_) return false;
        values_.push_back(value);
        const bool warm = elapsed_ns >= 2 * nanoseconds_per_second || messages >= 10'000;
        if (!warm || values_.size() < agreeing) return false;
        const auto [least, most] = std::minmax_element(values_.end() - agreeing, values_.end());
        steady_ = *least > 0 && *most <= *least * (1 + tolerance);
        return steady_;
    }

    Outcome outcome() const {
        if (fixed_s_) return Outcome::fixed;
        return steady_ ? Outcome::steady : Outcome::not_steady;
    }

private:
    static constexpr int agreeing = 3;
    static constexpr double tolerance = 0.05;
    static constexpr int give_up_s = 30;

    std::optional<double> fixed_s_;
    std::vector<double> values_;
    bool steady_ = false;
};

}  // namespace tacholog
