// Reasons to refuse a command line whose options are valid one by one: a transport cannot do what they ask
// for together.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/options.hpp"
#include "transports/transport.hpp"

namespace tacholog {

/// The transport of that name; nullptr if this build has none.
template <typename Kind>
const Kind* find(std::span<const Kind* const> kinds, std::string_view name) {
    for (const Kind* kind : kinds) {
        if (kind->name == name) return kind;
    }
    return nullptr;
}

/// The setting of that name; nullptr if the transport has none.
inline const Setting* setting_of(const Transport& transport, std::string_view name) {
    for (const Setting& setting : transport.settings) {
        if (setting.name == name) return &setting;
    }
    return nullptr;
}

/// One line that says what is not possible; nothing if all is well. `transport` may be nullptr.
std::optional<std::string> objection(const Options& options, const Transport* transport);

}  // namespace tacholog
