// One-way latency at the subscriber: from the time at which a message was due to the time at which it was taken and
// read, on the clock that both sides share.
#include "rig/one_way.hpp"
#include "rig/sink.hpp"

namespace tacholog {
namespace {

template <typename Check>
class Latencies {
public:
    using Intakes = std::vector<Intake<Check>>;

    Latencies(const Side& side, const Case& measured, std::unique_ptr<Publisher>)
        : side_(side),
          payload_bytes_(measured.payload_bytes),
          intervals_(side.intervals(most_histograms_kept)),
          records_(intervals_.records) {}

    /// In a warm-up, the publisher needs the intervals at once, because they tell it when the warm-up is over.
    bool is_live(bool measured) const { return !measured || side_.placement.live; }

    void begin(bool measured) {
        measured_ = measured;
        early_ = index_ = 0;
        total_.clear();
        interval_ = &records_.current();
        start_ns_ = interval_start_ns_ = now_ns();
    }

    Result<Done> take(Intakes& intakes) {
        const auto read = [this](std::span<const std::byte> bytes) {
            const TimedMessage message = read_timed_message(bytes, side_.options.handling);
            latency_ns_ = message.age_ns(now_ns());
            return ReadMessage{message.number, message.identified, message.identified};
        };
        const auto fresh = [this](std::uint64_t) -> Result<void> {
            if (latency_ns_ < 0) {
                ++early_;
            } else {
                interval_->histogram.record(static_cast<std::uint64_t>(latency_ns_));
            }
            return {};
        };
        return intakes.front().take(1, slice, read, fresh);
    }

    /// If no record is free, the current interval continues.
    void pass(Nanoseconds now, const Intakes&) {
        if (now - interval_start_ns_ < (measured_ ? intervals_.length_ns : nanoseconds_per_second)) return;
        interval_->duration_ns = now - interval_start_ns_;
        if (!records_.hand_over()) return;
        interval_ = &records_.current();
        interval_start_ns_ = now;
    }

    /// Reports the intervals that were handed over. The monitor's thread calls this function during a phase, and the
    /// measuring thread calls it after the phase.
    Result<void> collect() {
        while (LatencyRecord* record = records_.oldest()) {
            if (auto reported = report(*record); !reported) return reported;
            records_.give_back();
        }
        return {};
    }

    Result<std::vector<PhaseDoneFrame>> finish(const Intakes& intakes) {
        const Nanoseconds now = now_ns();
        interval_->duration_ns = now - interval_start_ns_;
        if (interval_->histogram.count() > 0 || total_.count() == 0) {
            if (auto reported = report(*interval_); !reported) return reported.error();
        }
        PhaseDoneFrame counts = counts_of(intakes.front());
        counts.early = early_;
        if (measured_) {
            side_.tell(LatencyResult{payload_bytes_, faults_of(side_, counts), now - start_ns_, &total_,
                                     heard(side_, counts.instances_heard)});
        }
        return std::vector{counts};
    }

private:
    Result<void> report(LatencyRecord& record) {
        Histogram& interval = record.histogram;
        if (measured_) side_.tell(LatencyInterval{payload_bytes_, index_++, record.duration_ns, &interval});
        const Deadline deadline{side_.limit()};
        for (const Frame& frame : frames_of(interval, record.duration_ns)) {
            if (auto sent = side_.control.send(frame, deadline.left()); !sent) return sent;
        }
        total_.merge(interval);
        interval.clear();
        return {};
    }

    const Side& side_;
    std::size_t payload_bytes_;
    bool measured_ = false;
    Nanoseconds latency_ns_ = 0;  ///< of the message that was read last
    std::uint64_t early_ = 0;     ///< messages that arrived before they were due
    std::uint64_t index_ = 0;
    Nanoseconds start_ns_ = 0;
    Nanoseconds interval_start_ns_ = 0;
    IntervalPlan intervals_;
    HandOver<LatencyRecord> records_;
    LatencyRecord* interval_ = nullptr;
    Histogram total_;
};

}  // namespace

Result<void> run_one_way_subscriber(const Side& side, const Frame& open) {
    return run_sink<Latencies>(side, open);
}

}  // namespace tacholog
