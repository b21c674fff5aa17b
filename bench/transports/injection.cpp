#include "transports/injection.hpp"

#include <array>
#include <utility>

#include "base/text.hpp"

namespace tacholog {
namespace {

constexpr Nanoseconds longest_ns = 600 * nanoseconds_per_second;

std::optional<Nanoseconds> duration_of(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, Nanoseconds>, 4> units{
        {{"ns", 1}, {"us", 1000}, {"ms", 1'000'000}, {"s", nanoseconds_per_second}}};
    for (const auto& [unit, factor] : units) {
        if (!text.ends_with(unit)) continue;
        const auto number = to_number<Nanoseconds>(text.substr(0, text.size() - unit.size()));
        if (number && *number >= 0 && *number <= longest_ns / factor) return *number * factor;
    }
    return std::nullopt;
}

bool set_duration(Nanoseconds& into, std::string_view text) {
    const auto duration = duration_of(text);
    into = duration.value_or(0);
    return duration.has_value();
}

bool set_stall(Stall& into, std::string_view text) {
    const auto parts = split(text, '/');
    if (parts.size() != 2) return false;
    return set_duration(into.length_ns, parts[0]) && set_duration(into.period_ns, parts[1]) &&
           into.length_ns < into.period_ns;
}

bool set_count(std::uint64_t& into, std::string_view text) {
    const auto count = to_number<std::uint64_t>(text);
    into = count.value_or(0);
    return into > 0;
}

/// The text is "N", "N:BYTE" or "N:BYTE:MASK". BYTE may be "each".
bool set_corruption(Corruption& into, std::string_view text) {
    const auto parts = split(text, ':');
    if (parts.size() > 3 || !set_count(into.every, parts[0])) return false;
    into.each = parts.size() > 1 && parts[1] == "each";
    if (parts.size() > 1 && !into.each) {
        into.byte = to_number<std::size_t>(parts[1]);
        if (!into.byte) return false;
    }
    if (parts.size() < 3) return true;
    into.mask = to_number<std::uint8_t>(parts[2]).value_or(0);
    return into.mask > 0;
}

bool set_item(Injection& into, std::string_view name, std::string_view value) {
    if (name == "hold") return set_duration(into.hold_ns, value);
    if (name == "stall") return set_stall(into.stall, value);
    if (name == "send-stall") return set_stall(into.send_stall, value);
    if (name == "lose") return set_count(into.lose, value);
    if (name == "silence") return set_count(into.silence, value);
    if (name == "duplicate") return set_count(into.duplicate, value);
    if (name == "reorder") return set_count(into.reorder, value);
    if (name == "corrupt") return set_corruption(into.corrupt, value);
    return name == "corrupt-answer" && set_corruption(into.corrupt_answer, value);
}

}  // namespace

Result<Injection> parse_injection(std::string_view list) {
    Injection injection;
    for (const auto item : split(list, ',')) {
        const auto equals = item.find('=');
        if (equals == std::string_view::npos || !set_item(injection, item.substr(0, equals), item.substr(equals + 1))) {
            return Error{quoted(item) +
                         " is neither hold=TIME, stall=TIME/PERIOD, send-stall=TIME/PERIOD (as 50us, 100ms, 1s) nor "
                         "silence=PUBLISHER, lose=N, duplicate=N, reorder=N, corrupt=N[:BYTE[:MASK]], "
                         "corrupt-answer=N[:BYTE[:MASK]]"};
        }
    }
    return injection;
}

}  // namespace tacholog
