// Builds a line of the native log: `kind key=value ...`, see docs/native-log.md.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"

namespace tacholog::reporters {

inline bool is_bare(char letter) {
    return (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
           std::string_view{"_.:/+,%@-"}.find(letter) != std::string_view::npos;
}

inline void append_quoted(std::string& line, std::string_view text) {
    line += '"';
    while (!text.empty()) {
        const auto marked = std::min(text.find_first_of("\"\\"), text.size());
        append_shown(line, text.substr(0, marked));
        text.remove_prefix(marked);
        if (text.empty()) break;
        line += {'\\', text.front()};
        text.remove_prefix(1);
    }
    line += '"';
}

/// A line that is being built. Unknown values (an empty text, an empty optional) are left out.
class Line {
public:
    explicit Line(std::string_view kind) : text_(kind) {}

    Line& add(std::string_view key, std::string_view value) {
        if (value.empty()) return *this;
        begin(key);
        if (std::find_if_not(value.begin(), value.end(), is_bare) == value.end()) {
            text_ += value;
            return *this;
        }
        append_quoted(text_, value);
        return *this;
    }
    Line& add(std::string_view key, const std::string& value) { return add(key, std::string_view{value}); }
    Line& add(std::string_view key, const char* value) { return add(key, std::string_view{value}); }
    Line& add(std::string_view key, bool value) { return add(key, value ? "yes" : "no"); }

    template <std::integral Number>
    Line& add(std::string_view key, Number value) {
        begin(key);
        text_ += std::to_string(value);
        return *this;
    }

    /// to_chars does not depend on the locale, so the decimal point is always a point.
    Line& add(std::string_view key, double value, int decimals) {
        std::array<char, 400> digits{};
        const auto [end, problem] =
            std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed, decimals);
        begin(key);
        text_.append(digits.data(), end);
        return *this;
    }

    /// Adds the shortest exact form of the number.
    Line& add_given(std::string_view key, std::optional<double> value) {
        if (!value) return *this;
        begin(key);
        text_ += exact(*value);
        return *this;
    }

    template <typename Value>
    Line& add(std::string_view key, const std::optional<Value>& value) {
        return value ? add(key, *value) : *this;
    }

    template <typename Number>
    Line& add(std::string_view key, const std::vector<Number>& list) {
        return add(key, comma_separated(list));
    }

    const std::string& text() const { return text_; }

private:
    void begin(std::string_view key) {
        text_ += ' ';
        text_ += key;
        text_ += '=';
    }

    std::string text_;
};

}  // namespace tacholog::reporters
