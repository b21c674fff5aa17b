// Facts that a transport reports about itself for the log: the sizes of its socket buffers as the kernel reports them,
// the name and version of a library, the network path that the library reports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tacholog {

struct Fact {
    std::string key;    ///< lower-case words joined by '_', with the unit: "rcvbuf_bytes"
    std::string value;  ///< any text; a fact that is unknown is not in the list
};
using Facts = std::vector<Fact>;

// Keys with the same meaning in every log.
inline constexpr std::string_view receive_buffer_key = "rcvbuf_bytes";
inline constexpr std::string_view send_buffer_key = "sndbuf_bytes";
inline constexpr std::string_view congestion_key = "congestion";
inline constexpr std::string_view library_key = "library";                  ///< the name of the middleware: "ZeroMQ"
inline constexpr std::string_view library_version_key = "library_version";  ///< the version that is loaded: "4.3.4"

/// Whether the log writes this fact in its `socket` lines instead of its `transport` lines.
inline bool is_of_socket(std::string_view key) {
    return key == receive_buffer_key || key == send_buffer_key || key == congestion_key;
}

inline void add_fact(Facts& facts, std::string_view key, std::string value) {
    if (!value.empty()) facts.push_back({std::string{key}, std::move(value)});
}

void add_missing(Facts& facts, const Facts& more);

/// Facts are sent as text over the control channel. Text that is not a list of facts is an error, because a peer may
/// send anything.
std::string to_text(const Facts& facts);
Result<Facts> parse_facts(std::string_view text);

}  // namespace tacholog
