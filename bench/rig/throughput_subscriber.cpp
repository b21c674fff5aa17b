// The throughput and the demand test at the subscriber: takes what comes, counts it, and reports to the publisher each
// second and at the end of each phase (the warm-up, then the measurement).
#include <algorithm>
#include <atomic>

#include "base/instances.hpp"
#include "base/waiting.hpp"
#include "rig/count_intervals.hpp"
#include "rig/intake.hpp"
#include "rig/probes.hpp"
#include "rig/side.hpp"

namespace tacholog {
namespace {

/// After the publisher has ended, nothing more is expected of a lossy transport once it was silent for so long.
constexpr Patience drain_silence{200};

/// Nor of one that leaves slow subscribers behind, but repairs for them what it still has.
constexpr Patience repair_silence{1000};

template <typename Check>
class Sink {
public:
    Sink(const Side& side, Channels channels, const Case& measured, const Check& check)
        : side_(side),
          answers_(std::move(channels.publisher)),
          payload_bytes_(measured.payload_bytes),
          demand_(measured.demand),
          messages_a_look_(messages_between_looks(payload_bytes_)),
          probes_(side.options.probe_every, instances_of(side)),
          intervals_(side.intervals(most_counts_kept)) {
        const Handling handling = side.options.handling;
        intakes_.emplace_back(std::move(channels.subscriber), check, handling);
        for (auto& subscriber : channels.more_subscribers)
            intakes_.emplace_back(std::move(subscriber), check, handling);
    }

    Result<void> run() {
        const MonitorGuard guard{*side_.monitor};
        if (auto warmed_up = phase(false); !warmed_up) return warmed_up;
        if (auto measured = phase(true); !measured) return measured;
        return send_counts();
    }

private:
    Result<void> phase(bool measured) {
        begin(measured);
        const auto heard = [this](const Frame& frame, std::size_t) { return hear(frame); };
        side_.monitor->begin({heard, [this] { return collect(); }, side_.placement.live});
        // The publisher begins this phase when it has the counts of the one before: from here on we are ready.
        if (auto sent = send_counts(); !sent) return sent;
        const auto taken = take_all();
        side_.monitor->end();
        // A run that failed shows what it had found until then, in a log of its own.
        if (auto collected = collect(); taken && !collected) return collected;
        if (!taken) return taken;
        for (auto& intake : intakes_) intake.end_phase();
        if (auto reported = report_rest(); !reported) return reported;
        for (std::size_t at = 0; at < intakes_.size(); ++at) finish(intakes_[at], at);
        return {};
    }

    void begin(bool measured) {
        for (auto& intake : intakes_) intake.begin_phase();
        intervals_.begin();
        index_ = 0;
        measured_ = measured;
        heard_end_ = false;
        ended_ = false;
    }

    Result<void> take_all() {
        Silence silence{side_.limit()};
        while (!complete()) {
            const auto taken = take_some();
            if (!taken) return taken.error();
            const Nanoseconds now = now_ns();
            if (*taken || !ended_) close_interval(now);  // behind the end, silence is no part of an interval
            if (*taken && now < next_pulse_ns_) continue;
            next_pulse_ns_ = now + pulse_ns;
            const auto over = silent_for_good(*taken, silence);
            if (!over) return over.error();
            if (*over) break;
        }
        return {};
    }

    bool complete() const {
        if (!ended_) return false;
        return std::all_of(intakes_.begin(), intakes_.end(), [](const auto& intake) { return intake.complete(); });
    }

    /// Minds what the monitor has heard of the publisher. True if nothing more can be expected of this phase, though
    /// messages are missing.
    Result<bool> silent_for_good(bool taken, Silence& silence) {
        if (auto fine = side_.monitor->fine(); !fine) return fine.error();
        learn_end();
        const std::uint64_t frames = side_.monitor->frames();
        const bool heard = std::exchange(frames_, frames) != frames;
        const bool drains = ended_ && lossy();
        if (taken || heard) silence.begin(drains ? drain_patience() : side_.limit());
        if (taken || heard || !silence.passed()) return false;
        if (drains) return true;
        if (ended_) return Error{"take: messages are missing from a transport that loses none"};
        return Error{"take: nothing from the publisher within the time limit"};
    }

    /// Takes up to a look's worth of messages from each publisher. False if none came within a slice.
    Result<bool> take_some() {
        const auto fresh = [this](std::uint64_t number) { return answer_if_probe(number); };
        if (intakes_.size() == 1) return intakes_.front().take(messages_a_look_, slice, fresh);
        BusyPoll poll{slice, Waiting::busy_poll, side_.yield()};
        bool any = false;
        do {
            for (auto& intake : intakes_) {
                const auto taken = intake.take(messages_a_look_, Patience{0}, fresh);
                if (!taken) return taken.error();
                any = any || *taken;
            }
        } while (!any && poll.wait());
        return any;
    }

    /// The publisher takes answers whatever else it waits for, so that room for one comes.
    Result<void> answer_if_probe(std::uint64_t number) {
        if (side_.options.probe_every == 0 || !probes_.includes(place_of(number, instances_of(side_)))) return {};
        auto loan = answers_->loan(payload_bytes_);
        if (!loan) return loan.error();
        write_message(loan->bytes(), number, side_.options.handling);
        return publish(side_, std::move(*loan));
    }

    Patience drain_patience() const {
        return side_.transport.reliability == Reliability::best_effort ? drain_silence : repair_silence;
    }

    bool lossy() const {
        return side_.transport.reliability == Reliability::best_effort ||
               side_.options.audience.slow == SlowSubscriber::drop;
    }

    /// On the monitor's thread.
    Result<void> hear(const Frame& frame) {
        if (frame.kind == FrameKind::alive) return {};
        auto ends = PhaseEndFrame::of(frame).ends;
        const bool is_due = frame.kind == FrameKind::phase_end && !heard_end_ && ends.size() == intakes_.size();
        if (!is_due) return out_of_step(side_.control);
        for (std::size_t at = 0; at < ends.size(); ++at) {
            if (ends[at] < intakes_[at].first) return out_of_step(side_.control);
        }
        heard_ends_ = std::move(ends);
        heard_end_.store(true, std::memory_order_release);
        return {};
    }

    void learn_end() {
        if (ended_ || !heard_end_.load(std::memory_order_acquire)) return;
        ended_ = true;
        for (std::size_t at = 0; at < intakes_.size(); ++at) intakes_[at].end = heard_ends_[at];
    }

    /// Hands the current interval over once it is over. Intervals are counted from the first message.
    void close_interval(Nanoseconds now) {
        if (!measured_) return;
        if (!intervals_.begun()) begin_intervals();
        if (intervals_.is_over(now)) intervals_.hand_over(now, so_far());
    }

    void begin_intervals() {
        Nanoseconds first_ns = 0;
        for (const auto& intake : intakes_) {
            if (intake.first_ns > 0) first_ns = first_ns == 0 ? intake.first_ns : std::min(first_ns, intake.first_ns);
        }
        if (first_ns > 0) intervals_.first_came(first_ns);
    }

    CountIntervals::SoFar so_far() const {
        CountIntervals::SoFar sum;
        for (const auto& intake : intakes_) {
            sum.received += intake.sequence.received();
            sum.lost += intake.lost_so_far();
        }
        return sum;
    }

    /// Reports what was handed over: while the phase lasts on the monitor's thread, else behind it.
    Result<void> collect() {
        while (const CountRecord* record = intervals_.oldest()) {
            if (auto reported = report(*record); !reported) return reported;
            intervals_.give_back();
        }
        return {};
    }

    Result<void> report(const CountRecord& record) {
        side_.tell(ThroughputInterval{payload_bytes_, index_, record.duration_ns, record.messages, record.lost, demand_,
                                      side_.name});
        const IntervalFrame interval{index_++, record.duration_ns, record.messages, record.lost};
        return side_.control.send(interval.frame(), side_.limit());
    }

    /// Reports what is left behind the last interval, now that all of the phase is known.
    Result<void> report_rest() {
        if (!measured_) return {};
        if (!intervals_.begun()) begin_intervals();
        Nanoseconds last_ns = 0;
        CountIntervals::SoFar total;
        for (const auto& intake : intakes_) {
            last_ns = std::max(last_ns, intake.last_ns);
            total.received += intake.sequence.received();
            total.lost += intake.lost();
        }
        const auto rest = intervals_.rest(last_ns, now_ns(), total);
        return rest ? report(*rest) : Result<void>{};
    }

    void finish(const Intake<Check>& intake, std::size_t at) {
        const auto& sequence = intake.sequence;
        const Nanoseconds duration = intake.last_ns - intake.first_ns;
        Faults faults{intake.lost(), sequence.duplicated(), sequence.reordered(), std::nullopt};
        const auto instances = heard(side_, sequence.heard());
        counts_.push_back({.received = sequence.received(),
                           .lost = faults.lost,
                           .duplicated = faults.duplicated,
                           .reordered = faults.reordered,
                           .corrupted = intake.corrupted,
                           .duration_ns = duration,
                           .instances_heard = sequence.heard()});
        if (!measured_) return;
        faults.corrupted = known_corrupted(side_.options.handling, intake.corrupted);
        const std::string participant = intakes_.size() > 1 ? name_of_publisher(at) : side_.name;
        const std::uint64_t sent = intake.next_first - intake.first;
        const Batches batches = batches_of(side_.options, payload_bytes_);
        if (demand_) {
            side_.tell(DemandResult{payload_bytes_, *demand_, sent, sequence.received(), faults, std::nullopt, duration,
                                    participant, instances, batches});
        } else {
            side_.tell(ThroughputResult{payload_bytes_, sent, sequence.received(), faults, duration, std::nullopt,
                                        participant, instances, batches});
        }
    }

    /// Of the phase before, if there was one.
    Result<void> send_counts() {
        for (const PhaseDoneFrame& counts : std::exchange(counts_, {})) {
            if (auto sent = side_.control.send(counts.frame()); !sent) return sent;
        }
        return {};
    }

    const Side& side_;
    std::unique_ptr<Publisher> answers_;  ///< to probes, if there are any
    std::vector<Intake<Check>> intakes_;  ///< one a publisher
    std::size_t payload_bytes_;
    std::optional<Demand> demand_;
    std::size_t messages_a_look_;
    ProbePlan probes_;
    bool measured_ = false;                  ///< else it is the warm-up
    bool ended_ = false;                     ///< whether the publisher has said where the phase ends
    std::atomic<bool> heard_end_{false};     ///< the same, as the monitor heard it...
    std::vector<std::uint64_t> heard_ends_;  ///< ...and what was said
    std::vector<PhaseDoneFrame> counts_;     ///< of the last phase, until they are sent
    std::uint64_t frames_ = 0;               ///< that had come when the monitor was last asked
    CountIntervals intervals_;
    Nanoseconds next_pulse_ns_ = 0;
    std::uint64_t index_ = 0;  ///< of the next interval that is reported
};

}  // namespace

Result<void> run_throughput_subscriber(const Side& side, const Frame& open) {
    auto channels = open_channels_as_subscriber(side, open);
    if (!channels) return channels.error();
    const Case measured = OpenFrame::of(open).measured;
    if (const auto instances = side.options.instances) {
        return Sink{side, std::move(*channels), measured, KeyedSequence{*instances}}.run();
    }
    return Sink{side, std::move(*channels), measured, Sequence{0}}.run();
}

}  // namespace tacholog
