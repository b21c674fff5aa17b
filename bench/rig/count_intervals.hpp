// The intervals of the messages that a subscriber counts. The measuring thread hands intervals over, and the monitor's
// thread reports them. Each message of a phase is counted in exactly one interval.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "rig/handover.hpp"

namespace tacholog {

class CountIntervals {
public:
    /// The counts since the start of the phase.
    struct SoFar {
        std::uint64_t received = 0;
        std::uint64_t lost = 0;  ///< decreases when a missing message arrives late
    };

    explicit CountIntervals(IntervalPlan plan) : length_ns_(plan.length_ns), records_(plan.records) {}

    // Called by the measuring thread:

    /// A phase begins its intervals with its first message.
    void begin() { phase_ = {}; }

    bool begun() const { return phase_.start_ns > 0; }
    void first_came(Nanoseconds time_ns) { phase_.start_ns = time_ns; }

    bool is_over(Nanoseconds now) const { return begun() && now - phase_.start_ns >= length_ns_; }

    /// Ends the current interval, passes its record to the reporting thread, and begins the next interval. If all
    /// records are in use, the current interval does not end but continues.
    void hand_over(Nanoseconds now, const SoFar& so_far) {
        records_.current() = since_last(now, so_far);
        if (!records_.hand_over()) return;
        phase_.counted = {so_far.received, std::max(phase_.counted.lost, so_far.lost)};
        phase_.start_ns = now;
    }

    /// Returns the last interval of a phase, once all counts are final. It ends with the last message, not with the end
    /// of the wait for more. Returns nothing if the interval has neither received nor lost messages.
    std::optional<CountRecord> rest(Nanoseconds last_message_ns, Nanoseconds now, const SoFar& total) const {
        if (!begun()) return std::nullopt;
        const CountRecord left = since_last(std::max(last_message_ns, phase_.start_ns), total);
        if (left.messages == 0 && left.lost == 0) return std::nullopt;
        return left.duration_ns > 0 ? left : since_last(now, total);
    }

    // Called by the reporting thread:

    const CountRecord* oldest() { return records_.oldest(); }
    void give_back() { records_.give_back(); }

private:
    struct Phase {
        Nanoseconds start_ns = 0;  ///< 0: no message has arrived yet
        SoFar counted;             ///< of all intervals before the current one
    };

    /// The previous interval is never corrected. Example: an interval has counted a message as lost, and this message
    /// arrives later. The next lost message is then not counted, because the total of lost messages has not changed.
    /// Likewise, a message with an unreadable number may have counted as received, and prove to be a duplicate later.
    CountRecord since_last(Nanoseconds end_ns, const SoFar& so_far) const {
        return {end_ns - phase_.start_ns, 0, so_far.received - std::min(so_far.received, phase_.counted.received),
                so_far.lost - std::min(so_far.lost, phase_.counted.lost)};
    }

    Nanoseconds length_ns_;
    HandOver<CountRecord> records_;
    Phase phase_;
};

}  // namespace tacholog
