// One-way latency at the subscriber: the time from when a message was due until it has been taken and read, on the one
// clock that both sides have.
#include <algorithm>
#include <atomic>

#include "base/instances.hpp"
#include "rig/one_way.hpp"
#include "rig/side.hpp"

namespace tacholog {
namespace {

/// After the publisher has ended, nothing more is expected of a lossy transport once it was silent for so long.
constexpr Patience drain_silence{200};

/// `Check` is what keeps account of the messages: Sequence, or of keyed data KeyedSequence.
template <typename Check>
class OneWayTaker {
public:
    OneWayTaker(const Side& side, Channels channels, std::size_t payload_bytes, Check check)
        : side_(side),
          channels_(std::move(channels)),
          payload_bytes_(payload_bytes),
          sequence_(std::move(check)),
          intervals_(side.intervals(most_histograms_kept)),
          records_(intervals_.records) {}

    Result<void> run() {
        const MonitorGuard guard{*side_.monitor};
        for (const bool measured : {false, true}) {
            if (auto done = phase(measured); !done) return done;
        }
        return send_counts();
    }

private:
    /// Takes one phase, whose messages begin behind those of the phase before.
    Result<void> phase(bool measured) {
        const std::uint64_t first = next_first_;
        sequence_.restart(first);
        begin(measured);
        const auto hear = [this, first](const Frame& frame, std::size_t) -> Result<void> {
            if (frame.kind == FrameKind::alive) return {};
            const auto ends = PhaseEndFrame::of(frame).ends;
            if (frame.kind != FrameKind::phase_end || ended() || ends.size() != 1 || ends.front() < first)
                return out_of_step(side_.control);
            end_.store(ends.front(), std::memory_order_release);
            return {};
        };
        side_.monitor->begin({hear, [this] { return collect(); }, !measured || side_.placement.live});
        // The publisher begins this phase when it has the counts of the one before: from here on we are ready.
        if (auto sent = send_counts(); !sent) return sent;
        const auto taken = take_all(measured ? intervals_.length_ns : nanoseconds_per_second);
        side_.monitor->end();
        // A run that failed shows what it had found until then, in a log of its own.
        if (auto collected = collect(); taken && !collected) return collected;
        return taken ? finish(first) : taken;
    }

    Result<void> take_all(Nanoseconds interval_ns) {
        start_ns_ = interval_start_ns_ = now_ns();
        Silence silence{side_.limit()};
        Nanoseconds next_pulse = start_ns_;
        while (!complete()) {
            const auto taken = take();
            if (!taken) return taken.error();
            const Nanoseconds now = now_ns();
            if (now - interval_start_ns_ >= interval_ns) hand_over(now);
            if (*taken && now < next_pulse) continue;
            next_pulse = now + pulse_ns;
            if (auto fine = side_.monitor->fine(); !fine) return fine;
            const std::uint64_t frames = side_.monitor->frames();
            const auto over = silent_for_good(*taken || std::exchange(frames_, frames) != frames, silence);
            if (!over) return over.error();
            if (*over) break;
        }
        close_interval(now_ns());
        return {};
    }

    /// True if nothing more can be expected of this phase, though messages are missing.
    Result<bool> silent_for_good(bool heard, Silence& silence) const {
        const bool drains = ended() && side_.transport.reliability == Reliability::best_effort;
        if (heard) silence.begin(drains ? drain_silence : side_.limit());
        if (heard || !silence.passed()) return false;
        if (drains) return true;
        return Error{"take: nothing from the publisher within the time limit"};
    }

    void begin(bool measured) {
        measured_ = measured;
        end_ = not_yet;
        early_ = index_ = corrupted_ = 0;
        total_.clear();
        interval_ = &records_.current();
    }

    bool ended() const { return end_.load(std::memory_order_acquire) != not_yet; }

    bool complete() const {
        const std::uint64_t end = end_.load(std::memory_order_acquire);
        return end != not_yet && sequence_.lost(end) == 0;
    }

    Result<bool> take() {
        const auto sample = channels_.subscriber->take(slice);
        if (!sample) return sample.error();
        if (!*sample) return false;
        const auto message = read_timed_message((*sample)->bytes(), side_.options.handling);
        const Nanoseconds latency = message.age_ns(now_ns());
        const auto arrival = message.identified ? sequence_.arrived(message.number) : Arrival::foreign;
        if (arrival == Arrival::foreign) {
            sequence_.arrived_unidentified();
            ++corrupted_;
        }
        if (arrival != Arrival::in_order && arrival != Arrival::reordered) return true;
        if (latency < 0) {
            ++early_;
        } else {
            interval_->histogram.record(static_cast<std::uint64_t>(latency));
        }
        return true;
    }

    void close_interval(Nanoseconds now) { interval_->duration_ns = now - interval_start_ns_; }

    /// Goes on with this interval if the records are all out.
    void hand_over(Nanoseconds now) {
        close_interval(now);
        if (!records_.hand_over()) return;
        interval_ = &records_.current();
        interval_start_ns_ = now;
    }

    /// Reports what was handed over: while the phase lasts on the monitor's thread, else behind it.
    Result<void> collect() {
        while (LatencyRecord* record = records_.oldest()) {
            if (auto reported = report(*record); !reported) return reported;
            records_.give_back();
        }
        return {};
    }

    Result<void> report(LatencyRecord& record) {
        Histogram& interval = record.histogram;
        if (measured_)
            side_.tell(LatencyInterval{payload_bytes_, index_++, record.duration_ns, &interval, interval.max_ns()});
        const Deadline deadline{side_.limit()};
        for (const Frame& frame : frames_of(interval, record.duration_ns)) {
            if (auto sent = side_.control.send(frame, deadline.left()); !sent) return sent;
        }
        total_.merge(interval);
        interval.clear();
        return {};
    }

    Result<void> finish(std::uint64_t first) {
        const Nanoseconds now = now_ns();
        if (interval_->histogram.count() > 0 || total_.count() == 0) {
            if (auto reported = report(*interval_); !reported) return reported;
        }
        next_first_ = std::max({end_.load(), sequence_.next(), first});
        sequence_.settle(next_first_);
        const Faults faults{sequence_.lost(next_first_), sequence_.duplicated(), sequence_.reordered(),
                            known_corrupted(side_.options.handling, corrupted_)};
        counts_ = OneWayDoneFrame{.received = sequence_.received(),
                                  .lost = faults.lost,
                                  .duplicated = faults.duplicated,
                                  .reordered = faults.reordered,
                                  .corrupted = corrupted_,
                                  .early = early_,
                                  .instances_heard = sequence_.heard()};
        if (!measured_) return {};
        side_.tell(LatencyResult{payload_bytes_, faults, now - start_ns_, &total_, heard(side_, sequence_.heard())});
        return {};
    }

    /// Of the phase before, if there was one.
    Result<void> send_counts() {
        if (!counts_) return {};
        return side_.control.send(std::exchange(counts_, std::nullopt)->frame());
    }

    static constexpr std::uint64_t not_yet = UINT64_MAX;

    const Side& side_;
    Channels channels_;
    std::size_t payload_bytes_;
    Check sequence_;
    bool measured_ = false;
    std::atomic<std::uint64_t> end_{not_yet};  ///< where the phase ends, once the publisher has said so
    std::uint64_t next_first_ = 0;             ///< the message that the next phase begins with
    std::optional<OneWayDoneFrame> counts_;    ///< of the last phase, until they are sent
    std::uint64_t frames_ = 0;                 ///< that had come when the monitor was last asked
    std::uint64_t early_ = 0;                  ///< messages that came before they were due
    std::uint64_t corrupted_ = 0;              ///< whose header was, which holds the time too
    std::uint64_t index_ = 0;
    Nanoseconds start_ns_ = 0;
    Nanoseconds interval_start_ns_ = 0;
    IntervalPlan intervals_;
    HandOver<LatencyRecord> records_;
    LatencyRecord* interval_ = nullptr;  ///< the current one
    Histogram total_;
};

}  // namespace

Result<void> run_one_way_subscriber(const Side& side, const Frame& open) {
    auto channels = open_channels_as_subscriber(side, open);
    if (!channels) return channels.error();
    const std::size_t payload_bytes = OpenFrame::of(open).measured.payload_bytes;
    if (const auto instances = side.options.instances)
        return OneWayTaker{side, std::move(*channels), payload_bytes, KeyedSequence{*instances}}.run();
    return OneWayTaker{side, std::move(*channels), payload_bytes, Sequence{0}}.run();
}

}  // namespace tacholog
