#include <iostream>

#include "build_info.hpp"
#include "core/run.hpp"

namespace {

template <typename Kinds>
void list(const Kinds& kinds) {
    for (const auto* kind : kinds) {
        std::cout << kind->name << std::string(kind->name.size() < 16 ? 16 - kind->name.size() : 1, ' ')
                  << kind->summary << '\n';
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
            list(tacholog::all_transports());
            break;
        case tacholog::Request::list_reporters:
            list(tacholog::all_reporters());
            break;
    }
    std::cout.flush();
    return std::cout ? 0 : 1;
}
