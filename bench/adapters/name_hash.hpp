// A number of a channel's name, where the library has a number for it, or no room for the name.
#pragma once

#include <cstdint>
#include <string_view>

namespace tacholog {

/// FNV-1a: both sides, which may be different machines, must get the same number.
inline std::uint64_t name_hash(std::string_view name) {
    std::uint64_t value = 14695981039346656037U;
    for (const char letter : name) {
        value ^= static_cast<unsigned char>(letter);
        value *= 1099511628211U;
    }
    return value;
}

}  // namespace tacholog
