// Why a run has failed. A side often sees only the consequence, such as a transport that has nobody at its other end;
// the control channels tell who has died, or has given up before.
#pragma once

#include <span>

#include "control/control.hpp"

namespace tacholog {

/// If a side has failed: tells those at the other end why, and finds out whether it is one of theirs or the user's
/// doing.
Result<void> explained(Result<void> done, std::span<Control> others);

}  // namespace tacholog
