// The intervals of a latency test that the publisher measures. The measuring thread fills the current interval, and the
// monitor's thread reports the intervals that were handed over.
#pragma once

#include <atomic>

#include "rig/handover.hpp"
#include "rig/monitor.hpp"

namespace tacholog {

class LatencyIntervals {
public:
    explicit LatencyIntervals(IntervalPlan plan) : length_ns_(plan.length_ns), records_(plan.records) {}

    Nanoseconds length_ns() const { return length_ns_; }

    // Only the measuring thread calls the following functions.

    void begin(Nanoseconds phase_start_ns) { phase_start_ns_ = start_ns_ = phase_start_ns; }
    void record(std::uint64_t latency_ns) { current_->histogram.record(latency_ns); }
    Nanoseconds start_ns() const { return start_ns_; }
    bool enough() const { return enough_.load(std::memory_order_relaxed); }

    void close(Nanoseconds now) {
        current_->duration_ns = now - start_ns_;
        current_->elapsed_ns = now - phase_start_ns_;
    }

    /// Ends the current interval, passes its record to the monitor, and begins the next interval. If the monitor has
    /// not given back a record, the current interval does not end but continues.
    void hand_over(Nanoseconds now) {
        close(now);
        if (!records_.hand_over()) return;
        current_ = &records_.current();
        start_ns_ = now;
    }

    /// Runs one phase and returns its duration. The function `measure` does the measurement: it divides the phase into
    /// intervals and closes the last one. The function `found` is called with each interval. It returns true if the
    /// phase needs no further intervals. If `live` is true, intervals are reported during the phase, otherwise after
    /// it.
    template <typename Measure, typename Found>
    Result<Nanoseconds> phase(Monitor& monitor, bool live, Measure&& measure, Found&& found) {
        const auto collect = [this, &found]() -> Result<void> {
            while (LatencyRecord* record = records_.oldest()) {
                if (found(*record)) enough_.store(true, std::memory_order_relaxed);
                record->histogram.clear();
                records_.give_back();
            }
            return {};
        };
        enough_ = false;
        current_ = &records_.current();
        monitor.begin({nullptr, collect, live, true});
        const Result<Nanoseconds> duration = measure();
        monitor.end();
        static_cast<void>(collect().has_value());  // even a run that failed reports its intervals so far
        if (!duration) return duration;
        found(*current_);
        current_->histogram.clear();
        return duration;
    }

private:
    Nanoseconds length_ns_;
    HandOver<LatencyRecord> records_;
    LatencyRecord* current_ = nullptr;
    Nanoseconds phase_start_ns_ = 0;
    Nanoseconds start_ns_ = 0;
    std::atomic<bool> enough_{false};
};

}  // namespace tacholog
