// What speaks against a command line beside the values of its options: what a transport or a dialect cannot do, and who
// may be several.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/options.hpp"
#include "transports/transport.hpp"

namespace tacholog {

/// The transport or dialect of that name; nullptr if this build has none.
template <typename Kind>
const Kind* find(std::span<const Kind* const> kinds, std::string_view name) {
    for (const Kind* kind : kinds) {
        if (kind->name == name) return kind;
    }
    return nullptr;
}

/// One line that says what cannot be; nothing if all is well. `transport` may be nullptr.
std::optional<std::string> objection(const Options& options, const Transport* transport);

}  // namespace tacholog
