// Reasons to refuse a command line whose options are valid one by one: a transport or a dialect cannot do what they ask
// for together.
#pragma once

#include <optional>
#include <string>

#include "cli/options.hpp"
#include "transports/transport.hpp"

namespace tacholog {

/// One line that says what is not possible; nothing if all is well. `transport` may be nullptr.
std::optional<std::string> objection(const Options& options, const Transport* transport);

}  // namespace tacholog
