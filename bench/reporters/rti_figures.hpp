// What every dialect of RTI Perftest is told: summaries, and the running figures behind its interval lines, which are
// cumulative since the size began, where a perftest interval stands for itself.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/options.hpp"
#include "reporters/events.hpp"
#include "reporters/one_way.hpp"

namespace tacholog::reporters {

/// Latency at its publisher, throughput at its subscriber; a run in one process or with one log has both.
inline bool rti_expresses(Test test, Role role) {
    return test == Test::throughput || (test == Test::latency && role != Role::sub);
}

/// The tool sorts its samples and takes the one at floor(count * percent), counted from 0.
inline unsigned long rti_quantile_us(const Histogram& histogram, std::uint64_t millionths) {
    const Wide place = static_cast<Wide>(histogram.count()) * millionths / 1'000'000;
    return static_cast<unsigned long>(one_way_us(histogram.value_at_rank(static_cast<std::uint64_t>(place) + 1)));
}

/// Lost of lost and received, in percent.
inline double lost_percent(std::uint64_t received, std::uint64_t lost) {
    const double total = static_cast<double>(received) + static_cast<double>(lost);
    return total > 0 ? static_cast<double>(lost) * 100 / total : 0;
}

/// 10^6 bit/s of payload.
inline double megabits_per_s(double rate_per_s, std::size_t payload_bytes) {
    return rate_per_s * static_cast<double>(payload_bytes) * 8 / 1e6;
}

class RunningFigures {
public:
    void has_whole_intervals(const Options& options) { interval_ns_ = to_nanoseconds(options.interval_s); }

    /// What is left at the end is not. In the mean of rates each counts the same, and that one may be of a moment.
    bool is_whole(const ThroughputInterval& interval) const { return interval.duration_ns >= interval_ns_; }

    /// True if this is a size that has not been met yet: everything starts anew.
    bool begins(std::size_t payload_bytes) {
        if (payload_bytes_ == payload_bytes) return false;
        payload_bytes_ = payload_bytes;
        latency.clear();
        received = lost = 0;
        intervals_ = rates_ = 0;
        return true;
    }

    void add(const LatencyInterval& interval) { latency.merge(*interval.histogram); }

    void add(const ThroughputInterval& interval) {
        received += interval.received;
        lost += interval.lost;
        intervals_ += 1;
        rates_ += rate_within(interval.received, interval.duration_ns).value_or(0);
    }

    double mean_rate_per_s() const { return intervals_ > 0 ? rates_ / intervals_ : 0; }  ///< of the intervals' rates

    Histogram latency;
    std::uint64_t received = 0;
    std::uint64_t lost = 0;

private:
    std::size_t payload_bytes_ = 0;
    Nanoseconds interval_ns_ = 0;  ///< how long one is to be
    double intervals_ = 0;
    double rates_ = 0;
};

}  // namespace tacholog::reporters
