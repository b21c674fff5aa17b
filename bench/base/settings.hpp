// Settings: options that a transport declares for itself, given as `--set NAME=VALUE`. The rig reads and checks them,
// lists them with their defaults and meanings, compares them between both sides, writes all of them into the log, and
// hands them to the transport. It does not know what they mean: a new setting is declared in its transport's file, and
// nowhere else in C++. Pages show its value once `PUBLIC_SETTINGS` (parsers/tacholog/privacy/native_log.py) has its
// name.
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
    std::string_view values;         ///< what it takes: a word for the kind of value, or all values as "one|another"
    std::string_view default_value;  ///< in effect if none was given; the log states it too
    std::string_view meaning;        ///< for --list-transports --verbose, one sentence without a full stop
    /// An error that says what is wrong with the value, and does not repeat it. nullptr: `values` lists all that are
    /// allowed ("one|another"), or any text is.
    Result<void> (*check)(std::string_view value) = nullptr;
};

/// Values by the names of their settings.
using Settings = std::map<std::string, std::string, std::less<>>;

/// The key of a setting in the log: its name with '_' for '-', which no key may hold (docs/native-log.md).
inline std::string log_key(std::string_view name) {
    std::string key{name};
    std::ranges::replace(key, '-', '_');
    return key;
}

/// The value in effect. Empty only if the transport declares no such setting.
inline std::string value_of(const Settings& settings, std::string_view name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::string{} : found->second;
}

/// Every declared setting with its value: the one that was given, or the default.
Settings in_effect(std::span<const Setting> declared, const Settings& given = {});

/// An error that names the setting and what it takes, if it does not take this value.
Result<void> check_value(const Setting& setting, std::string_view value);

/// For Setting::check: a whole number within these bounds.
template <std::uint64_t least, std::uint64_t most>
Result<void> whole_number(std::string_view value) {
    std::uint64_t number = 0;
    const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool is_number = problem == std::errc{} && end == value.data() + value.size();
    if (is_number && number >= least && number <= most) return {};
    return Error{"not a whole number from " + std::to_string(least) + " to " + std::to_string(most)};
}

/// The number that a checked value is.
inline std::uint64_t number_of(const Settings& settings, std::string_view name) {
    const std::string value = value_of(settings, name);
    std::uint64_t number = 0;
    std::from_chars(value.data(), value.data() + value.size(), number);
    return number;
}

}  // namespace tacholog
