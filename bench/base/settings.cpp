#include "base/settings.hpp"

#include "base/text.hpp"

namespace tacholog {

Settings in_effect(std::span<const Setting> declared, const Settings& given) {
    Settings settings;
    for (const Setting& setting : declared) {
        const auto found = given.find(setting.name);
        settings[std::string{setting.name}] = found == given.end() ? std::string{setting.default_value} : found->second;
    }
    return settings;
}

Result<void> check_value(const Setting& setting, std::string_view value) {
    const std::string option = "--set " + std::string{setting.name} + "=" + std::string{value} + ": ";
    if (setting.check != nullptr) {
        // The default is not checked: it may be a word such as "kernel" or "none", which the check would reject.
        if (value == setting.default_value) return {};
        const auto fine = setting.check(value);
        return fine ? Result<void>{} : Error{option + fine.error().text};
    }
    if (setting.values.find('|') == std::string_view::npos) return {};
    const auto allowed = split(setting.values, '|');
    if (std::ranges::find(allowed, value) != allowed.end()) return {};
    std::string names;
    for (const auto name : allowed) names += (names.empty() ? "" : ", ") + std::string{name};
    return Error{option + "not one of " + names};
}

}  // namespace tacholog
