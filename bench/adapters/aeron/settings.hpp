// The settings of Aeron, and how they are passed to its media driver and its channels.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.hpp"

namespace tacholog::aeron {

inline bool is_one_of(std::string_view value, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, value) != words.end();
}

// The functions below check the allowed words of a setting. If the setting listed these words as its values instead,
// the tests over all transports would run once for each word.
inline Result<void> threading_word(std::string_view value) {
    if (is_one_of(value, {"library", "dedicated", "shared-network", "shared"})) return {};
    return Error{"not one of library, dedicated, shared-network, shared"};
}

inline Result<void> idle_word(std::string_view value) {
    if (is_one_of(value, {"library", "backoff", "noop", "spin", "yield", "sleeping"})) return {};
    return Error{"not one of library, backoff, noop, spin, yield, sleeping"};
}

inline Result<void> send_word(std::string_view value) {
    if (is_one_of(value, {"offer", "claim"})) return {};
    return Error{"not one of offer, claim"};
}

template <std::uint64_t least, std::uint64_t most>
Result<void> library_or_number(std::string_view value) {
    return value == "library" ? Result<void>{} : whole_number<least, most>(value);
}

inline Result<void> term_length(std::string_view value) {
    constexpr std::uint64_t least = 65'536;
    constexpr std::uint64_t most = 1'073'741'824;
    if (value == "library") return {};
    if (auto number = whole_number<least, most>(value); !number) return number;
    const std::uint64_t bytes = number_of({{"value", std::string{value}}}, "value");
    return (bytes & (bytes - 1)) == 0 ? Result<void>{} : Error{"not a power of two"};
}

inline Result<void> mtu(std::string_view value) {
    constexpr std::uint64_t most = 65'504;
    if (value == "library") return {};
    if (auto number = whole_number<64, most>(value); !number) return number;
    return number_of({{"value", std::string{value}}}, "value") % 32 == 0 ? Result<void>{}
                                                                         : Error{"not a multiple of 32"};
}

// The advice of Aeron's authors is in its scripts: aeron-samples/scripts/low-latency-c-media-driver and
// ipc-c-media-driver.
inline constexpr Setting threading{.name = "threading",
                                   .values = "WORD",
                                   .default_value = "library",
                                   .meaning =
                                       "threads of the media driver (aeron.threading.mode): dedicated, shared-network, "
                                       "shared; the library's own default is dedicated",
                                   .check = threading_word};
inline constexpr Setting idle{.name = "idle",
                              .values = "WORD",
                              .default_value = "library",
                              .meaning =
                                  "how the media driver's threads wait (aeron.*.idle.strategy): backoff, noop, spin, "
                                  "yield, sleeping; with noop the conductor spins. The library's own default is "
                                  "backoff, naps of up to 1 ms",
                              .check = idle_word};
inline constexpr Setting mtu_bytes{.name = "mtu",
                                   .values = "library or BYTES",
                                   .default_value = "library",
                                   .meaning =
                                       "the largest fragment of a message, a datagram of UDP (aeron.mtu.length); 1408 "
                                       "by the library's default",
                                   .check = mtu};
inline constexpr Setting send{.name = "send",
                              .values = "WORD",
                              .default_value = "offer",
                              .meaning =
                                  "how messages get into the ring: offer copies them; claim writes messages of one "
                                  "fragment in place (aeron_exclusive_publication_try_claim), as the benchmark "
                                  "of Aeron's authors does",
                              .check = send_word};
inline constexpr std::array ipc_settings{
    threading,
    idle,
    mtu_bytes,
    send,
    Setting{.name = "term-length",
            .values = "library or BYTES",
            .default_value = "library",
            .meaning = "a third of the ring of a publisher, a power of two (aeron.ipc.term.buffer.length); the largest "
                       "message has an eighth of it. 67108864 by the library's default",
            .check = term_length},
};
inline constexpr std::array udp_settings{
    threading,
    idle,
    mtu_bytes,
    send,
    Setting{.name = "term-length",
            .values = "library or BYTES",
            .default_value = "library",
            .meaning = "a third of the ring of a publisher, a power of two (aeron.term.buffer.length); the largest "
                       "message has an eighth of it. 16777216 by the library's default",
            .check = term_length},
    Setting{.name = "window",
            .values = "library or BYTES",
            .default_value = "library",
            .meaning =
                "how many bytes may be in flight (aeron.rcv.initial.window.length), and the size of the socket's "
                "buffers; 131072 by the library's default",
            .check = library_or_number<4096, 1'073'741'824>},
};

inline constexpr std::uint64_t ipc_term_bytes = 67'108'864;
inline constexpr std::uint64_t udp_term_bytes = 16'777'216;

inline std::uint64_t number_or(const Settings& given, std::string_view name, std::uint64_t otherwise) {
    return value_of(given, name) == "library" ? otherwise : number_of(given, name);
}

constexpr std::size_t most_bytes_of(std::uint64_t term_bytes) {
    constexpr std::uint64_t most = 16'777'216;
    return std::min(term_bytes / 8, most);
}

inline std::vector<std::string> driver_options(const Settings& given) {
    std::vector<std::string> options;
    const std::string mode = value_of(given, "threading");
    if (mode == "dedicated") options.emplace_back("aeron.threading.mode=DEDICATED");
    if (mode == "shared-network") options.emplace_back("aeron.threading.mode=SHARED_NETWORK");
    if (mode == "shared") options.emplace_back("aeron.threading.mode=SHARED");
    const std::string how = value_of(given, "idle");
    if (how != "library") {
        options.push_back("aeron.conductor.idle.strategy=" + (how == "noop" ? "spin" : how));
        for (const std::string thread : {"sender", "receiver", "sharednetwork", "shared"})
            options.push_back("aeron." + thread + ".idle.strategy=" + how);
    }
    return options;
}

inline std::string publisher_parameters(const Settings& given) {
    std::string text;
    if (value_of(given, "term-length") != "library") text += "|term-length=" + value_of(given, "term-length");
    if (value_of(given, "mtu") != "library") text += "|mtu=" + value_of(given, "mtu");
    return text;
}

/// Both ends must use the same parameters.
inline std::string socket_parameters(const Settings& given) {
    const std::string window = value_of(given, "window");
    if (window == "library") return "";
    return "|rcv-wnd=" + window + "|so-rcvbuf=" + window + "|so-sndbuf=" + window;
}

}  // namespace tacholog::aeron
