// The throughput and the demand test at the subscriber: takes what comes, counts it, and reports to the publisher each
// second and at the end of each phase (the warm-up, then the measurement).
#include <algorithm>

#include "core/instances.hpp"
#include "core/side.hpp"

namespace tacholog {
namespace {

/// After the publisher has ended, nothing more is expected of a lossy transport once it was silent for so long.
constexpr Patience drain_silence{200};

/// Nor of one that leaves slow subscribers behind, but repairs for them what it still has.
constexpr Patience repair_silence{1000};

/// One phase's messages, from the first that arrives.
template <typename Check>
class Intake {
public:
    Intake(Check& check, Handling handling) : sequence(check), handling_(handling) {}

    /// The message's number, if it had not come before.
    std::optional<std::uint64_t> add(const Sample& sample) {
        const auto message = read_message(sample.bytes(), handling_);
        const Arrival arrival = sequence.arrived(message.number);
        if (arrival == Arrival::stale) return std::nullopt;
        if (!message.intact) ++corrupted;
        if (arrival == Arrival::in_order || arrival == Arrival::reordered) return message.number;
        return std::nullopt;
    }

    Check& sequence;
    std::uint64_t corrupted = 0;
    Nanoseconds first_ns = 0;  ///< 0: nothing has come yet
    Nanoseconds last_ns = 0;

private:
    Handling handling_;
};

std::optional<Instances> instances_of(const Sequence&, const Options&) {
    return std::nullopt;
}

std::optional<Instances> instances_of(const KeyedSequence& sequence, const Options& options) {
    return Instances{*options.instances, sequence.heard()};
}

/// `Check` is what keeps account of the messages: Sequence, or of keyed data KeyedSequence.
template <typename Check>
class Sink {
public:
    Sink(const Side& side, Channels channels, const Case& measured, Check check)
        : side_(side),
          channels_(std::move(channels)),
          payload_bytes_(measured.payload_bytes),
          demand_(measured.demand),
          check_(std::move(check)),
          messages_a_look_(std::clamp<std::size_t>(bytes_a_look / payload_bytes_, 1, most_messages_a_look)) {}

    Result<void> run() {
        return warm_up_and_measure([this](std::uint64_t first, bool measured) { return phase(first, measured); });
    }

private:
    static constexpr std::size_t bytes_a_look = 16384;
    static constexpr std::size_t most_messages_a_look = 64;

    /// Takes one phase whose messages begin with `first`; returns the number that the next one begins with.
    Result<std::uint64_t> phase(std::uint64_t first, bool measured) {
        check_.restart(first);
        Intake<Check> intake{check_, side_.options.handling};
        interval_index_ = interval_received_ = interval_lost_ = 0;
        measured_ = measured;
        end_.reset();
        Deadline silence{side_.limit()};
        while (!complete(intake)) {
            const auto taken = take_some(intake);
            if (!taken) return taken.error();
            const Nanoseconds now = now_ns();
            close_intervals(intake, first, now);
            if (*taken && now < next_pulse_ns_) continue;
            next_pulse_ns_ = now + pulse_ns;
            const auto over = silent_for_good(*taken, silence);
            if (!over) return over.error();
            if (*over) break;
        }
        return finish(intake, first);
    }

    /// Listens to the publisher. True if nothing more can be expected of this phase, though messages are missing.
    Result<bool> silent_for_good(bool taken, Deadline& silence) {
        const auto heard = listen();
        if (!heard) return heard.error();
        const bool drains = end_ && lossy();
        if (taken || *heard) silence = Deadline{drains ? drain_patience() : side_.limit()};
        if (!silence.passed()) return false;
        if (drains) return true;
        if (end_) return Error{"take: messages are missing from a transport that loses none"};
        return Error{"take: nothing from the publisher within the time limit"};
    }

    /// Takes up to a look's worth of messages. False if none came within a slice.
    Result<bool> take_some(Intake<Check>& intake) {
        Patience patience = slice;
        for (std::size_t count = 0; count < messages_a_look_; ++count) {
            const auto sample = channels_.subscriber->take(patience);
            if (!sample) return sample.error();
            if (!*sample) {
                // The stream has a gap: this is the one moment to say when the message before it was taken.
                if (count > 0) intake.last_ns = now_ns();
                return count > 0;
            }
            if (intake.first_ns == 0) begin(intake);
            const auto number = intake.add(**sample);
            if (is_probe(number)) {
                if (auto answered = answer(*number); !answered) return answered.error();
            }
            patience = Patience{0};
        }
        intake.last_ns = now_ns();
        return true;
    }

    bool is_probe(std::optional<std::uint64_t> number) const {
        const std::size_t every = side_.options.probe_every;
        return every > 0 && number && *number % every == 0;
    }

    /// The publisher takes answers whatever else it waits for, so that room for one comes.
    Result<void> answer(std::uint64_t number) {
        auto loan = channels_.publisher->loan(payload_bytes_);
        if (!loan) return loan.error();
        write_message(loan->bytes(), number, side_.options.handling);
        return publish(side_, std::move(*loan), [this](const Frame& frame, std::size_t) { hear(frame); });
    }

    void begin(Intake<Check>& intake) { intake.first_ns = intake.last_ns = interval_start_ns_ = now_ns(); }

    bool complete(const Intake<Check>& intake) const {
        return end_ && intake.sequence.next() >= *end_ && intake.sequence.lost(*end_) == 0;
    }

    Patience drain_patience() const {
        return side_.transport.reliability == Reliability::best_effort ? drain_silence : repair_silence;
    }

    bool lossy() const {
        return side_.transport.reliability == Reliability::best_effort ||
               side_.options.audience.slow == SlowSubscriber::drop;
    }

    /// Reads the control channel. True if something was there.
    Result<bool> listen() {
        const auto frame = side_.control.poll();
        if (!frame) return frame.error();
        if (*frame) hear(**frame);
        return frame->has_value();
    }

    void hear(const Frame& frame) {
        if (frame.kind == FrameKind::phase_end) end_ = frame.number(0);
    }

    void close_intervals(const Intake<Check>& intake, std::uint64_t first, Nanoseconds now) {
        if (!measured_ || intake.first_ns == 0 || now - interval_start_ns_ < nanoseconds_per_second) return;
        const auto& sequence = intake.sequence;
        const std::uint64_t received = sequence.received() - interval_received_;
        // A late message makes the loss so far smaller; an interval's loss is never below nothing.
        const std::uint64_t lost_so_far = sequence.next() > first ? sequence.lost(sequence.next()) : 0;
        const std::uint64_t lost = lost_so_far - std::min(lost_so_far, interval_lost_);
        const Frame frame{FrameKind::interval,
                          {interval_index_, static_cast<std::uint64_t>(now - interval_start_ns_), received, lost}};
        side_.tell(ThroughputInterval{payload_bytes_, interval_index_, now - interval_start_ns_, received, lost,
                                      demand_, side_.name});
        // Best effort: without it the publisher's log lacks a line, and a broken channel shows at the next pulse.
        static_cast<void>(side_.control.send(frame).has_value());
        ++interval_index_;
        interval_received_ = sequence.received();
        interval_lost_ = lost_so_far;
        interval_start_ns_ = now;
    }

    Result<std::uint64_t> finish(const Intake<Check>& intake, std::uint64_t first) {
        const auto& sequence = intake.sequence;
        const std::uint64_t end = std::max(*end_, sequence.next());
        const Nanoseconds duration = intake.last_ns - intake.first_ns;
        Faults faults{sequence.lost(end), sequence.duplicated(), sequence.reordered(), std::nullopt};
        const auto instances = instances_of(sequence, side_.options);
        Frame frame{FrameKind::phase_done,
                    {sequence.received(), faults.lost, faults.duplicated, faults.reordered, intake.corrupted,
                     static_cast<std::uint64_t>(duration)}};
        if (instances) frame.numbers.push_back(instances->heard);
        if (const auto sent = side_.control.send(frame); !sent) return sent.error();
        if (side_.options.handling.verify) faults.corrupted = intake.corrupted;
        if (measured_) tell(end - first, sequence.received(), faults, duration, instances);
        return end;
    }

    void tell(std::uint64_t sent, std::uint64_t received, const Faults& faults, Nanoseconds duration,
              std::optional<Instances> instances) {
        const Batches batches = batches_of(side_.options, payload_bytes_);
        if (demand_) {
            side_.tell(DemandResult{payload_bytes_, *demand_, sent, received, faults, std::nullopt, duration,
                                    side_.name, instances, batches});
        } else {
            side_.tell(ThroughputResult{payload_bytes_, sent, received, faults, duration, std::nullopt, side_.name,
                                        instances, batches});
        }
    }

    const Side& side_;
    Channels channels_;
    std::size_t payload_bytes_;
    std::optional<Demand> demand_;
    Check check_;
    std::size_t messages_a_look_;
    bool measured_ = false;             ///< else it is the warm-up
    std::optional<std::uint64_t> end_;  ///< where the phase ends, once the publisher has said so
    Nanoseconds next_pulse_ns_ = 0;
    Nanoseconds interval_start_ns_ = 0;
    std::uint64_t interval_index_ = 0;
    std::uint64_t interval_received_ = 0;
    std::uint64_t interval_lost_ = 0;
};

}  // namespace

Result<void> run_throughput_subscriber(const Side& side, const Frame& open) {
    auto channels = open_channels_as_subscriber(side, open);
    if (!channels) return channels.error();
    if (const auto instances = side.options.instances) {
        return Sink{side, std::move(*channels), case_of(open), KeyedSequence{*instances}}.run();
    }
    return Sink{side, std::move(*channels), case_of(open), Sequence{0}}.run();
}

}  // namespace tacholog
