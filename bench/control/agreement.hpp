// The options on which both sides of a run must agree before they measure.
#pragma once

#include <string>

#include "cli/options.hpp"

namespace tacholog {

/// Returns the options that must be the same on both sides, in the form of the hello frame: "--key=value ...". If the
/// options were different, the log of one side would state options that the other side does not have.
std::string agreement(const Options& options);

}  // namespace tacholog
