// Numbers as a list in text.
#pragma once

#include <string>
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

}  // namespace tacholog
