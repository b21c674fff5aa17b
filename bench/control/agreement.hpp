// What both sides of a run have to agree on before they measure.
#pragma once

#include <string>

#include "cli/options.hpp"

namespace tacholog {

/// The options that must be the same on both sides, so that neither log says what the other side did not do.
/// "--key=value
/// --key=value ...", as the hello frame carries it.
std::string agreement(const Options& options);

}  // namespace tacholog
