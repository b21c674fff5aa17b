#include "cli/option_rules.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "transports/transport.hpp"

namespace tacholog {
namespace {

Result<void> check_roles(const Options& options) {
    if (options.role == Role::pub && !options.cpu_sub.empty()) {
        return Error{"--cpu-sub with --role pub: give it to the process with --role sub"};
    }
    if (options.role == Role::sub && !options.cpu_pub.empty()) {
        return Error{"--cpu-pub with --role sub: give it to the process with --role pub"};
    }
    if (options.role != Role::both && options.port == 0) {
        return Error{"--port 0 with --role " + std::string{to_text(options.role)} +
                     ": the sides have to agree on a port"};
    }
    return {};
}

Result<void> check_pace(const Options& options, const Given& given) {
    if (options.rate_per_s && options.test == Test::demand) {
        return Error{"--rate is for --test latency and throughput: a demand test is paced by --recovery"};
    }
    if (options.rate_per_s && options.test == Test::sustain) {
        return Error{
            "--rate is for --test latency and throughput: a sustain test searches for the rate within --rate-range"};
    }
    if (options.answer_limit_s && (options.test != Test::latency || options.rate_per_s)) {
        return Error{
            "--answer-limit is for --test latency without --rate: only this test waits for an answer before it sends "
            "the next message"};
    }
    for (const std::string option : {"demands", "demands-file", "recovery"}) {
        if (given.has(option) && options.test != Test::demand) return Error{"--" + option + " is for --test demand"};
    }
    for (const std::string option : {"sizes", "demands"}) {
        if (given.has(option) && given.has("demands-file")) {
            return Error{"--" + option + " with --demands-file: the file contains the sizes and demands"};
        }
    }
    return {};
}

/// Refuses a search that cannot begin, and trials that are too short to show whether they keep the goal.
Result<void> check_search(const Options& options, const Given& given) {
    if (options.test != Test::sustain) {
        for (const std::string option :
             {"latency-goal", "loss-goal", "rate-range", "trial-duration", "goal-width", "trials", "exceed-ratio"}) {
            if (given.has(option)) return Error{"--" + option + " is for --test sustain"};
        }
        return {};
    }
    const SustainPlan& plan = options.sustain;
    if (!plan.latency) return Error{"--test sustain needs --latency-goal, such as p99=100us"};
    if (plan.short_s > options.duration_s)
        return Error{
            "--trial-duration must not be longer than --duration, the length of the trials that confirm the result"};
    const double beyond = 1 - static_cast<double>(plan.latency->millionths) / 1e6;
    const double samples = plan.rates.least_per_s * plan.short_s;
    if (samples < 1 || (beyond > 0 && samples * beyond < 0.999999)) {
        return Error{"--latency-goal " + plan.latency->statistic +
                     ": a trial at the lowest rate has too few messages for that: raise the lowest rate of "
                     "--rate-range, or --trial-duration"};
    }
    return {};
}

Result<void> check_audience(const Options& options) {
    if (options.test != Test::latency && options.test != Test::sustain) return {};
    if (options.audience.subscribers > 1) {
        return Error{
            "--subscribers is for --test throughput and demand: a round trip has one publisher and one subscriber"};
    }
    if (options.audience.slow == SlowSubscriber::drop) {
        return Error{"--slow-subscriber drop is for --test throughput and demand: a round trip waits for its answer"};
    }
    return {};
}

Result<void> check_batch(const Options& options) {
    if (options.batch_bytes == 0 || (options.test != Test::latency && options.test != Test::sustain)) return {};
    return Error{
        "--batch-bytes is for --test throughput and demand: in other tests, a message that waits for others would only "
        "be late"};
}

Result<void> check_basis(const Options& options) {
    if (options.basis == Basis::round_trip) return {};
    if (options.test != Test::latency || !options.rate_per_s) {
        return Error{
            "--basis one-way needs --test latency and --rate: messages without answers must follow a schedule"};
    }
    if (options.handling.verify) {
        return Error{"--basis one-way with --verify: a message has no place for both its time and a checksum"};
    }
    return {};
}

std::string names_of_settings(const Transport& transport) {
    if (transport.settings.empty()) return "none";
    std::string names;
    for (const Setting& setting : transport.settings) names += (names.empty() ? "" : ", ") + std::string{setting.name};
    return names;
}

/// The transport must have the given settings, and their values must be allowed.
Result<void> check_settings(const Options& options) {
    const Transport* transport = find_transport(options.transport);
    if (transport == nullptr) return {};  // an unknown transport is refused elsewhere, see objections.hpp
    for (const auto& [name, value] : options.settings) {
        const Setting* setting = setting_of(*transport, name);
        if (setting == nullptr) {
            return Error{"--set " + name + ": " + options.transport +
                         " has no such setting; those that it has: " + names_of_settings(*transport)};
        }
        if (const auto fine = check_value(*setting, value); !fine) return fine;
    }
    return {};
}

}  // namespace

Result<void> check(const Options& options, const Given& given) {
    if (!given.has("test")) return Error{"--test is missing: latency, throughput, demand or sustain"};
    if (options.transport.empty()) return Error{"--transport is missing: --list-transports shows what there is"};
    if (const auto fine = check_pace(options, given); !fine) return fine;
    if (const auto fine = check_search(options, given); !fine) return fine;
    if (const auto fine = check_settings(options); !fine) return fine;
    if (options.handling.verify && options.handling.touch != Touch::write_read) {
        return Error{"--verify needs --touch write+read: a checksum covers bytes that were written and are read"};
    }
    if (const auto fine = check_audience(options); !fine) return fine;
    if (const auto fine = check_batch(options); !fine) return fine;
    if (const auto fine = check_basis(options); !fine) return fine;
    return check_roles(options);
}

}  // namespace tacholog
