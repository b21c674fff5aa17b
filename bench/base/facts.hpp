// What a transport wants the log to state about itself: socket buffers as read back from the kernel, the name and
// version of a library, the way that the library says its data takes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tacholog {

struct Fact {
    std::string key;    ///< lower-case words joined by '_', with the unit: "rcvbuf_bytes"
    std::string value;  ///< any text; unknown facts are left out
};
using Facts = std::vector<Fact>;

// Keys that mean the same in every log.
inline constexpr std::string_view receive_buffer_key = "rcvbuf_bytes";
inline constexpr std::string_view send_buffer_key = "sndbuf_bytes";
inline constexpr std::string_view congestion_key = "congestion";
inline constexpr std::string_view library_key = "library";                  ///< the middleware's name: "ZeroMQ"
inline constexpr std::string_view library_version_key = "library_version";  ///< the one that is loaded: "4.3.4"

/// Whether the log states it in its `socket` lines, and not in its `transport` lines.
inline bool is_of_socket(std::string_view key) {
    return key == receive_buffer_key || key == send_buffer_key || key == congestion_key;
}

inline void add_fact(Facts& facts, std::string_view key, std::string value) {
    if (!value.empty()) facts.push_back({std::string{key}, std::move(value)});
}

/// Adds those whose keys are not there yet.
void add_missing(Facts& facts, const Facts& more);

/// As text for the control channel, and back. A peer may send anything: what is no list of facts is an error.
std::string to_text(const Facts& facts);
Result<Facts> parse_facts(std::string_view text);

}  // namespace tacholog
