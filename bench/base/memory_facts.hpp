// Facts about the shared memory of a side. The log has them for each size, because the memory differs from size to
// size.
#pragma once

#include <string_view>

namespace tacholog {

/// `memory_size_key` states the payload size to which the other facts belong.
inline constexpr std::string_view memory_size_key = "payload_bytes";
inline constexpr std::string_view shared_memory_key = "shared_memory_bytes";
inline constexpr std::string_view shared_huge_pages_key = "shared_huge_page_bytes";

/// Whether the log writes this fact in its `memory` lines.
inline bool is_of_memory(std::string_view key) {
    return key == memory_size_key || key == shared_memory_key || key == shared_huge_pages_key;
}

}  // namespace tacholog
