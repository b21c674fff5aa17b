// Lists and numbers in text.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tacholog {

/// 1, 2, 3 -> "1,2,3".
template <typename Number>
std::string comma_separated(const std::vector<Number>& numbers) {
    std::string text;
    for (const Number number : numbers) {
        if (!text.empty()) text += ',';
        text += std::to_string(number);
    }
    return text;
}

/// The items between separators; one empty item if there is nothing.
inline std::vector<std::string_view> split(std::string_view list, char separator) {
    std::vector<std::string_view> items;
    while (true) {
        const auto end = list.find(separator);
        items.push_back(list.substr(0, end));
        if (end == std::string_view::npos) return items;
        list.remove_prefix(end + 1);
    }
}

/// The number that the text is, from its first letter to its last.
template <typename Number>
std::optional<Number> to_number(std::string_view text) {
    Number number{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

inline std::string quoted(std::string_view word) {
    std::string text{"'"};
    text += word;
    return text += '\'';
}

}  // namespace tacholog
