// The options on which both sides of a run must agree before they measure.
#pragma once

#include <string>

#include "cli/options.hpp"

namespace tacholog {

/// The options that must be the same on both sides. Otherwise a log could state options that the other side did not
/// have. Format: "--key=value --key=value ...", as it is sent in the hello frame.
std::string agreement(const Options& options);

}  // namespace tacholog
