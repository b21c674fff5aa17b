// The times at which the messages of a phase are due: as fast as possible, at a rate, or in bursts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/case.hpp"
#include "base/clock.hpp"

namespace tacholog {

class Schedule {
public:
    /// Messages are sent as fast as possible.
    explicit Schedule(Nanoseconds start_ns) : start_ns_(start_ns) {}

    /// Message i is due at start + i * period, however late the messages before it were sent. A sender that is late
    /// therefore catches up.
    Schedule(Nanoseconds start_ns, double rate_per_s)
        : start_ns_(start_ns), period_ns_(static_cast<double>(nanoseconds_per_second) / rate_per_s) {}

    /// Each burst is sent as fast as possible. If a burst takes less than the recovery time, a pause follows.
    Schedule(Nanoseconds start_ns, Demand bursts) : start_ns_(start_ns), bursts_(bursts), next_burst_ns_(start_ns) {}

    Nanoseconds start_ns() const { return start_ns_; }

    Nanoseconds due_ns(std::uint64_t index) const {
        if (bursts_.messages > 0) return is_in_burst(index) ? start_ns_ : next_burst_ns_;
        return start_ns_ + static_cast<Nanoseconds>(static_cast<double>(index) * period_ns_);
    }

    /// Returns how many messages may be sent at once. The first of them is message `index`, which is due now.
    std::uint64_t begin(std::uint64_t index, Nanoseconds now) {
        if (bursts_.messages == 0) return period_ns_ > 0 ? 1 : UINT64_MAX;
        if (!is_in_burst(index)) next_burst_ns_ = now + bursts_.recovery_ns;
        return bursts_.messages - index % bursts_.messages;
    }

    bool is_in_burst(std::uint64_t index) const { return bursts_.messages > 0 && index % bursts_.messages > 0; }

    std::uint64_t due_before(Nanoseconds end_ns) const {
        auto count =
            static_cast<std::uint64_t>(static_cast<double>(std::max<Nanoseconds>(0, end_ns - start_ns_)) / period_ns_);
        while (due_ns(count) < end_ns) ++count;
        return count;
    }

private:
    Nanoseconds start_ns_;
    double period_ns_ = 0;    ///< the time between two messages; 0: messages are sent as fast as possible
    Demand bursts_ = {0, 0};  ///< 0: bursts are not used
    Nanoseconds next_burst_ns_ = 0;
};

}  // namespace tacholog
