#include <iostream>

#include "build_info.hpp"
#include "core/run.hpp"
#include "transports/transport.hpp"

namespace {

std::string padded(std::string_view name) {
    return std::string{name} + std::string(name.size() < 16 ? 16 - name.size() : 1, ' ');
}

void list_transports() {
    for (const auto* transport : tacholog::all_transports()) {
        const bool apart = transport->parties == tacholog::Parties::hosts;
        std::cout << padded(transport->name) << transport->summary
                  << (apart ? "; each side needs a network interface of its own" : "") << '\n';
    }
}

void list_reporters() {
    using tacholog::Test;
    for (const auto* kind : tacholog::all_reporters()) {
        std::string tests;
        for (const auto test : {Test::latency, Test::throughput, Test::demand}) {
            if (kind->expresses(test, tacholog::Role::both)) (tests += ' ') += tacholog::to_text(test);
        }
        std::cout << padded(kind->name) << kind->summary << ":" << tests << '\n';
    }
}

}  // namespace

int main(int argc, char* argv[]) {
    const auto options = tacholog::parse_options(argc, argv);
    if (!options) {
        std::cerr << "perftest: " << options.error().text << '\n';
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
            list_transports();
            break;
        case tacholog::Request::list_reporters:
            list_reporters();
            break;
    }
    std::cout.flush();
    return std::cout ? 0 : 1;
}
