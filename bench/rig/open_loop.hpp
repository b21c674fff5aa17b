// The schedule of an open loop.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"
#include "rig/outstanding.hpp"
#include "rig/side.hpp"

namespace tacholog {

/// A backlog is sent after the planned end for no longer than this; what remains then was never sent.
inline constexpr Nanoseconds catch_up_ns = nanoseconds_per_second;

/// Notes it where a sender did not keep its schedule well enough to tell what is the transport's doing.
void tell_generator_limits(const Side& side, const Sending& sending, const Histogram& latency);

/// Message i is due at start + i * period, whatever became of those before it.
class Plan {
public:
    Plan(Nanoseconds start_ns, double rate_per_s)
        : start_ns_(start_ns), period_ns_(static_cast<double>(nanoseconds_per_second) / rate_per_s) {}

    Nanoseconds due_ns(std::uint64_t index) const {
        return start_ns_ + static_cast<Nanoseconds>(static_cast<double>(index) * period_ns_);
    }

    /// How many messages are due before this moment.
    std::uint64_t due_before(Nanoseconds end_ns) const {
        auto count =
            static_cast<std::uint64_t>(static_cast<double>(std::max<Nanoseconds>(0, end_ns - start_ns_)) / period_ns_);
        while (due_ns(count) < end_ns) ++count;
        return count;
    }

    Nanoseconds start_ns() const { return start_ns_; }

private:
    Nanoseconds start_ns_;
    double period_ns_;
};

}  // namespace tacholog
