// The checked options of perftest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/audience.hpp"
#include "base/case.hpp"
#include "base/message.hpp"
#include "base/result.hpp"
#include "base/settings.hpp"
#include "base/waiting.hpp"
#include "cli/lists.hpp"
#include "cli/sustain_plan.hpp"
#include "machine/tuning.hpp"

namespace tacholog {

enum class Test { latency, throughput, demand, sustain };
enum class Basis { round_trip, one_way };
enum class Role { both, pub, sub };
enum class Request { run, help, version, list_transports };

std::string_view to_text(Test test);
std::string_view to_text(Role role);
std::string_view to_text(Touch touch);
std::string_view to_text(SlowSubscriber slow);
std::string_view to_text(Waiting waiting);
std::string_view to_text(Basis basis);

struct Options {
    Request request = Request::run;
    bool verbose = false;  ///< for --list-transports
    Test test = Test::latency;
    std::string transport;
    Role role = Role::both;
    std::vector<std::size_t> sizes = {16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576};
    std::vector<std::uint32_t> demands = {100, 1000, 10000};
    std::vector<Nanoseconds> recovery_ns = {5'000'000};
    DemandTable demand_table;  ///< the cases of the demand test: the table of a file, or every size with every demand
    double duration_s = 5;
    double interval_s = 1;           ///< the length of the intervals that are reported
    std::optional<double> warmup_s;  ///< nothing: the warm-up ends when the rate is steady
    std::optional<double> rate_per_s;
    SustainPlan sustain;
    Handling handling;
    std::size_t publishers = 1;  ///< for one subscriber
    Audience audience;
    std::optional<std::size_t> instances;  ///< of keyed data; nothing: the topic has no key
    Waiting waiting = Waiting::busy_poll;
    Settings settings;            ///< all settings of the transport, with the given values or their defaults
    std::size_t batch_bytes = 0;  ///< the size of the largest batch; 0: each message is sent at once
    std::size_t probe_every = 0;  ///< N: in a throughput test, every N-th message is a probe; 0: there are no probes
    Basis basis = Basis::round_trip;
    std::vector<int> cpu_pub;
    std::vector<int> cpu_sub;
    Tuning tuning;
    std::string address = "127.0.0.1";
    int port = -1;              ///< -1: not given
    bool any_endpoint = false;  ///< the peer may give an address other than its own as the address to send to
    double timeout_s = 10;
    /// How long to wait for an answer that may be lost. Without a value, the time depends on the payload size.
    std::optional<double> answer_limit_s;
    std::string output = "-";  ///< the file of the log; "-": standard output
    std::string command;       ///< the command line as given
};

/// Errors tell the user what to change.
Result<Options> parse_options(int argc, char* argv[]);

inline Patience limit_of(const Options& options) {
    return Patience{static_cast<Patience::rep>(options.timeout_s * 1000)};
}

inline bool has_round_trips(const Options& options) {
    return options.test == Test::sustain || (options.test == Test::latency && options.basis == Basis::round_trip);
}

/// In an open loop, messages are sent on a fixed schedule, even if answers are late.
inline bool is_open_loop(const Options& options) {
    return options.test == Test::sustain || options.rate_per_s.has_value();
}

/// No transport allows a larger batch.
inline constexpr std::size_t most_batch_bytes = std::size_t{1024} * 1024;

/// The largest number of messages of this size in one batch; 1: without batching.
inline std::size_t messages_a_batch(const Options& options, std::size_t payload_bytes) {
    return std::max<std::size_t>(1, options.batch_bytes / payload_bytes);
}

/// The cases in the order in which they are measured.
std::vector<Case> cases(const Options& options);

std::string help_text();

}  // namespace tacholog
