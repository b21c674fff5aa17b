#include "core/options.hpp"

#include <getopt.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/address.hpp"

namespace tacholog {
namespace {

constexpr std::size_t smallest_message = message_header_bytes;
constexpr std::size_t largest_message = std::size_t{256} * 1024 * 1024;
constexpr double longest_s = 86400;
constexpr int most_cpus = 1024;

std::string quoted(std::string_view word) {
    std::string text{"'"};
    text += word;
    return text += '\'';
}

template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
    Number number{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

Result<double> positive(std::string_view option, std::string_view text, std::string_view unit, double most) {
    const auto number = whole_number<double>(text);
    if (number && std::isfinite(*number) && *number > 0 && *number <= most) return *number;
    return Error{std::string{option} + " " + std::string{text} + ": not a positive number of " + std::string{unit}};
}

std::vector<std::string_view> split(std::string_view list) {
    std::vector<std::string_view> items;
    while (true) {
        const auto comma = list.find(',');
        items.push_back(list.substr(0, comma));
        if (comma == std::string_view::npos) return items;
        list.remove_prefix(comma + 1);
    }
}

Result<std::size_t> parse_size(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, std::size_t>, 3> units{
        {{"KiB", 1024}, {"MiB", 1024 * 1024}, {"B", 1}}};
    std::string_view digits = text;
    std::size_t factor = 1;
    for (const auto& [suffix, bytes] : units) {
        if (!digits.ends_with(suffix)) continue;
        digits.remove_suffix(suffix.size());
        factor = bytes;
        break;
    }
    const auto number = whole_number<std::size_t>(digits);
    if (!number) {
        return Error{"--sizes: " + quoted(text) + " is not a size (bytes, or a number with KiB or MiB)"};
    }
    if (*number > largest_message / factor || *number * factor < smallest_message) {
        return Error{"--sizes: " + quoted(text) + " is out of range (16 to 256MiB)"};
    }
    return *number * factor;
}

template <typename Value, std::size_t Count>
using Choices = std::array<std::pair<std::string_view, Value>, Count>;

constexpr Choices<Test, 2> tests{{{"latency", Test::latency}, {"throughput", Test::throughput}}};
constexpr Choices<Role, 3> roles{{{"both", Role::both}, {"pub", Role::pub}, {"sub", Role::sub}}};
constexpr Choices<Touch, 3> touches{
    {{"none", Touch::none}, {"write", Touch::write}, {"write+read", Touch::write_read}}};

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

/// Which options were given, where the value alone does not say.
struct Given {
    bool test = false;
};

using Setter = Result<void> (*)(Options&, Given&, std::string_view text);

struct Row {
    const char* name;
    Setter set;  ///< nullptr: takes no argument
    Request request = Request::run;
};

Result<void> set_test(Options& options, Given& given, std::string_view text) {
    given.test = true;
    return choose("--test", text, tests, options.test);
}

Result<void> set_warmup(Options& options, Given&, std::string_view text) {
    if (text == "steady") return {};
    const auto seconds = whole_number<double>(text);
    if (!seconds || !(*seconds >= 0) || *seconds > longest_s) {
        return Error{"--warmup " + std::string{text} + ": neither 'steady' nor a number of seconds"};
    }
    options.warmup_s = *seconds;
    return {};
}

Result<void> set_port(Options& options, Given&, std::string_view text) {
    const auto port = whole_number<int>(text);
    if (!port || *port < 0 || *port > 65535) return Error{"--port " + std::string{text} + ": not a port (0 to 65535)"};
    options.port = *port;
    return {};
}

Result<void> set_address(Options& options, Given&, std::string_view text) {
    if (!parse_address(text, 0)) return Error{"--address " + std::string{text} + ": not an IPv4 address"};
    options.address = text;
    return {};
}

// clang-format off
constexpr std::array<Row, 20> rows{{
    {"test", set_test},
    {"transport", [](Options& o, Given&, std::string_view t) -> Result<void> { o.transport = t; return {}; }},
    {"role", [](Options& o, Given&, std::string_view t) { return choose("--role", t, roles, o.role); }},
    {"sizes", [](Options& o, Given&, std::string_view t) { return keep(parse_sizes(t), o.sizes); }},
    {"duration", [](Options& o, Given&, std::string_view t) { return keep(positive("--duration", t, "seconds", longest_s), o.duration_s); }},
    {"warmup", set_warmup},
    {"rate", [](Options& o, Given&, std::string_view t) { return keep(positive("--rate", t, "messages per second", 1e9), o.rate_per_s); }},
    {"touch", [](Options& o, Given&, std::string_view t) { return choose("--touch", t, touches, o.handling.touch); }},
    {"verify", nullptr},
    {"cpu-pub", [](Options& o, Given&, std::string_view t) { return keep(parse_cpus(t), o.cpu_pub); }},
    {"cpu-sub", [](Options& o, Given&, std::string_view t) { return keep(parse_cpus(t), o.cpu_sub); }},
    {"address", set_address},
    {"port", set_port},
    {"timeout", [](Options& o, Given&, std::string_view t) { return keep(positive("--timeout", t, "seconds", longest_s), o.timeout_s); }},
    {"reporter", [](Options& o, Given&, std::string_view t) -> Result<void> { o.reporter = t; return {}; }},
    {"output", [](Options& o, Given&, std::string_view t) -> Result<void> { o.output = t; return {}; }},
    {"list-transports", nullptr, Request::list_transports},
    {"list-reporters", nullptr, Request::list_reporters},
    {"version", nullptr, Request::version},
    {"help", nullptr, Request::help},
}};
// clang-format on

std::array<option, rows.size() + 1> getopt_table() {
    std::array<option, rows.size() + 1> table{};
    for (std::size_t row = 0; row < rows.size(); ++row) {
        table[row] = {rows[row].name, rows[row].set == nullptr ? no_argument : required_argument, nullptr,
                      static_cast<int>(row) + 1};
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

Result<void> check(const Options& options, const Given& given) {
    if (!given.test) return Error{"--test is missing: latency or throughput"};
    if (options.transport.empty()) return Error{"--transport is missing: --list-transports shows what there is"};
    if (options.rate_per_s && options.test == Test::latency) {
        return Error{"--rate is for --test throughput: the latency test is a closed loop, which has no rate"};
    }
    if (options.handling.verify && options.handling.touch != Touch::write_read) {
        return Error{"--verify needs --touch write+read: a checksum covers bytes that were written and are read"};
    }
    return check_roles(options);
}

std::string joined(int argc, char* argv[]) {
    std::string command;
    for (int at = 0; at < argc; ++at) {
        if (at > 0) command += ' ';
        command += argv[at];
    }
    return command;
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

Result<std::vector<std::size_t>> parse_sizes(std::string_view text) {
    std::vector<std::size_t> sizes;
    for (const auto item : split(text)) {
        const auto size = parse_size(item);
        if (!size) return size.error();
        if (std::find(sizes.begin(), sizes.end(), *size) != sizes.end()) {
            return Error{"--sizes: " + quoted(item) + " is there twice"};
        }
        sizes.push_back(*size);
    }
    return sizes;
}

Result<std::vector<int>> parse_cpus(std::string_view text) {
    std::vector<int> cpus;
    for (const auto item : split(text)) {
        const auto dash = item.find('-');
        const auto first = whole_number<int>(item.substr(0, dash));
        const auto last = dash == std::string_view::npos ? first : whole_number<int>(item.substr(dash + 1));
        if (!first || !last || *first < 0 || *first > *last || *last >= most_cpus) {
            return Error{quoted(text) + " is not a list of CPUs (like 0 or 2,4-7)"};
        }
        for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
    }
    return cpus;
}

Result<Options> parse_options(int argc, char* argv[]) {
    Options options;
    Given given;
    options.command = joined(argc, argv);
    const auto table = getopt_table();
    optind = 0;  // start afresh: tests call this more than once
    while (true) {
        const int answer = ::getopt_long(argc, argv, "+:", table.data(), nullptr);
        if (answer == -1) break;
        if (answer < 1 || answer > static_cast<int>(rows.size())) return refusal(answer, argv);
        const Row& row = rows[static_cast<std::size_t>(answer) - 1];
        if (row.request != Request::run) {
            options.request = row.request;
            return options;
        }
        if (row.set == nullptr) {
            options.handling.verify = true;
            continue;
        }
        if (const auto set = row.set(options, given, optarg); !set) return set.error();
    }
    if (optind < argc) return Error{quoted(argv[optind]) + ": options only, no arguments"};
    if (const auto fine = check(options, given); !fine) return fine.error();
    return options;
}

}  // namespace tacholog
