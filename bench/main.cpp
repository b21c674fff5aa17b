#include <iostream>

#include "base/text.hpp"
#include "build_info.hpp"
#include "rig/run.hpp"
#include "transports/transport.hpp"

namespace {

std::string padded(std::string_view name) {
    return std::string{name} + std::string(name.size() < 16 ? 16 - name.size() : 1, ' ');
}

/// Prints a setting as a paragraph below its transport.
void list_setting(const tacholog::Setting& setting) {
    constexpr std::size_t width = 100;
    const std::string indent(6, ' ');
    std::cout << "    --set " << setting.name << "=" << setting.values << "  (default " << setting.default_value
              << ")\n";
    std::string line;
    for (const auto word : tacholog::split(setting.meaning, ' ')) {
        if (indent.size() + line.size() + 1 + word.size() > width) {
            std::cout << indent << line << '\n';
            line.clear();
        }
        (line += line.empty() ? "" : " ") += word;
    }
    std::cout << indent << line << '\n';
}

void list_transports(bool verbose) {
    for (const auto* transport : tacholog::all_transports()) {
        const bool apart = transport->parties == tacholog::Parties::hosts;
        std::cout << padded(transport->name) << transport->summary
                  << (apart ? "; each side needs a network interface of its own" : "") << '\n';
        if (!verbose) continue;
        for (const tacholog::Setting& setting : transport->settings) list_setting(setting);
    }
    for (const auto& left_out : tacholog::transports_left_out())
        std::cout << "  left out of this build: " << left_out.name << " (" << left_out.remedy << ")\n";
}

int do_as_told(int argc, char* argv[]) {
    const auto options = tacholog::parse_options(argc, argv);
    if (!options) {
        std::cerr << "perftest: " << tacholog::shown(options.error().text) << '\n';
        return 2;
    }
    const tacholog::Build build = tacholog::build_info();
    switch (options->request) {
        case tacholog::Request::run:
            return tacholog::run(*options, build);
        case tacholog::Request::help:
            std::cout << tacholog::help_text();
            break;
        case tacholog::Request::version:
            std::cout << "perftest " << build.version << (build.git.empty() ? "" : " (" + build.git + ")") << '\n';
            break;
        case tacholog::Request::list_transports:
            list_transports(options->verbose);
            break;
    }
    std::cout.flush();
    return std::cout ? 0 : 1;
}

}  // namespace

int main(int argc, char* argv[]) {
    const auto code = tacholog::without_exceptions([&]() -> tacholog::Result<int> { return do_as_told(argc, argv); });
    if (code) return *code;
    std::cerr << "perftest: " << code.error().text << '\n';
    return 1;
}
