// What the tests that send on a schedule, an open loop, have alike.
#pragma once

#include "base/clock.hpp"
#include "rig/outstanding.hpp"
#include "rig/schedule.hpp"
#include "rig/side.hpp"

namespace tacholog {

/// A backlog is sent after the planned end for no longer than this; what remains then was never sent.
inline constexpr Nanoseconds catch_up_ns = nanoseconds_per_second;

/// Notes it where a sender did not keep its schedule well enough to tell what is the transport's doing.
void tell_generator_limits(const Side& side, const Sending& sending, const Histogram& latency);

}  // namespace tacholog
