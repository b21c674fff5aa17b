// One-way latency at the subscriber: the time from when a message was due until it has been taken and read, on the one
// clock that both sides have.
#include <algorithm>

#include "core/instances.hpp"
#include "core/one_way.hpp"
#include "core/side.hpp"

namespace tacholog {
namespace {

/// After the publisher has ended, nothing more is expected of a lossy transport once it was silent for so long.
constexpr Patience drain_silence{200};

/// `Check` is what keeps account of the messages: Sequence, or of keyed data KeyedSequence.
template <typename Check>
class OneWayTaker {
public:
    OneWayTaker(const Side& side, Channels channels, std::size_t payload_bytes, Check check)
        : side_(side), channels_(std::move(channels)), payload_bytes_(payload_bytes), sequence_(std::move(check)) {}

    Result<void> run() {
        return warm_up_and_measure([this](std::uint64_t first, bool measured) { return phase(first, measured); });
    }

private:
    /// Takes one phase whose messages begin with `first`; returns the number that the next one begins with.
    Result<std::uint64_t> phase(std::uint64_t first, bool measured) {
        sequence_.restart(first);
        begin(measured);
        Deadline silence{side_.limit()};
        Nanoseconds next_pulse = now_ns();
        while (!complete()) {
            const auto taken = take();
            if (!taken) return taken.error();
            const Nanoseconds now = now_ns();
            if (*taken && now < next_pulse) continue;
            next_pulse = now + pulse_ns;
            const auto heard = listen();
            if (!heard) return heard.error();
            if (now - second_ns_ >= nanoseconds_per_second) {
                if (auto sent = end_second(now); !sent) return sent.error();
            }
            const auto over = silent_for_good(*taken || *heard, silence);
            if (!over) return over.error();
            if (*over) break;
        }
        return finish(first);
    }

    /// True if nothing more can be expected of this phase, though messages are missing.
    Result<bool> silent_for_good(bool heard, Deadline& silence) const {
        const bool drains = end_ && side_.transport.reliability == Reliability::best_effort;
        if (heard) silence = Deadline{drains ? drain_silence : side_.limit()};
        if (!silence.passed()) return false;
        if (drains) return true;
        return Error{"take: nothing from the publisher within the time limit"};
    }

    void begin(bool measured) {
        measured_ = measured;
        end_.reset();
        early_ = index_ = corrupted_ = 0;
        total_.clear();
        interval_.clear();
        start_ns_ = second_ns_ = now_ns();
    }

    bool complete() const { return end_ && sequence_.lost(*end_) == 0; }

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
            interval_.record(static_cast<std::uint64_t>(latency));
        }
        return true;
    }

    Result<bool> listen() {
        const auto frame = side_.control.poll();
        if (!frame) return frame.error();
        if (*frame && (*frame)->kind == FrameKind::phase_end) end_ = (*frame)->number(0);
        return frame->has_value();
    }

    Result<void> end_second(Nanoseconds now) {
        const Nanoseconds duration = now - std::exchange(second_ns_, now);
        if (measured_) side_.tell(LatencyInterval{payload_bytes_, index_++, duration, &interval_, interval_.max_ns()});
        for (const Frame& frame : frames_of(interval_, static_cast<std::uint64_t>(duration))) {
            if (auto sent = side_.control.send(frame); !sent) return sent;
        }
        total_.merge(interval_);
        interval_.clear();
        return {};
    }

    Result<std::uint64_t> finish(std::uint64_t first) {
        const Nanoseconds now = now_ns();
        if (interval_.count() > 0 || total_.count() == 0) {
            if (auto sent = end_second(now); !sent) return sent.error();
        }
        const std::uint64_t end = std::max({*end_, sequence_.next(), first});
        sequence_.settle(end);
        const Faults faults{sequence_.lost(end), sequence_.duplicated(), sequence_.reordered(),
                            known_corrupted(side_.options.handling, corrupted_)};
        const Frame frame{FrameKind::phase_done,
                          {sequence_.received(), faults.lost, faults.duplicated, faults.reordered, corrupted_, early_,
                           sequence_.heard()}};
        if (const auto sent = side_.control.send(frame); !sent) return sent.error();
        if (!measured_) return end;
        side_.tell(LatencyResult{payload_bytes_, faults, now - start_ns_, &total_, heard(side_, sequence_.heard())});
        return end;
    }

    const Side& side_;
    Channels channels_;
    std::size_t payload_bytes_;
    Check sequence_;
    bool measured_ = false;
    std::optional<std::uint64_t> end_;  ///< where the phase ends, once the publisher has said so
    std::uint64_t early_ = 0;           ///< messages that came before they were due
    std::uint64_t corrupted_ = 0;       ///< whose header was, which holds the time too
    std::uint64_t index_ = 0;
    Nanoseconds start_ns_ = 0;
    Nanoseconds second_ns_ = 0;
    Histogram interval_;
    Histogram total_;
};

}  // namespace

Result<void> run_one_way_subscriber(const Side& side, const Frame& open) {
    auto channels = open_channels_as_subscriber(side, open);
    if (!channels) return channels.error();
    const std::size_t payload_bytes = case_of(open).payload_bytes;
    if (const auto instances = side.options.instances)
        return OneWayTaker{side, std::move(*channels), payload_bytes, KeyedSequence{*instances}}.run();
    return OneWayTaker{side, std::move(*channels), payload_bytes, Sequence{0}}.run();
}

}  // namespace tacholog
