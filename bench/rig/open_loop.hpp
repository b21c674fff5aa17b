// Code shared by the tests that send on a schedule (an open loop).
#pragma once

#include "base/clock.hpp"
#include "rig/outstanding.hpp"
#include "rig/schedule.hpp"
#include "rig/side.hpp"

namespace tacholog {

/// After the planned end, delayed messages are still sent for this time at most. The remaining ones are never sent.
inline constexpr Nanoseconds catch_up_ns = nanoseconds_per_second;

/// Writes a note if a sender kept its schedule so badly that the latency may be due to the sender, not to the
/// transport.
void tell_generator_limits(const Side& side, const Sending& sending, const Histogram& latency);

}  // namespace tacholog
