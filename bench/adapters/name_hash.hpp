// A number computed from a channel's name, for libraries that identify channels by a number or have no room for the
// name.
#pragma once

#include <cstdint>
#include <string_view>

namespace tacholog {

/// FNV-1a. Both sides, which may be different machines, must get the same number.
inline std::uint64_t name_hash(std::string_view name) {
    std::uint64_t value = 14695981039346656037U;
    for (const char letter : name) {
        value ^= static_cast<unsigned char>(letter);
        value *= 1099511628211U;
    }
    return value;
}

}  // namespace tacholog
