// Conversion of lists and numbers to and from text.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
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

/// Returns one empty item if the list is empty.
inline std::vector<std::string_view> split(std::string_view list, char separator) {
    std::vector<std::string_view> items;
    while (true) {
        const auto end = list.find(separator);
        items.push_back(list.substr(0, end));
        if (end == std::string_view::npos) return items;
        list.remove_prefix(end + 1);
    }
}

template <typename Number>
std::optional<Number> to_number(std::string_view text) {
    Number number{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

/// The shortest text from which exactly the same number is read back. to_chars does not depend on the locale.
inline std::string exact(double number) {
    std::array<char, 400> digits{};
    const auto [end, problem] =
        std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::fixed);
    return {digits.data(), end};
}

/// The length in bytes of the first character of a text that is not empty; 0 if this character may not be shown. Not
/// shown are: control characters (C0, DEL, C1), invalid UTF-8, and characters that change the direction or the lines of
/// the surrounding text.
inline std::size_t shown_bytes(std::string_view text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned first = byte(0);
    if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
    const std::size_t bytes = first >= 0xF0 ? 4 : (first >= 0xE0 ? 3 : 2);
    if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return 0;
    std::uint32_t character = first & (0x7FU >> bytes);
    for (std::size_t at = 1; at < bytes; ++at) {
        if ((byte(at) & 0xC0U) != 0x80) return 0;
        character = character << 6 | (byte(at) & 0x3FU);
    }
    const bool is_too_long = (bytes == 3 && character < 0x800) || (bytes == 4 && character < 0x10000);
    const bool is_surrogate = character >= 0xD800 && character <= 0xDFFF;
    const bool is_control = character < 0xA0;
    const bool turns = character == 0x061C || (character >= 0x200E && character <= 0x200F) ||
                       (character >= 0x2028 && character <= 0x202E) || (character >= 0x2066 && character <= 0x2069) ||
                       character == 0xFEFF;
    return is_too_long || is_surrogate || character > 0x10FFFF || is_control || turns ? 0 : bytes;
}

/// Appends a text, with an escape sequence for each byte that may not be shown. All text from other programs goes
/// through this function before it reaches a terminal or a log.
inline void append_shown(std::string& to, std::string_view text) {
    constexpr std::string_view hex = "0123456789ABCDEF";
    while (!text.empty()) {
        const std::size_t bytes = shown_bytes(text);
        if (bytes > 0) {
            to += text.substr(0, bytes);
        } else if (text.front() == '\n') {
            to += "\\n";
        } else if (text.front() == '\t') {
            to += "\\t";
        } else {
            const auto byte = static_cast<unsigned char>(text.front());
            to += {'\\', 'x', hex[byte / 16], hex[byte % 16]};
        }
        text.remove_prefix(std::max<std::size_t>(bytes, 1));
    }
}

/// Limits in bytes for text of a peer: the reason why it gives up, and any other message.
inline constexpr std::size_t longest_reason = 400;
inline constexpr std::size_t longest_message = 4000;

/// Text from another program as one line, truncated to this many bytes.
inline std::string shown(std::string_view text, std::size_t longest = longest_message) {
    std::string line;
    append_shown(line, text.substr(0, longest));
    if (text.size() > longest) line += "...";
    return line;
}

inline std::string quoted(std::string_view word) {
    std::string text{"'"};
    text += word;
    return text += '\'';
}

}  // namespace tacholog
