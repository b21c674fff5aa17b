// One-way latency at the publisher. It sends on a schedule, and writes into each message the time at which it was due.
// The subscriber, which has the same clock, measures the latency, and sends its results back every second.
#include <algorithm>
#include <atomic>

#include "base/instances.hpp"
#include "base/waiting.hpp"
#include "rig/one_way.hpp"
#include "rig/open_loop.hpp"
#include "rig/side.hpp"
#include "rig/steady.hpp"

namespace tacholog {
namespace {

/// The subscriber sends its counts only after it has received nothing for some time, because until then more messages
/// may arrive.
constexpr Patience drain_allowance{5000};

class OneWaySender {
public:
    OneWaySender(const Side& side, Channels channels, std::size_t payload_bytes)
        : side_(side), channels_(std::move(channels)), payload_bytes_(payload_bytes), schedule_(0, rate()) {}

    Result<void> run() {
        const MonitorGuard guard{*side_.monitor};
        SteadyRule rule{side_.options.warmup_s};
        if (auto done = phase(rule.longest_ns(), &rule); !done) return done;
        side_.tell(Warmup{payload_bytes_, sent_, duration_ns_, rule.outcome(), std::nullopt});
        if (auto done = phase(to_nanoseconds(side_.options.duration_s), nullptr); !done) return done;
        return report();
    }

private:
    double rate() const { return *side_.options.rate_per_s; }

    /// Sends the messages of one phase, for at most `longest_ns`. If `warmup` is given, the phase is the warm-up: it
    /// ends as soon as this rule says that the latencies are steady.
    Result<void> phase(Nanoseconds longest_ns, SteadyRule* warmup) {
        begin(warmup);
        side_.monitor->begin({[this](const Frame& frame, std::size_t) { return heard(frame); }, nullptr, false, true});
        auto sent = send_all(longest_ns);
        side_.monitor->end();
        return sent ? end_phase() : sent;
    }

    Result<void> send_all(Nanoseconds longest_ns) {
        schedule_ = Schedule{now_ns(), rate()};
        start_ns_.store(schedule_.start_ns(), std::memory_order_relaxed);
        planned_ = schedule_.due_before(schedule_.start_ns() + longest_ns);
        const Nanoseconds end = schedule_.start_ns() + longest_ns;
        Nanoseconds next_pulse = schedule_.start_ns() + pulse_ns;
        while (sent_ < planned_ && !steady()) {
            if (schedule_.due_ns(sent_) <= next_pulse) {
                if (auto done = send_next(); !done) return done;
            } else {
                wait_until(next_pulse, side_.options.waiting, side_.yield());
            }
            const Nanoseconds now = now_ns();
            if (now < next_pulse) continue;
            next_pulse = now + pulse_ns;
            if (auto fine = side_.monitor->fine(); !fine) return fine;
            if (now > end + catch_up_ns) break;
        }
        duration_ns_ = std::max(now_ns(), steady() ? 0 : end) - schedule_.start_ns();
        return {};
    }

    bool steady() const { return steady_.load(std::memory_order_relaxed); }

    void begin(SteadyRule* warmup) {
        warmup_ = warmup;
        steady_ = false;
        sent_ = index_ = intervals_ = 0;
        first_sent_ns_ = last_sent_ns_ = 0;
        lateness_.clear();
        total_.clear();
    }

    Result<void> send_next() {
        const Nanoseconds due = schedule_.due_ns(sent_);
        if (now_ns() < due) wait_until(due, side_.options.waiting, side_.yield());
        auto loan = channels_.publisher->loan(payload_bytes_);
        if (!loan) return loan.error();
        write_timed_message(loan->bytes(), number_at(next_index_, instances_of(side_)), due, side_.options.handling);
        last_sent_ns_ = now_ns();
        if (sent_ == 0) first_sent_ns_ = last_sent_ns_;
        lateness_.record(static_cast<std::uint64_t>(last_sent_ns_ - due));
        ++next_index_;
        ++sent_;
        return publish(side_, std::move(*loan));
    }

    Result<void> end_phase() {
        const auto watch = [this] { return side_.monitor->fine(); };
        if (auto done = settle(side_.options, *channels_.publisher, watch); !done) return done;
        if (auto sent = side_.control.send(frame_of(PhaseEndFrame{{next_index_}})); !sent) return sent;
        const Deadline deadline{side_.limit() + drain_allowance};
        while (true) {
            auto frame = side_.control.receive(deadline.left());
            if (!frame) return frame.error();
            if (frame->kind == FrameKind::abort) return side_.control.gave_up(*frame);
            if (frame->kind == FrameKind::phase_done) return take_counts(read_frame<PhaseDoneFrame>(*frame));
            if (auto fine = heard(*frame); !fine) return fine;
            if (deadline.passed()) return side_.no_answer(0);
        }
    }

    Result<void> take_counts(const PhaseDoneFrame& counts) {
        if (counts.received > sent_ + counts.duplicated || counts.lost > sent_ || total_.count() > sent_)
            return side_.control.error(side_.control.peer() + " counts more messages than were sent");
        counts_ = counts;
        return {};
    }

    Result<void> heard(const Frame& frame) {
        if (frame.kind != FrameKind::histogram) return out_of_step(side_.control);
        const auto whole = reader_.add(frame);
        if (!whole.has_value()) return whole.error();
        if (!*whole) return {};
        const Histogram& interval = reader_.histogram;
        if (++intervals_ > side_.most_intervals() || total_.count() > most_counted)
            return side_.control.error(side_.control.peer() + " sends more intervals than there are");
        total_.merge(interval);
        if (warmup_ == nullptr) {
            side_.tell(LatencyInterval{payload_bytes_, index_++, reader_.duration_ns, &interval});
            return {};
        }
        // Runs on the monitor's thread, so it does not use variables of the publisher's thread.
        const Nanoseconds elapsed_ns = now_ns() - start_ns_.load(std::memory_order_relaxed);
        if (warmup_->second_passed(median_of(interval), total_.count(), elapsed_ns))
            steady_.store(true, std::memory_order_relaxed);
        return {};
    }

    Result<void> report() {
        const Faults faults{counts_.lost, counts_.duplicated, counts_.reordered,
                            known_corrupted(side_.options.handling, counts_.corrupted)};
        side_.tell(LatencyResult{payload_bytes_, faults, duration_ns_, &total_,
                                 tacholog::heard(side_, counts_.instances_heard)});
        const auto offered = rate_of(sent_, last_sent_ns_ - first_sent_ns_);
        const Histogram unknown;
        const Sending sending{payload_bytes_, planned_, sent_, rate(), offered, &lateness_, &unknown};
        side_.tell(sending);
        tell_generator_limits(side_, sending, total_);
        if (const std::uint64_t early = counts_.early; early > 0) {
            side_.tell(Failure{payload_bytes_, std::to_string(early) +
                                                   " messages arrived before they were due: the sides' clocks differ"});
        }
        if (total_.count() == 0) {
            side_.tell(Failure{payload_bytes_, "latency over " + std::string{side_.transport.name} + ": none of " +
                                                   std::to_string(sent_) + " messages arrived"});
        }
        return {};
    }

    const Side& side_;
    Channels channels_;
    std::size_t payload_bytes_;
    Schedule schedule_;
    SteadyRule* warmup_ = nullptr;
    std::atomic<bool> steady_{false};
    std::atomic<Nanoseconds> start_ns_{0};
    std::uint64_t planned_ = 0;
    std::uint64_t sent_ = 0;
    std::uint64_t next_index_ = 0;  ///< counted over all phases
    std::uint64_t index_ = 0;
    std::uint64_t intervals_ = 0;  ///< the number of intervals received in this phase
    Nanoseconds first_sent_ns_ = 0;
    Nanoseconds last_sent_ns_ = 0;
    Nanoseconds duration_ns_ = 0;
    HistogramReader reader_;
    Histogram total_;  ///< latencies, measured from the intended send time
    Histogram lateness_;
    PhaseDoneFrame counts_;
};

}  // namespace

Result<void> run_one_way_publisher(const Side& side, const Case& measured) {
    auto channels = open_channels_as_publisher(side, measured);
    if (!channels) return channels.error();
    return OneWaySender{side, std::move(*channels), measured.payload_bytes}.run();
}

}  // namespace tacholog
