#include "cli/option_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/address.hpp"
#include "base/instances.hpp"
#include "base/text.hpp"
#include "cli/choices.hpp"
#include "machine/environment.hpp"

namespace tacholog {
namespace {

constexpr double longest_s = 86400;
constexpr int most_trials = 1000;
constexpr std::size_t most_between_probes = 1'000'000'000;

Result<double> positive(std::string_view option, std::string_view text, std::string_view unit, double most) {
    const auto number = to_number<double>(text);
    if (number && std::isfinite(*number) && *number > most) {
        return Error{std::string{option} + " " + std::string{text} + ": more than " +
                     std::to_string(static_cast<long>(most)) + " " + std::string{unit}};
    }
    if (number && std::isfinite(*number) && *number > 0) return *number;
    return Error{std::string{option} + " " + std::string{text} + ": not a positive number of " + std::string{unit}};
}

template <typename Value, typename Target>
Result<void> keep(Result<Value> read, Target& into) {
    if (!read) return read.error();
    into = std::move(*read);
    return {};
}

Result<void> set_warmup(Options& options, std::string_view text) {
    if (text == "steady") return {};
    const auto seconds = to_number<double>(text);
    if (!seconds || !(*seconds >= 0) || *seconds > longest_s) {
        return Error{"--warmup " + std::string{text} + ": neither 'steady' nor a number of seconds"};
    }
    options.warmup_s = *seconds;
    return {};
}

Result<void> set_interval_length(Options& options, std::string_view text) {
    constexpr double shortest_s = 0.01;
    const auto seconds = positive("--interval-length", text, "seconds", longest_s);
    if (!seconds) return seconds.error();
    if (*seconds < shortest_s) return Error{"--interval-length " + std::string{text} + ": less than 0.01 seconds"};
    options.interval_s = *seconds;
    return {};
}

Result<void> set_port(Options& options, std::string_view text) {
    const auto port = to_number<int>(text);
    if (!port || *port < 0 || *port > 65535) return Error{"--port " + std::string{text} + ": not a port (0 to 65535)"};
    options.port = *port;
    return {};
}

Result<void> set_address(Options& options, std::string_view text) {
    auto found = resolve(std::string{text});
    if (!found) return Error{"--address " + std::string{text} + ": " + found.error().text};
    options.address = std::move(*found);
    return {};
}

Result<std::size_t> how_many(std::string_view option, std::string_view text, std::size_t most) {
    const auto count = to_number<std::size_t>(text);
    if (count && *count >= 1 && *count <= most) return *count;
    return Error{std::string{option} + " " + std::string{text} + ": not a number from 1 to " + std::to_string(most)};
}

template <int least, int most>
Result<int> whole(std::string_view option, std::string_view text) {
    const auto number = to_number<int>(text);
    if (number && *number >= least && *number <= most) return *number;
    return Error{std::string{option} + " " + std::string{text} + ": not a whole number from " + std::to_string(least) +
                 " to " + std::to_string(most)};
}

Result<void> set_realtime(Options& options, std::string_view text) {
    return keep(whole<1, highest_realtime>("--realtime", text), options.tuning.realtime);
}

Result<void> set_numa(Options& options, std::string_view text) {
    constexpr int highest_node = 1023;
    return keep(whole<0, highest_node>("--numa", text), options.tuning.numa_node);
}

Result<void> set_batch_bytes(Options& options, std::string_view text) {
    const auto sizes = parse_sizes(text);
    if (!sizes || sizes->size() != 1 || sizes->front() > most_batch_bytes) {
        return Error{"--batch-bytes " + std::string{text} + ": not a size from 16 to 1MiB"};
    }
    options.batch_bytes = sizes->front();
    return {};
}

/// The name and the value of the setting are checked once the transport is known.
Result<void> set_setting(Options& options, std::string_view text) {
    const auto equals = text.find('=');
    const auto name = text.substr(0, equals);
    if (equals == std::string_view::npos || name.empty() || equals + 1 == text.size())
        return Error{"--set " + std::string{text} + ": not NAME=VALUE"};
    if (!options.settings.emplace(name, text.substr(equals + 1)).second)
        return Error{"--set " + std::string{name} + " is given twice"};
    return {};
}

Result<void> set_output(Options& options, std::string_view text) {
    if (text.empty()) return Error{"--output: an empty name"};
    options.output = text;
    return {};
}

/// The ratio must be at least `least`, and less than 1.
Result<double> share(std::string_view option, std::string_view text, double least) {
    const auto number = to_number<double>(text);
    if (number && *number >= least && *number < 1) return *number;
    return Error{std::string{option} + " " + std::string{text} + ": not a ratio from " + (least > 0 ? "0.001" : "0") +
                 " to less than 1"};
}

Result<void> set_flag(bool& flag) {
    flag = true;
    return {};
}

Result<void> nothing(Options&, std::string_view) {
    return {};
}

// clang-format off
constexpr std::array<OptionRow, 44> rows{{
    {"test", [](Options& o, std::string_view t) { return choose("--test", t, tests, o.test); }},
    {"transport", [](Options& o, std::string_view t) -> Result<void> { o.transport = t; return {}; }},
    {"role", [](Options& o, std::string_view t) { return choose("--role", t, roles, o.role); }},
    {"sizes", [](Options& o, std::string_view t) { return keep(parse_sizes(t), o.sizes); }},
    {"duration", [](Options& o, std::string_view t) { return keep(positive("--duration", t, "seconds", longest_s), o.duration_s); }},
    {"warmup", set_warmup},
    {"interval-length", set_interval_length},
    {"rate", [](Options& o, std::string_view t) { return keep(positive("--rate", t, "messages per second", 1e9), o.rate_per_s); }},
    {"latency-goal", [](Options& o, std::string_view t) { return keep(parse_latency_goal(t), o.sustain.latency); }},
    {"loss-goal", [](Options& o, std::string_view t) { return keep(share("--loss-goal", t, 0), o.sustain.loss_ratio); }},
    {"rate-range", [](Options& o, std::string_view t) { return keep(parse_rate_range(t), o.sustain.rates); }},
    {"trial-duration", [](Options& o, std::string_view t) { return keep(positive("--trial-duration", t, "seconds", longest_s), o.sustain.short_s); }},
    {"goal-width", [](Options& o, std::string_view t) { return keep(share("--goal-width", t, 0.001), o.sustain.width_ratio); }},
    {"trials", [](Options& o, std::string_view t) { return keep(whole<1, most_trials>("--trials", t), o.sustain.trials); }},
    {"exceed-ratio", [](Options& o, std::string_view t) { return keep(share("--exceed-ratio", t, 0), o.sustain.exceed_ratio); }},
    {"demands", [](Options& o, std::string_view t) { return keep(parse_demands(t), o.demands); }},
    {"demands-file", [](Options& o, std::string_view t) { return keep(read_demand_table(std::string{t}), o.demand_table); }},
    {"recovery", [](Options& o, std::string_view t) { return keep(parse_recovery(t), o.recovery_ns); }},
    {"touch", [](Options& o, std::string_view t) { return choose("--touch", t, touches, o.handling.touch); }},
    {"verify", [](Options& o, std::string_view) { return set_flag(o.handling.verify); }, no_argument},
    {"basis", [](Options& o, std::string_view t) { return choose("--basis", t, bases, o.basis); }},
    {"wait", [](Options& o, std::string_view t) { return choose("--wait", t, ways_to_wait, o.waiting); }},
    {"batch-bytes", set_batch_bytes},
    {"probe-every", [](Options& o, std::string_view t) { return keep(how_many("--probe-every", t, most_between_probes), o.probe_every); }},
    {"instances", [](Options& o, std::string_view t) { return keep(how_many("--instances", t, most_instances), o.instances); }},
    {"publishers", [](Options& o, std::string_view t) { return keep(how_many("--publishers", t, most_publishers), o.publishers); }},
    {"subscribers", [](Options& o, std::string_view t) { return keep(how_many("--subscribers", t, most_subscribers), o.audience.subscribers); }},
    {"slow-subscriber", [](Options& o, std::string_view t) { return choose("--slow-subscriber", t, policies, o.audience.slow); }},
    {"cpu-pub", [](Options& o, std::string_view t) { return keep(parse_cpus(t), o.cpu_pub); }},
    {"cpu-sub", [](Options& o, std::string_view t) { return keep(parse_cpus(t), o.cpu_sub); }},
    {"realtime", set_realtime},
    {"lock-memory", [](Options& o, std::string_view) { return set_flag(o.tuning.lock_memory); }, no_argument},
    {"numa", set_numa},
    {"address", set_address},
    {"port", set_port},
    {"set", set_setting, required_argument, Request::run, true},
    {"any-endpoint", [](Options& o, std::string_view) { return set_flag(o.any_endpoint); }, no_argument},
    {"timeout", [](Options& o, std::string_view t) { return keep(positive("--timeout", t, "seconds", longest_s), o.timeout_s); }},
    {"answer-limit", [](Options& o, std::string_view t) { return keep(positive("--answer-limit", t, "seconds", longest_s), o.answer_limit_s); }},
    {"output", set_output},
    {"verbose", [](Options& o, std::string_view) { return set_flag(o.verbose); }, no_argument},
    {"list-transports", nothing, no_argument, Request::list_transports},
    {"version", nothing, no_argument, Request::version},
    {"help", nothing, no_argument, Request::help},
}};
// clang-format on

}  // namespace

std::span<const OptionRow> option_table() {
    return rows;
}

}  // namespace tacholog
