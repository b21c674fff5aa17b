// The intervals of what a subscriber counts: the measuring thread says now and then how far it is, and the monitor's
// thread reports the intervals that were handed over. Together they hold each message of a phase once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "rig/handover.hpp"

namespace tacholog {

class CountIntervals {
public:
    /// Of a phase until now.
    struct SoFar {
        std::uint64_t received = 0;
        std::uint64_t lost = 0;  ///< a message that comes late makes it smaller again
    };

    explicit CountIntervals(IntervalPlan plan) : length_ns_(plan.length_ns), records_(plan.records) {}

    // The measuring thread's.

    /// A phase begins. Its intervals do with its first message.
    void begin() { phase_ = {}; }

    bool begun() const { return phase_.start_ns > 0; }
    void first_came(Nanoseconds time_ns) { phase_.start_ns = time_ns; }

    /// Whether the current interval is as long as it should be.
    bool is_over(Nanoseconds now) const { return begun() && now - phase_.start_ns >= length_ns_; }

    /// Closes the current interval and begins the next one. It goes on with this one if the records are all out.
    void hand_over(Nanoseconds now, const SoFar& so_far) {
        records_.current() = since_last(now, so_far);
        if (!records_.hand_over()) return;
        phase_.counted = {so_far.received, std::max(phase_.counted.lost, so_far.lost)};
        phase_.start_ns = now;
    }

    /// What is left behind the last one when all of a phase is known; nothing if that is nothing. It ends with the last
    /// message: what was waited for in vain behind it is no time in which something could come.
    std::optional<CountRecord> rest(Nanoseconds last_message_ns, Nanoseconds now, const SoFar& total) const {
        if (!begun()) return std::nullopt;
        const CountRecord left = since_last(std::max(last_message_ns, phase_.start_ns), total);
        if (left.messages == 0 && left.lost == 0) return std::nullopt;
        return left.duration_ns > 0 ? left : since_last(now, total);
    }

    // The reporting thread's.

    const CountRecord* oldest() { return records_.oldest(); }
    void give_back() { records_.give_back(); }

private:
    struct Phase {
        Nanoseconds start_ns = 0;  ///< of the current interval; 0: nothing has come yet
        SoFar counted;             ///< in the intervals before it
    };

    /// An interval that is out is not taken back: where a message that was missing has come after all, the next one
    /// that is missing has been counted already. So it is with one that was taken for another's, and was a duplicate.
    CountRecord since_last(Nanoseconds end_ns, const SoFar& so_far) const {
        return {end_ns - phase_.start_ns, 0, so_far.received - std::min(so_far.received, phase_.counted.received),
                so_far.lost - std::min(so_far.lost, phase_.counted.lost)};
    }

    Nanoseconds length_ns_;
    HandOver<CountRecord> records_;
    Phase phase_;
};

}  // namespace tacholog
