// Finds out why a run has failed. A side often sees only a consequence, for example that its transport has lost the
// other end. The control channels tell which peer has died or has given up first.
#pragma once

#include <span>

#include "control/control.hpp"

namespace tacholog {

/// If this side has failed: tells the peers why, and finds out whether a peer or the user has caused the failure.
Result<void> explained(Result<void> done, std::span<Control> others);

}  // namespace tacholog
