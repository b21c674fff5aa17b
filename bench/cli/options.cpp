#include "cli/options.hpp"

#include <getopt.h>

#include <algorithm>
#include <span>

#include "base/text.hpp"
#include "cli/option_rules.hpp"
#include "cli/option_table.hpp"
#include "transports/transport.hpp"

namespace tacholog {
namespace {

using namespace std::string_view_literals;

std::vector<option> getopt_table(std::span<const OptionRow> rows) {
    std::vector<option> table;
    for (const OptionRow& row : rows)
        table.push_back({row.name, row.argument, nullptr, static_cast<int>(table.size()) + 1});
    table.push_back({});
    return table;
}

/// Fills in the values that follow from other options.
void complete(Options& options) {
    if (const Transport* transport = find_transport(options.transport))
        options.settings = in_effect(transport->settings, options.settings);
    options.sustain.full_s = options.duration_s;
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

/// Refuses abbreviated options. getopt_long accepts `--size` for --sizes if no other option begins with it, so a new
/// option could change the meaning of an abbreviation.
Result<void> whole(std::string_view word, std::string_view name) {
    if (word.substr(0, word.find('=')).size() == name.size() + 2) return {};
    return Error{std::string{word.substr(0, word.find('='))} + ": no such option; there is --" + std::string{name}};
}

/// Returns true if any transport of this build has this setting.
bool is_setting(std::string_view name) {
    return std::ranges::any_of(all_transports(),
                               [&](const Transport* transport) { return setting_of(*transport, name) != nullptr; });
}

Error refusal(int answer, char* argv[]) {
    const std::string word = argv[optind - 1];
    if (answer == ':') return Error{word + ": its value is missing"};
    const std::string name = word.starts_with("--") ? word.substr(2, word.find('=') - 2) : "";
    // Up to version 0.5, settings were separate options.
    const std::string setting = name == "mock" ? "faults" : name;
    if (is_setting(setting))
        return Error{"--" + name + ": no such option; it is a setting of a transport: --set " + setting + "=VALUE"};
    return Error{word + ": no such option; --help shows all options"};
}

}  // namespace

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
    const auto rows = option_table();
    const auto table = getopt_table(rows);
    optind = 0;  // lets getopt start from the beginning, because tests call this function more than once
    while (true) {
        const int at = std::max(optind, 1);  // index of the current word
        const int answer = ::getopt_long(argc, argv, "+:", table.data(), nullptr);
        if (answer == -1) break;
        if (answer < 1 || answer > static_cast<int>(rows.size())) return refusal(answer, argv);
        const OptionRow& row = rows[static_cast<std::size_t>(answer) - 1];
        if (const auto fine = whole(argv[at], row.name); !fine) return fine.error();
        if (row.request != Request::run) {
            options.request = row.request;
            options.verbose = std::any_of(argv, argv + argc, [](const char* word) { return word == "--verbose"sv; });
            return options;
        }
        // If an option is given twice, the last value would silently be used, and the first would not be measured.
        if (given.has(row.name) && row.argument == required_argument && !row.repeats) {
            return Error{"--" + std::string{row.name} + " is given twice"};
        }
        given.add(row.name);
        const std::string_view text = optarg == nullptr ? "" : optarg;
        if (const auto set = row.set(options, text); !set) return set.error();
    }
    if (optind < argc) return Error{quoted(argv[optind]) + ": options only, no arguments"};
    if (const auto fine = check(options, given); !fine) return fine.error();
    complete(options);
    return options;
}

}  // namespace tacholog
