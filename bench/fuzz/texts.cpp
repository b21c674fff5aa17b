// Arbitrary text from users and peers: options, lists, tables of demands, endpoints. It must be parsed or rejected. If
// it was parsed, writing it and parsing it again must give the same result.
#include "cli/options.hpp"
#include "fuzz/input.hpp"
#include "machine/environment.hpp"
#include "transports/injection.hpp"
#include "transports/local_endpoint.hpp"
#include "transports/wan_endpoint.hpp"
#include "transports/xdp_endpoint.hpp"

namespace {

using namespace tacholog;

void read_lists(const std::string& text) {
    static_cast<void>(parse_sizes(text).has_value());
    static_cast<void>(parse_cpus(text).has_value());
    static_cast<void>(parse_demands(text).has_value());
    static_cast<void>(parse_recovery(text).has_value());
    static_cast<void>(parse_injection(text).has_value());
    const auto table = parse_demand_table(text);
    if (table) fuzz::require(!table->empty() && !to_text(*table).empty());
}

void read_endpoints(const std::string& text) {
    if (const auto endpoint = parse_endpoint(text)) {
        const auto again = parse_endpoint(endpoint->text());
        fuzz::require(again && again->token == endpoint->token && again->text() == endpoint->text());
    }
    if (const auto endpoint = parse_wan_endpoint(text)) {
        const auto again = parse_wan_endpoint(endpoint->text());
        fuzz::require(again && again->doors == endpoint->doors && endpoint->doors.size() <= door_count);
    }
    if (const auto endpoint = parse_local_endpoint(text)) {
        const auto again = parse_local_endpoint(endpoint->text());
        fuzz::require(again && again->client_token == endpoint->client_token &&
                      again->server_token == endpoint->server_token);
    }
    if (const auto endpoint = parse_xdp_endpoint(text)) {
        const auto again = parse_xdp_endpoint(endpoint->text());
        fuzz::require(again && again->text() == endpoint->text());
    }
}

void read_options(const std::string& text) {
    std::vector<std::string> words{"perftest"};
    for (const auto word : split(text, ' ')) {
        if (word.starts_with("--demands-")) return;  // this option would read a file
        words.emplace_back(word);
    }
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const auto options = parse_options(static_cast<int>(words.size()), pointers.data());
    if (!options || options->request != Request::run) return;
    fuzz::require(!cases(*options).empty() && !options->output.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text{reinterpret_cast<const char*>(data), size};
    read_lists(text);
    read_endpoints(text);
    if (text.find('\0') == std::string::npos) read_options(text);
    return 0;
}
