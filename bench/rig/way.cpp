#include "rig/way.hpp"

#include <algorithm>

namespace tacholog {
namespace {

constexpr std::uint64_t least_to_tell = std::uint64_t{1024} * 1024;
constexpr std::uint64_t largest_datagram = 65535;

std::uint64_t count_of(const Path& path, std::string_view key) {
    const auto found = std::ranges::find(path.counters, key, &PathCounter::key);
    return found == path.counters.end() ? 0 : found->count;
}

bool counts_ip(const Path& path) {
    return std::ranges::any_of(path.counters,
                               [](const PathCounter& counter) { return counter.key.starts_with("ip_"); });
}

}  // namespace

std::string_view to_text(Way way) {
    if (way == Way::local) return "local";
    return way == Way::udp ? "udp" : "tcp";
}

WayTaken way_taken(Way expected, const Path& path, std::uint64_t carried_bytes) {
    WayTaken way{std::string{to_text(expected)}, carried_bytes, std::nullopt, std::nullopt};
    if (!counts_ip(path)) return way;
    // On one host, the kernel counts each byte as outgoing and as incoming. If the sides are on two hosts, each host
    // counts only one of them.
    const auto more = [&](std::string_view in, std::string_view out) {
        return std::max(count_of(path, in), count_of(path, out));
    };
    way.ip_bytes = more("ip_in_octets", "ip_out_octets") + more("ip6_in_octets", "ip6_out_octets");
    if (carried_bytes < least_to_tell) return way;
    // Half of the payload is enough. A library may compress a little, but headers add more bytes than compression
    // saves.
    const bool by_ip = *way.ip_bytes >= carried_bytes / 2;
    const std::uint64_t datagrams =
        more("udp_in_datagrams", "udp_out_datagrams") + more("udp6_in_datagrams", "udp6_out_datagrams");
    const bool by_udp = by_ip && datagrams * largest_datagram >= carried_bytes / 2;
    if (expected == Way::local) way.agrees = !by_ip;
    if (expected == Way::udp) way.agrees = by_udp;
    if (expected == Way::tcp) way.agrees = by_ip;
    return way;
}

std::string words_of_fallback(const WayTaken& way) {
    if (way.agrees.value_or(true)) return "";
    const std::string counted = "the kernel counted " + std::to_string(*way.ip_bytes) + " bytes of IP for " +
                                std::to_string(way.carried_bytes) + " bytes of payloads";
    if (way.expected == "local")
        return "way: the data was expected to stay off the network, but " + counted +
               ": the library fell back to the network, or another program used it";
    return "way: the data was expected to go by " + way.expected + ", but " + counted + ": it took another way";
}

}  // namespace tacholog
