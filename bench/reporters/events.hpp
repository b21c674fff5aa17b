// The events that a run reports, as plain values: one struct for each kind of line in the log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/case.hpp"
#include "base/clock.hpp"
#include "base/facts.hpp"
#include "base/histogram.hpp"
#include "cli/options.hpp"
#include "cli/sustain_plan.hpp"
#include "machine/environment.hpp"
#include "machine/measuring_cpus.hpp"
#include "machine/resources.hpp"

namespace tacholog {

struct Build {
    std::string version;
    std::string git;  ///< the commit; empty if the source was no git checkout
    std::string type;
    std::string compiler;
    std::string flags;
    std::string libc;
};

struct Config {
    Options options;
    std::string data_path;
    std::string reliability;
    /// "block" or "drop"; empty if the transport has no such policy.
    std::string slow_subscriber = {};
    std::string reach = {};  ///< network, host or process
};

/// The settings of the transport, including defaults.
struct SettingsInEffect {
    Settings settings;
};

struct Start {
    std::string time;
};

/// The facts that a transport reports about itself on one side.
struct TransportFacts {
    std::string role;
    std::string participant = {};
    Facts facts;
};

/// The facts that a companion program reports about itself.
struct CompanionFacts {
    Facts facts;
};

/// The network path that the data should take, and whether the counters of the kernel agree with it.
struct WayTaken {
    std::string expected;
    std::uint64_t carried_bytes = 0;  ///< payload bytes of the results in this log, each message counted once
    std::optional<std::uint64_t> ip_bytes;
    std::optional<bool> agrees;  ///< nothing: the run carried too few bytes to decide
};

enum class Outcome { steady, not_steady, fixed };

struct Warmup {
    std::size_t payload_bytes = 0;
    std::uint64_t messages = 0;
    Nanoseconds duration_ns = 0;
    Outcome outcome = Outcome::steady;
    std::optional<Demand> demand;
};

struct LatencyInterval {
    std::size_t payload_bytes = 0;
    std::uint64_t index = 0;
    Nanoseconds duration_ns = 0;
    const Histogram* histogram = nullptr;
};

struct ThroughputInterval {
    std::size_t payload_bytes = 0;
    std::uint64_t index = 0;
    Nanoseconds duration_ns = 0;
    std::uint64_t received = 0;
    std::uint64_t lost = 0;
    std::optional<Demand> demand;
    std::string participant = {};
};

struct Batches {
    /// The largest number in a batch; 1: each message was sent alone; 0: no batches were requested.
    std::size_t messages = 0;
    std::string by = {};  ///< the system call that sent the batches; only the publisher knows it
};

inline Batches batches_of(const Options& options, std::size_t payload_bytes) {
    return {options.batch_bytes > 0 ? messages_a_batch(options, payload_bytes) : 0};
}

/// Keyed data: the number of instances that the publisher writes, and the number of those from which messages arrived.
struct Instances {
    std::uint64_t written = 0;
    std::uint64_t heard = 0;
};

/// Counts of messages that did not arrive exactly once, in order and intact.
struct Faults {
    std::uint64_t lost = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t reordered = 0;
    std::optional<std::uint64_t> corrupted;  ///< see known_corrupted
    std::optional<std::uint64_t> dropped =
        {};  ///< lost messages that were dropped for a slow subscriber; nothing if the policy is not `drop`
};

/// Without verified payloads, only corrupted headers are counted. A count of 0 then proves nothing, so nothing is
/// returned.
inline std::optional<std::uint64_t> known_corrupted(Handling handling, std::uint64_t count) {
    return handling.verify || count > 0 ? std::optional{count} : std::nullopt;
}

/// How a closed loop waits for answers if the transport may lose messages.
struct AnswerLimit {
    Nanoseconds limit_ns = 0;  ///< the next message is sent after this time without an answer
    std::uint64_t late = 0;    ///< answers that arrived after the limit; they are samples too
};

struct LatencyResult {
    std::size_t payload_bytes = 0;
    Faults faults;
    Nanoseconds duration_ns = 0;
    const Histogram* histogram = nullptr;          ///< round trips
    std::optional<Instances> instances = {};       ///< only for keyed data
    std::optional<AnswerLimit> answer_limit = {};  ///< nothing: the transport is reliable and has no limit
};

/// How well an open loop kept its schedule.
struct Sending {
    std::size_t payload_bytes = 0;
    std::uint64_t planned = 0;
    std::uint64_t sent = 0;
    double target_rate_per_s = 0;
    std::optional<double> offered_rate_per_s;
    const Histogram* lateness = nullptr;   ///< of each message, from its intended to its actual send time
    const Histogram* from_send = nullptr;  ///< round trips, measured from the actual send time
};

struct TrialOrder {
    double rate_per_s = 0;
    double duration_s = 0;
    bool full_length = false;
};

struct Trial {
    std::size_t payload_bytes = 0;
    std::uint64_t index = 0;
    TrialOrder order;
    std::uint64_t planned = 0;
    std::uint64_t sent = 0;
    std::uint64_t held_back = 0;  ///< sent messages that the transport did not accept at once
    Faults faults;
    Nanoseconds duration_ns = 0;
    std::optional<double> offered_rate_per_s;
    const Histogram* latency = nullptr;  ///< round trips, measured from the intended send time
    const Histogram* lateness = nullptr;
    double loss_ratio = 0;  ///< planned messages without an answer, divided by planned messages
    bool keeps_latency = false;
    bool keeps_loss = false;

    bool passed() const { return keeps_latency && keeps_loss; }
};

/// The total durations of the trials at one rate, in seconds, because RFC 9971 adds up durations.
struct Tried {
    double full_passed_s = 0;
    double full_missed_s = 0;
    double short_passed_s = 0;
    double short_missed_s = 0;
};

enum class SustainOutcome { found, above_range, below_range };

struct Sustained {
    SustainOutcome outcome = SustainOutcome::found;
    std::optional<double> rate_per_s;   ///< the relevant lower bound; nothing if the lowest rate misses the goal
    std::optional<double> upper_per_s;  ///< the relevant upper bound; nothing if the highest rate keeps the goal
    std::uint64_t trials = 0;           ///< at all rates
    Tried at_rate;                      ///< the trials at the rate of the result
    /// The number of rates that kept the goal although they are well above the upper bound. A rate just above the
    /// capacity may keep the goal, because its queue grows slowly. The counted rates are too high for this explanation.
    std::uint64_t passed_above = 0;
};

/// The result of all trials of a payload size.
struct SustainResult {
    std::size_t payload_bytes = 0;
    SustainPlan plan;
    Sustained found;
    Nanoseconds duration_ns = 0;  ///< of all trials
};

/// The definition of a rate in all results: messages per second between the first and the last message. `n` messages
/// span `n - 1` periods, so fewer than two messages have no rate.
inline std::optional<double> rate_of(std::uint64_t messages, Nanoseconds first_to_last_ns) {
    if (messages < 2 || first_to_last_ns <= 0) return std::nullopt;
    return static_cast<double>(messages - 1) * 1e9 / static_cast<double>(first_to_last_ns);
}

/// The period begins at the time of an earlier message, which `messages` does not include.
inline std::optional<double> rate_within(std::uint64_t messages, Nanoseconds duration_ns) {
    return messages > 0 ? rate_of(messages + 1, duration_ns) : std::nullopt;
}

struct ThroughputResult {
    std::size_t payload_bytes = 0;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    Faults faults;
    Nanoseconds duration_ns = 0;  ///< from the first to the last message at the subscriber
    std::optional<double> offered_rate_per_s;
    std::string participant = {};
    std::optional<Instances> instances = {};  ///< only for keyed data
    Batches batches = {};

    std::optional<double> rate_per_s() const { return rate_of(received, duration_ns); }
};

struct DemandResult {
    std::size_t payload_bytes = 0;
    Demand demand;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    Faults faults;
    /// The time from the first to the last message; only the publisher knows it.
    std::optional<Nanoseconds> send_duration_ns;
    Nanoseconds receive_duration_ns = 0;  ///< from the first to the last message at the subscriber
    std::string participant = {};
    std::optional<Instances> instances = {};
    Batches batches = {};

    std::optional<double> rate_per_s() const { return rate_of(received, receive_duration_ns); }
    std::optional<double> offered_rate_per_s() const { return rate_of(sent, send_duration_ns.value_or(0)); }
};

/// The combined result of several subscribers of one publisher, or of one subscriber of several publishers.
struct Aggregate {
    Case measured;
    std::size_t publishers = 1;
    std::size_t subscribers = 1;
    std::uint64_t sent = 0;      ///< each message counts once, even if it was sent to several subscribers
    std::uint64_t received = 0;  ///< the sum over all subscribers or publishers; the faults are sums too
    Faults faults;
    /// The lowest rate of any subscriber or publisher; nothing if one of them has no rate.
    std::optional<double> slowest_rate_per_s;
    std::optional<double> total_rate_per_s;  ///< of all subscribers or publishers
    std::optional<double> offered_rate_per_s;
    std::optional<Instances> instances = {};  ///< `heard` is the lowest of the counts of all subscribers or publishers
    Batches batches = {};
};

/// The processor time that the sides and the companion program used for the messages of one case. The warm-up is
/// included.
struct Cost {
    Case measured;
    std::uint64_t messages = 0;  ///< messages that arrived, at all subscribers together
    Nanoseconds sides_ns = 0;
    std::optional<Nanoseconds> companion_ns = {};  ///< nothing: there is no companion program
};

struct Note {
    std::string text;
};

struct Failure {
    std::optional<std::size_t> payload_bytes;
    std::string text;
};

struct End {
    bool ok = true;
    std::uint64_t latency = 0;
    std::uint64_t throughput = 0;
    std::uint64_t demand = 0;
    std::uint64_t errors = 0;
    std::string time;
    std::uint64_t sustain = 0;
};

}  // namespace tacholog
