// Settings that single transports declare for themselves. The rig reads them from the command line, shows them in
// --help, compares them between the two sides and hands them to the transport. It does not know what they mean: a new
// setting is declared in its transport's file, and nowhere else.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace tacholog {

struct Setting {
    std::string_view name;   ///< its option is `--name VALUE`; it differs from the names of the rig's own options
    std::string_view value;  ///< what --help calls the value, like LIST
    std::string_view help;   ///< lines of at most 70 characters, without a line break at the end
    /// An error, which names the option, if this host cannot use the value with messages of `smallest_bytes` and more.
    Result<void> (*check)(std::string_view value, std::size_t smallest_bytes);
    /// Whether the log's `config` line states it, under its `log_key`. Not needed where another line has the value in
    /// effect.
    bool in_config_line = true;
};

/// The settings that were given, as given, by name.
using Settings = std::map<std::string, std::string, std::less<>>;

/// The key of a setting in the log: its name with '_' for '-', which no key may hold (docs/native-log.md).
inline std::string log_key(std::string_view name) {
    std::string key{name};
    std::ranges::replace(key, '-', '_');
    return key;
}

/// Empty if it was not given.
inline std::string value_of(const Settings& settings, std::string_view name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::string{} : found->second;
}

}  // namespace tacholog
