#include "cli/sustain_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/text.hpp"

namespace tacholog {
namespace {

constexpr std::array<std::pair<std::string_view, std::uint64_t>, 8> statistics{{{"p50", 500'000},
                                                                                {"p90", 900'000},
                                                                                {"p99", 990'000},
                                                                                {"p99.9", 999'000},
                                                                                {"p99.99", 999'900},
                                                                                {"p99.999", 999'990},
                                                                                {"p99.9999", 999'999},
                                                                                {"max", 1'000'000}}};

std::optional<Nanoseconds> duration_of(std::string_view text) {
    constexpr Nanoseconds longest_ns = 60 * nanoseconds_per_second;  // the upper limit of the histogram
    constexpr std::array<std::pair<std::string_view, Nanoseconds>, 4> units{
        {{"ns", 1}, {"us", 1000}, {"ms", 1'000'000}, {"s", nanoseconds_per_second}}};
    for (const auto& [unit, factor] : units) {
        if (!text.ends_with(unit)) continue;
        const auto number = to_number<double>(text.substr(0, text.size() - unit.size()));
        if (!number || !std::isfinite(*number)) return std::nullopt;
        const double duration_ns = std::round(*number * static_cast<double>(factor));
        if (duration_ns >= 1 && duration_ns <= static_cast<double>(longest_ns))
            return static_cast<Nanoseconds>(duration_ns);
        return std::nullopt;
    }
    return std::nullopt;
}

}  // namespace

double rounded_rate(double rate_per_s) {
    const double unit = std::pow(10, std::floor(std::log10(rate_per_s)) - 4);
    // A unit below 1, such as 0.1, cannot be stored exactly. But 1 / unit is a whole number, so the result is divided
    // by 1 / unit.
    if (unit < 1) return std::round(rate_per_s / unit) / std::round(1 / unit);
    return std::round(rate_per_s / unit) * unit;
}

Result<LatencyGoal> parse_latency_goal(std::string_view text) {
    const auto equals = text.find('=');
    const auto* const found = std::find_if(statistics.begin(), statistics.end(),
                                           [&](const auto& known) { return known.first == text.substr(0, equals); });
    const auto limit_ns = equals == std::string_view::npos ? std::nullopt : duration_of(text.substr(equals + 1));
    if (found != statistics.end() && limit_ns) return LatencyGoal{std::string{found->first}, found->second, *limit_ns};
    std::string names;
    for (const auto& [name, millionths] : statistics) names += (names.empty() ? "" : ", ") + std::string{name};
    return Error{"--latency-goal " + std::string{text} +
                 ": not STATISTIC=TIME, such as p99=100us (at most 60s); the statistics are " + names};
}

Result<RateRange> parse_rate_range(std::string_view text) {
    constexpr double highest_per_s = 1e9;
    const auto parts = split(text, ',');
    const auto least = to_number<double>(parts.front());
    const auto most = to_number<double>(parts.back());
    if (parts.size() == 2 && least && most && *least >= 1 && *least < *most && *most <= highest_per_s)
        return RateRange{rounded_rate(*least), rounded_rate(*most)};
    return Error{"--rate-range " + std::string{text} +
                 ": not LOWEST,HIGHEST in messages per second, from 1 to 1000000000"};
}

}  // namespace tacholog
