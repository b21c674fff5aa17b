// Reasons to refuse a command line. Each of its options is valid, but a transport or a dialect cannot do what they
// require together.
#pragma once

#include <optional>
#include <string>

#include "cli/options.hpp"
#include "transports/transport.hpp"

namespace tacholog {

/// Returns one line that says what is not possible; nothing if everything is possible. `transport` may be nullptr.
std::optional<std::string> objection(const Options& options, const Transport* transport);

}  // namespace tacholog
