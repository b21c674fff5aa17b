// A line of the native log in the making: `kind key=value ...`, as docs/native-log.md has it.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.hpp"

namespace tacholog::reporters {

inline bool is_bare(char letter) {
    return (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
           std::string_view{"_.:/+,%@-"}.find(letter) != std::string_view::npos;
}

inline void append_escaped(std::string& line, char letter) {
    constexpr std::string_view hex = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
        line += {'\\', letter};
    } else if (letter == '\n') {
        line += "\\n";
    } else if (letter == '\t') {
        line += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
        line += {'\\', 'x', hex[byte / 16], hex[byte % 16]};
    } else {
        line += letter;
    }
}

/// One line in the making. What is unknown (an empty text, an empty optional) is left out.
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
        text_ += '"';
        for (const char letter : value) append_escaped(text_, letter);
        text_ += '"';
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

    /// to_chars knows no locale: the point stays a point.
    Line& add(std::string_view key, double value, int decimals) {
        std::array<char, 400> digits{};
        const auto [end, problem] =
            std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed, decimals);
        begin(key);
        text_.append(digits.data(), end);
        return *this;
    }

    /// As short as it can be written, for numbers that a user gave.
    Line& add_given(std::string_view key, std::optional<double> value) {
        if (!value) return *this;
        std::array<char, 64> digits{};
        const auto [end, problem] =
            std::to_chars(digits.data(), digits.data() + digits.size(), *value, std::chars_format::fixed);
        begin(key);
        text_.append(digits.data(), end);
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
