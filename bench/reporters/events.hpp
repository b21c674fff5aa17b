// What a run reports, as plain values: one struct for each kind of line in a log.
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
#include "machine/resources.hpp"

namespace tacholog {

/// This program, as it was built.
struct Build {
    std::string version;
    std::string git;  ///< empty outside a git checkout
    std::string type;
    std::string compiler;
    std::string flags;
    std::string libc;
};

struct Config {
    Options options;
    std::string data_path;
    std::string reliability;
    std::string slow_subscriber = {};  ///< block or drop; empty where that is no question
    std::string reach = {};            ///< of the transport
};

/// The transport's own settings that are in effect, defaults too.
struct SettingsInEffect {
    Settings settings;
};

struct Start {
    std::string time;
};

/// What a transport states about itself at one side.
struct TransportFacts {
    std::string role;
    std::string participant = {};
    Facts facts;
};

/// What a program that the run has started says of itself.
struct CompanionFacts {
    Facts facts;
};

/// Which way the data was meant to take, and whether the kernel's counters agree.
struct WayTaken {
    std::string expected;
    std::uint64_t carried_bytes = 0;  ///< payloads that this log has results of, each counted once
    std::optional<std::uint64_t> ip_bytes;
    std::optional<bool> agrees;  ///< nothing: too little was carried to tell
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

/// How messages travelled together.
struct Batches {
    std::size_t messages = 0;  ///< in one, at most; 1: each went alone; 0: no batches were asked for
    std::string by = {};       ///< the system call that took them, which the publisher alone knows
};

inline Batches batches_of(const Options& options, std::size_t payload_bytes) {
    return {options.batch_bytes > 0 ? messages_a_batch(options, payload_bytes) : 0};
}

/// Of keyed data: the instances that the publisher writes, and those of which something came.
struct Instances {
    std::uint64_t written = 0;
    std::uint64_t heard = 0;
};

/// What went wrong with messages.
struct Faults {
    std::uint64_t lost = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t reordered = 0;
    std::optional<std::uint64_t> corrupted;  ///< see known_corrupted
    std::optional<std::uint64_t> dropped =
        {};  ///< of those lost: dropped for a slow subscriber; nothing if none is left behind
};

/// The number of corrupted messages, as far as it is known: all of them, if payloads were verified; else those with a
/// corrupted header, and nothing if there were none.
inline std::optional<std::uint64_t> known_corrupted(Handling handling, std::uint64_t count) {
    return handling.verify || count > 0 ? std::optional{count} : std::nullopt;
}

/// How a closed loop over a transport that may lose messages waits for its answers.
struct AnswerLimit {
    Nanoseconds limit_ns = 0;  ///< so long, then the next message is sent
    std::uint64_t late = 0;    ///< answers that came after that, and are samples all the same
};

struct LatencyResult {
    std::size_t payload_bytes = 0;
    Faults faults;
    Nanoseconds duration_ns = 0;
    const Histogram* histogram = nullptr;          ///< round trips
    std::optional<Instances> instances = {};       ///< of keyed data only
    std::optional<AnswerLimit> answer_limit = {};  ///< nothing if the transport loses nothing
};

/// How an open loop kept its schedule.
struct Sending {
    std::size_t payload_bytes = 0;
    std::uint64_t planned = 0;
    std::uint64_t sent = 0;
    double target_rate_per_s = 0;
    std::optional<double> offered_rate_per_s;
    const Histogram* lateness = nullptr;   ///< from the intended to the actual send time
    const Histogram* from_send = nullptr;  ///< round trips from the actual send time
};

/// Which trial comes next.
struct TrialOrder {
    double rate_per_s = 0;
    double duration_s = 0;
    bool full_length = false;
};

/// One trial of the sustain test.
struct Trial {
    std::size_t payload_bytes = 0;
    std::uint64_t index = 0;
    TrialOrder order;
    std::uint64_t planned = 0;
    std::uint64_t sent = 0;
    std::uint64_t held_back = 0;  ///< of those sent: the transport did not take them at once
    Faults faults;
    Nanoseconds duration_ns = 0;
    std::optional<double> offered_rate_per_s;
    const Histogram* latency = nullptr;  ///< round trips from the intended send time
    const Histogram* lateness = nullptr;
    double loss_ratio = 0;  ///< of those planned: not answered
    bool keeps_latency = false;
    bool keeps_loss = false;

    bool passed() const { return keeps_latency && keeps_loss; }
};

/// How often, and how long, a rate was tried. In seconds, as RFC 9971 adds up durations.
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
    std::uint64_t trials = 0;           ///< in all
    Tried at_rate;                      ///< the trials of the result's rate
    std::uint64_t passed_above =
        0;  ///< rates at which trials passed, further above the upper bound than a queue explains
};

/// What the trials of a size have found.
struct SustainResult {
    std::size_t payload_bytes = 0;
    SustainPlan plan;
    Sustained found;
    Nanoseconds duration_ns = 0;  ///< of all trials
};

/// The one rate of the rig: messages a second, of so many of which the first and the last lie this far apart. `n`
/// messages lie `n - 1` periods apart, so that fewer than two have no rate.
inline std::optional<double> rate_of(std::uint64_t messages, Nanoseconds first_to_last_ns) {
    if (messages < 2 || first_to_last_ns <= 0) return std::nullopt;
    return static_cast<double>(messages - 1) * 1e9 / static_cast<double>(first_to_last_ns);
}

/// The same within a time that begins with a message which is not counted: the last one before it.
inline std::optional<double> rate_within(std::uint64_t messages, Nanoseconds duration_ns) {
    return messages > 0 ? rate_of(messages + 1, duration_ns) : std::nullopt;
}

struct ThroughputResult {
    std::size_t payload_bytes = 0;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    Faults faults;
    Nanoseconds duration_ns = 0;  ///< first to last message at the subscriber
    std::optional<double> offered_rate_per_s;
    std::string participant = {};
    std::optional<Instances> instances = {};  ///< of keyed data only
    Batches batches = {};

    std::optional<double> rate_per_s() const { return rate_of(received, duration_ns); }
};

struct DemandResult {
    std::size_t payload_bytes = 0;
    Demand demand;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    Faults faults;
    std::optional<Nanoseconds> send_duration_ns;  ///< first to last message at the publisher, which alone knows it
    Nanoseconds receive_duration_ns = 0;          ///< first to last message at the subscriber
    std::string participant = {};
    std::optional<Instances> instances = {};
    Batches batches = {};

    std::optional<double> rate_per_s() const { return rate_of(received, receive_duration_ns); }
    std::optional<double> offered_rate_per_s() const { return rate_of(sent, send_duration_ns.value_or(0)); }
};

/// What several subscribers of one publisher received, or one subscriber of several publishers, taken together.
struct Aggregate {
    Case measured;
    std::size_t publishers = 1;
    std::size_t subscribers = 1;
    std::uint64_t sent = 0;      ///< each message once, however many it was for
    std::uint64_t received = 0;  ///< summed over the subscribers or publishers, as the faults
    Faults faults;
    std::optional<double> slowest_rate_per_s;  ///< of their rates; nothing if one of them has none
    std::optional<double> total_rate_per_s;    ///< their sum
    std::optional<double> offered_rate_per_s;
    std::optional<Instances> instances = {};  ///< written by each publisher, heard at each of those taken together
    Batches batches = {};
};

/// The processor time that all sides, and the companion program, needed for the messages of one case, warm-up included.
struct Cost {
    Case measured;
    std::uint64_t messages = 0;  ///< those that arrived, at all subscribers
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
