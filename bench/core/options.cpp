#include "core/options.hpp"

#include <getopt.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/address.hpp"
#include "core/instances.hpp"
#include "core/text.hpp"

namespace tacholog {
namespace {

constexpr double longest_s = 86400;
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

template <typename Value, std::size_t Count>
using Choices = std::array<std::pair<std::string_view, Value>, Count>;

constexpr Choices<Test, 3> tests{
    {{"latency", Test::latency}, {"throughput", Test::throughput}, {"demand", Test::demand}}};
constexpr Choices<Role, 3> roles{{{"both", Role::both}, {"pub", Role::pub}, {"sub", Role::sub}}};
constexpr Choices<Touch, 3> touches{
    {{"none", Touch::none}, {"write", Touch::write}, {"write+read", Touch::write_read}}};
constexpr Choices<SlowSubscriber, 2> policies{{{"block", SlowSubscriber::block}, {"drop", SlowSubscriber::drop}}};
constexpr Choices<Basis, 2> bases{{{"rtt", Basis::round_trip}, {"one-way", Basis::one_way}}};
constexpr Choices<Waiting, 3> ways_to_wait{
    {{"busy-poll", Waiting::busy_poll}, {"block", Waiting::block}, {"spin-then-block", Waiting::spin_then_block}}};

template <typename Value, std::size_t Count>
Result<void> choose(std::string_view option, std::string_view text, const Choices<Value, Count>& choices, Value& into) {
    std::string known;
    for (const auto& [name, value] : choices) {
        if (name == text) {
            into = value;
            return {};
        }
        if (!known.empty()) known += ", ";
        known += name;
    }
    return Error{std::string{option} + " " + std::string{text} + ": not one of " + known};
}

template <typename Value, std::size_t Count>
std::string_view name_of(Value value, const Choices<Value, Count>& choices) {
    return std::find_if(choices.begin(), choices.end(), [&](const auto& choice) { return choice.second == value; })
        ->first;
}

template <typename Value, typename Target>
Result<void> keep(Result<Value> read, Target& into) {
    if (!read) return read.error();
    into = std::move(*read);
    return {};
}

using Setter = Result<void> (*)(Options&, std::string_view text);

struct Row {
    const char* name;
    Setter set;
    int argument = required_argument;
    Request request = Request::run;
};

Result<void> set_warmup(Options& options, std::string_view text) {
    if (text == "steady") return {};
    const auto seconds = to_number<double>(text);
    if (!seconds || !(*seconds >= 0) || *seconds > longest_s) {
        return Error{"--warmup " + std::string{text} + ": neither 'steady' nor a number of seconds"};
    }
    options.warmup_s = *seconds;
    return {};
}

Result<void> set_port(Options& options, std::string_view text) {
    const auto port = to_number<int>(text);
    if (!port || *port < 0 || *port > 65535) return Error{"--port " + std::string{text} + ": not a port (0 to 65535)"};
    options.port = *port;
    return {};
}

Result<void> set_address(Options& options, std::string_view text) {
    if (!parse_address(text, 0)) return Error{"--address " + std::string{text} + ": not an IPv4 address"};
    options.address = text;
    return {};
}

Result<void> set_mock(Options& options, std::string_view text) {
    options.mock = text;
    return keep(parse_injection(text), options.injection);
}

Result<std::size_t> how_many(std::string_view option, std::string_view text, std::size_t most) {
    const auto count = to_number<std::size_t>(text);
    if (count && *count >= 1 && *count <= most) return *count;
    return Error{std::string{option} + " " + std::string{text} + ": not a number from 1 to " + std::to_string(most)};
}

Result<void> set_batch_bytes(Options& options, std::string_view text) {
    const auto sizes = parse_sizes(text);
    if (!sizes || sizes->size() != 1 || sizes->front() > most_batch_bytes) {
        return Error{"--batch-bytes " + std::string{text} + ": not a size from 16 to 64KiB"};
    }
    options.batch_bytes = sizes->front();
    return {};
}

/// The n-th --reporter goes with the n-th --output.
Result<void> set_log(Options& options, std::string LogOrder::* part, std::string_view text) {
    if (text.empty()) return Error{"--reporter and --output: an empty name"};
    const auto free = std::find_if(options.logs.begin(), options.logs.end(),
                                   [&](const LogOrder& order) { return (order.*part).empty(); });
    LogOrder& order = free == options.logs.end() ? options.logs.emplace_back() : *free;
    order.*part = text;
    return {};
}

Result<void> set_flag(bool& flag) {
    flag = true;
    return {};
}

Result<void> nothing(Options&, std::string_view) {
    return {};
}

// clang-format off
constexpr std::array<Row, 34> rows{{
    {"test", [](Options& o, std::string_view t) { return choose("--test", t, tests, o.test); }},
    {"transport", [](Options& o, std::string_view t) -> Result<void> { o.transport = t; return {}; }},
    {"role", [](Options& o, std::string_view t) { return choose("--role", t, roles, o.role); }},
    {"sizes", [](Options& o, std::string_view t) { return keep(parse_sizes(t), o.sizes); }},
    {"duration", [](Options& o, std::string_view t) { return keep(positive("--duration", t, "seconds", longest_s), o.duration_s); }},
    {"warmup", set_warmup},
    {"rate", [](Options& o, std::string_view t) { return keep(positive("--rate", t, "messages per second", 1e9), o.rate_per_s); }},
    {"demands", [](Options& o, std::string_view t) { return keep(parse_demands(t), o.demands); }},
    {"demands-file", [](Options& o, std::string_view t) { return keep(read_demand_table(std::string{t}), o.demand_table); }},
    {"recovery", [](Options& o, std::string_view t) { return keep(parse_recovery(t), o.recovery_ns); }},
    {"touch", [](Options& o, std::string_view t) { return choose("--touch", t, touches, o.handling.touch); }},
    {"verify", [](Options& o, std::string_view) { return set_flag(o.handling.verify); }, no_argument},
    {"basis", [](Options& o, std::string_view t) { return choose("--basis", t, bases, o.basis); }},
    {"wait", [](Options& o, std::string_view t) { return choose("--wait", t, ways_to_wait, o.waiting); }},
    {"batch-bytes", set_batch_bytes},
    {"probe-every", [](Options& o, std::string_view t) { return keep(how_many("--probe-every", t, most_between_probes), o.probe_every); }},
    {"mock", set_mock},
    {"instances", [](Options& o, std::string_view t) { return keep(how_many("--instances", t, most_instances), o.instances); }},
    {"publishers", [](Options& o, std::string_view t) { return keep(how_many("--publishers", t, most_publishers), o.publishers); }},
    {"subscribers", [](Options& o, std::string_view t) { return keep(how_many("--subscribers", t, most_subscribers), o.audience.subscribers); }},
    {"slow-subscriber", [](Options& o, std::string_view t) { return choose("--slow-subscriber", t, policies, o.audience.slow); }},
    {"cpu-pub", [](Options& o, std::string_view t) { return keep(parse_cpus(t), o.cpu_pub); }},
    {"cpu-sub", [](Options& o, std::string_view t) { return keep(parse_cpus(t), o.cpu_sub); }},
    {"address", set_address},
    {"port", set_port},
    {"timeout", [](Options& o, std::string_view t) { return keep(positive("--timeout", t, "seconds", longest_s), o.timeout_s); }},
    {"reporter", [](Options& o, std::string_view t) { return set_log(o, &LogOrder::reporter, t); }},
    {"output", [](Options& o, std::string_view t) { return set_log(o, &LogOrder::output, t); }},
    {"intervals", [](Options& o, std::string_view) { return set_flag(o.intervals); }, no_argument},
    {"no-headers", [](Options& o, std::string_view) { return set_flag(o.no_headers); }, no_argument},
    {"list-transports", nothing, no_argument, Request::list_transports},
    {"list-reporters", nothing, no_argument, Request::list_reporters},
    {"version", nothing, no_argument, Request::version},
    {"help", nothing, no_argument, Request::help},
}};
// clang-format on

/// The options that were given, for where the values alone do not say.
class Given {
public:
    void add(std::string_view name) { names_.push_back(name); }
    bool has(std::string_view name) const { return std::find(names_.begin(), names_.end(), name) != names_.end(); }

private:
    std::vector<std::string_view> names_;
};

std::array<option, rows.size() + 1> getopt_table() {
    std::array<option, rows.size() + 1> table{};
    for (std::size_t row = 0; row < rows.size(); ++row) {
        table[row] = {rows[row].name, rows[row].argument, nullptr, static_cast<int>(row) + 1};
    }
    return table;
}

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
    for (const std::string option : {"demands", "demands-file", "recovery"}) {
        if (given.has(option) && options.test != Test::demand) return Error{"--" + option + " is for --test demand"};
    }
    for (const std::string option : {"sizes", "demands"}) {
        if (given.has(option) && given.has("demands-file")) {
            return Error{"--" + option + " with --demands-file: the file says which sizes and demands"};
        }
    }
    return {};
}

Result<void> check_audience(const Options& options) {
    if (options.test != Test::latency) return {};
    if (options.audience.subscribers > 1) {
        return Error{
            "--subscribers is for --test throughput and demand: a round trip has one publisher and one subscriber"};
    }
    if (options.instances) {
        return Error{
            "--instances is for --test throughput and demand: the answer to each round trip is checked anyway"};
    }
    if (options.audience.slow == SlowSubscriber::drop) {
        return Error{"--slow-subscriber drop is for --test throughput and demand: a round trip waits for its answer"};
    }
    return {};
}

Result<void> check_batch(const Options& options) {
    if (options.batch_bytes == 0 || options.test != Test::latency) return {};
    return Error{
        "--batch-bytes is for --test throughput and demand: a message held back for others would only be late"};
}

Result<void> check_basis(const Options& options) {
    if (options.basis == Basis::round_trip) return {};
    if (options.test != Test::latency || !options.rate_per_s) {
        return Error{"--basis one-way needs --test latency and --rate: messages that nobody answers follow a schedule"};
    }
    if (options.handling.verify) {
        return Error{"--basis one-way with --verify: a message has no place for both its time and a checksum"};
    }
    return {};
}

Result<void> check_logs(const std::vector<LogOrder>& logs) {
    for (const auto& log : logs) {
        if (logs.size() > 1 && (log.reporter.empty() || log.output.empty())) {
            return Error{"--reporter and --output: for more than one log give them in pairs"};
        }
        const auto same = [&](const LogOrder& other) { return other.output == log.output; };
        if (std::count_if(logs.begin(), logs.end(), same) > 1) {
            return Error{"--output " + log.output + " is there twice: each log needs its own"};
        }
    }
    return {};
}

Result<void> check(const Options& options, const Given& given) {
    if (!given.has("test")) return Error{"--test is missing: latency, throughput or demand"};
    if (options.transport.empty()) return Error{"--transport is missing: --list-transports shows what there is"};
    if (const auto fine = check_pace(options, given); !fine) return fine;
    if (given.has("mock") && options.transport != "mock") return Error{"--mock is for --transport mock"};
    if (options.handling.verify && options.handling.touch != Touch::write_read) {
        return Error{"--verify needs --touch write+read: a checksum covers bytes that were written and are read"};
    }
    if (const auto fine = check_audience(options); !fine) return fine;
    if (const auto fine = check_batch(options); !fine) return fine;
    if (const auto fine = check_basis(options); !fine) return fine;
    if (const auto fine = check_logs(options.logs); !fine) return fine;
    return check_roles(options);
}

/// What was not given but follows from the rest.
void complete(Options& options) {
    if (options.logs.empty()) options.logs.emplace_back();
    for (auto& log : options.logs) {
        if (log.reporter.empty()) log.reporter = std::string{"native"};
        if (log.output.empty()) log.output = std::string{"-"};
    }
    if (options.test != Test::demand) return;
    if (options.demand_table.empty()) {
        for (const auto size : options.sizes) options.demand_table.push_back({size, options.demands});
        return;
    }
    options.sizes.clear();
    for (const auto& row : options.demand_table) options.sizes.push_back(row.payload_bytes);
}

std::string joined(int argc, char* argv[]) {
    std::string command;
    for (int at = 0; at < argc; ++at) {
        if (at > 0) command += ' ';
        command += argv[at];
    }
    return command;
}

/// getopt_long takes `--size` for --sizes as long as nothing else begins so: what that means would change with each new
/// option.
Result<void> whole(std::string_view word, std::string_view name) {
    if (word.substr(0, word.find('=')).size() == name.size() + 2) return {};
    return Error{std::string{word.substr(0, word.find('='))} + ": no such option; there is --" + std::string{name}};
}

/// What getopt_long has just refused, in words.
Error refusal(int answer, char* argv[]) {
    const std::string word = argv[optind - 1];
    if (answer == ':') return Error{word + ": its value is missing"};
    return Error{word + ": no such option, or not clear which; --help shows them all"};
}

}  // namespace

std::string_view to_text(Test test) {
    return name_of(test, tests);
}

std::string_view to_text(Role role) {
    return name_of(role, roles);
}

std::string_view to_text(Touch touch) {
    return name_of(touch, touches);
}

std::string_view to_text(SlowSubscriber slow) {
    return name_of(slow, policies);
}

std::string_view to_text(Basis basis) {
    return name_of(basis, bases);
}

std::string_view to_text(Waiting waiting) {
    return name_of(waiting, ways_to_wait);
}

std::vector<Case> cases(const Options& options) {
    std::vector<Case> found;
    if (options.test != Test::demand) {
        for (const auto size : options.sizes) found.push_back({size, std::nullopt});
        return found;
    }
    for (const auto& row : options.demand_table) {
        for (const auto messages : row.demands) {
            for (const auto recovery_ns : options.recovery_ns)
                found.push_back({row.payload_bytes, Demand{messages, recovery_ns}});
        }
    }
    return found;
}

Result<Options> parse_options(int argc, char* argv[]) {
    Options options;
    Given given;
    options.command = joined(argc, argv);
    const auto table = getopt_table();
    optind = 0;  // start afresh: tests call this more than once
    while (true) {
        const int at = std::max(optind, 1);  // of the word that is read now
        const int answer = ::getopt_long(argc, argv, "+:", table.data(), nullptr);
        if (answer == -1) break;
        if (answer < 1 || answer > static_cast<int>(rows.size())) return refusal(answer, argv);
        const Row& row = rows[static_cast<std::size_t>(answer) - 1];
        if (const auto fine = whole(argv[at], row.name); !fine) return fine.error();
        if (row.request != Request::run) {
            options.request = row.request;
            return options;
        }
        given.add(row.name);
        if (const auto set = row.set(options, optarg == nullptr ? "" : optarg); !set) return set.error();
    }
    if (optind < argc) return Error{quoted(argv[optind]) + ": options only, no arguments"};
    if (const auto fine = check(options, given); !fine) return fine.error();
    complete(options);
    return options;
}

}  // namespace tacholog
