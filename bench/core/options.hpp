// What a user asks of perftest, checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/message.hpp"
#include "core/result.hpp"

namespace tacholog {

enum class Test { latency, throughput };
enum class Role { both, pub, sub };
enum class Request { run, help, version, list_transports, list_reporters };

std::string_view to_text(Test test);
std::string_view to_text(Role role);
std::string_view to_text(Touch touch);

struct Options {
    Request request = Request::run;
    Test test = Test::latency;
    std::string transport;
    Role role = Role::both;
    std::vector<std::size_t> sizes = {16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576};
    double duration_s = 5;
    std::optional<double> warmup_s;  ///< nothing: until steady
    std::optional<double> rate_per_s;
    Handling handling;
    std::vector<int> cpu_pub;
    std::vector<int> cpu_sub;
    std::string address = "127.0.0.1";
    int port = -1;  ///< -1: not given
    double timeout_s = 10;
    std::string reporter = "native";
    std::string output = "-";
    std::string command;  ///< the command line as given
};

/// Reads the command line. The error is one that the user can act on.
Result<Options> parse_options(int argc, char* argv[]);

/// "16,64,1KiB,32MiB" -> bytes.
Result<std::vector<std::size_t>> parse_sizes(std::string_view text);

/// "0,2-4" -> 0 2 3 4.
Result<std::vector<int>> parse_cpus(std::string_view text);

/// What --help prints.
std::string_view help_text();

}  // namespace tacholog
