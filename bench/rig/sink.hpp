// The phases of a subscriber: warm-up, then measurement. The publisher says how many messages it has sent. The
// subscriber takes messages until all of these have arrived, and then sends its counts. Each test has a class of its
// own that processes the messages.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/instances.hpp"
#include "rig/intake.hpp"
#include "rig/side.hpp"

namespace tacholog {

/// Over a lossy transport, missing messages count as lost when nothing has arrived for this time after the publisher
/// has ended.
inline constexpr Patience drain_silence{200};

/// This time replaces `drain_silence` for transports that drop messages for slow subscribers. It is longer than
/// `drain_silence`, because such a transport first sends missing packets again, if it still has these packets.
inline constexpr Patience repair_silence{1000};

/// The counts of the messages from one publisher at the end of a phase.
template <typename Check>
PhaseDoneFrame counts_of(const Intake<Check>& intake) {
    const Check& sequence = intake.sequence;
    return {.received = sequence.received(),
            .lost = intake.lost(),
            .duplicated = sequence.duplicated(),
            .reordered = sequence.reordered(),
            .corrupted = intake.corrupted,
            .duration_ns = intake.last_ns - intake.first_ns,
            .instances_heard = sequence.heard()};
}

inline Faults faults_of(const Side& side, const PhaseDoneFrame& counts) {
    return {counts.lost, counts.duplicated, counts.reordered, known_corrupted(side.options.handling, counts.corrupted)};
}

/// Runs the phases of a subscriber. The class `Check` counts the messages by their numbers: Sequence, or KeyedSequence
/// for keyed data. Each test has its own class for `Record`. This class takes the messages, reports the intervals, and
/// writes the results of a phase.
template <typename Check, template <typename> typename Record>
class Sink {
public:
    Sink(const Side& side, Channels channels, const Case& measured, const Check& check)
        : side_(side), record_(side, measured, std::move(channels.publisher)) {
        intakes_.emplace_back(std::move(channels.subscriber), check);
        for (auto& subscriber : channels.more_subscribers) intakes_.emplace_back(std::move(subscriber), check);
    }

    Result<void> run() {
        const MonitorGuard guard{*side_.monitor};
        for (const bool measured : {false, true}) {
            if (auto done = phase(measured); !done) return done;
        }
        return send_counts();
    }

private:
    Result<void> phase(bool measured) {
        for (auto& intake : intakes_) intake.begin_phase();
        heard_end_ = false;
        ended_ = false;
        const auto heard = [this](const Frame& frame, std::size_t) { return hear(frame); };
        side_.monitor->begin({heard, [this] { return record_.collect(); }, record_.is_live(measured)});
        // The publisher starts this phase as soon as it has the counts of the previous one, so this side must be ready
        // now.
        if (auto sent = send_counts(); !sent) return sent;
        record_.begin(measured);
        const auto taken = take_all();
        side_.monitor->end();
        // The intervals are reported even if the phase failed, so that the log of this side shows them.
        if (auto collected = record_.collect(); taken && !collected) return collected;
        if (!taken) return taken;
        for (auto& intake : intakes_) intake.end_phase();
        auto counts = record_.finish(intakes_);
        if (!counts) return counts.error();
        counts_ = std::move(*counts);
        return {};
    }

    Result<void> take_all() {
        Silence silence{side_.limit()};
        Nanoseconds next_pulse = 0;
        while (!complete()) {
            const Result<Done> some = record_.take(intakes_);
            if (!some.has_value()) return some.error();
            const bool taken = *some == Done::yes;
            const Nanoseconds now = now_ns();
            // After the end of the phase, time without messages does not belong to any interval.
            if (taken || !ended_) record_.pass(now, intakes_);
            if (taken && now < next_pulse) continue;
            next_pulse = now + pulse_ns;
            const auto over = silent_for_good(taken, silence);
            if (!over.has_value()) return over.error();
            if (*over) break;
        }
        return {};
    }

    bool complete() const {
        if (!ended_) return false;
        return std::all_of(intakes_.begin(), intakes_.end(), [](const auto& intake) { return intake.complete(); });
    }

    /// Returns true if messages of this phase are missing, and are no longer expected.
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

    Patience drain_patience() const {
        return side_.transport.reliability == Reliability::best_effort ? drain_silence : repair_silence;
    }

    bool lossy() const {
        return side_.transport.reliability == Reliability::best_effort ||
               side_.options.audience.slow == SlowSubscriber::drop;
    }

    /// Called on the monitor's thread.
    Result<void> hear(const Frame& frame) {
        if (frame.kind == FrameKind::alive) return {};
        auto ends = read_frame<PhaseEndFrame>(frame).ends;
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

    Result<void> send_counts() {
        for (const PhaseDoneFrame& counts : std::exchange(counts_, {})) {
            if (auto sent = side_.control.send(frame_of(counts)); !sent) return sent;
        }
        return {};
    }

    const Side& side_;
    Record<Check> record_;
    std::vector<Intake<Check>> intakes_;  ///< one for each publisher
    bool ended_ = false;                  ///< the measuring thread knows that the publisher has ended the phase
    /// Whether the monitor knows that the publisher has ended the phase; set after heard_ends_.
    std::atomic<bool> heard_end_{false};
    std::vector<std::uint64_t> heard_ends_;  ///< for each publisher, the end of the phase that the monitor has received
    std::vector<PhaseDoneFrame> counts_;     ///< the counts of the last phase, until they are sent
    std::uint64_t frames_ = 0;               ///< received frames when the monitor was last checked
};

template <template <typename> typename Record>
Result<void> run_sink(const Side& side, const Frame& open) {
    auto channels = open_channels_as_subscriber(side, open);
    if (!channels) return channels.error();
    const Case measured = read_frame<OpenFrame>(open).measured;
    if (const auto instances = side.options.instances)
        return Sink<KeyedSequence, Record>{side, std::move(*channels), measured, KeyedSequence{*instances}}.run();
    return Sink<Sequence, Record>{side, std::move(*channels), measured, Sequence{0}}.run();
}

}  // namespace tacholog
