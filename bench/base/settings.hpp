// Settings: options that a transport declares for itself, given as `--set NAME=VALUE`. The rig reads and checks them,
// lists them with their defaults and meanings, compares them between both sides, writes all of them to the log, and
// passes them to the transport. It does not know their meaning: a new setting is declared in the file of its transport,
// and nowhere else in C++. Pages show its value once its name is in `PUBLIC_SETTINGS`
// (parsers/tacholog/privacy/native_log.py).
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tacholog {

struct Setting {
    std::string_view name;           ///< lower-case words joined by '-'
    std::string_view values;         ///< the kind of value in one word, or all allowed values as "one|another"
    std::string_view default_value;  ///< the value if the user gives none; the log has it too
    /// What the setting does, for --list-transports --verbose: one sentence without a full stop.
    std::string_view meaning;
    /// Returns an error that explains what is wrong with the value, but does not repeat the value. nullptr: either
    /// `values` lists all allowed values ("one|another"), or any text is allowed.
    Result<void> (*check)(std::string_view value) = nullptr;
};

using Settings = std::map<std::string, std::string, std::less<>>;

/// The key has '_' instead of '-', because a key in the log may not contain '-' (docs/native-log.md).
inline std::string log_key(std::string_view name) {
    std::string key{name};
    std::ranges::replace(key, '-', '_');
    return key;
}

/// The value is empty only if the transport has no such setting.
inline std::string value_of(const Settings& settings, std::string_view name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::string{} : found->second;
}

/// Every declared setting with the value that the user gave, or else with its default.
Settings in_effect(std::span<const Setting> declared, const Settings& given = {});

/// The error names the setting and the allowed values.
Result<void> check_value(const Setting& setting, std::string_view value);

/// Checks that the value is a whole number from `least` to `most`. A setting can use this function as its `check`.
template <std::uint64_t least, std::uint64_t most>
Result<void> whole_number(std::string_view value) {
    std::uint64_t number = 0;
    const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool is_number = problem == std::errc{} && end == value.data() + value.size();
    if (is_number && number >= least && number <= most) return {};
    return Error{"not a whole number from " + std::to_string(least) + " to " + std::to_string(most)};
}

/// The value must have been checked before.
inline std::uint64_t number_of(const Settings& settings, std::string_view name) {
    const std::string value = value_of(settings, name);
    std::uint64_t number = 0;
    std::from_chars(value.data(), value.data() + value.size(), number);
    return number;
}

}  // namespace tacholog
