#include "cli/lists.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "base/message.hpp"
#include "base/text.hpp"

namespace tacholog {
namespace {

constexpr std::size_t smallest_message = message_header_bytes;
constexpr std::size_t largest_message = std::size_t{256} * 1024 * 1024;
constexpr std::uint32_t longest_recovery_ms = 60'000;
constexpr Nanoseconds nanoseconds_per_millisecond = 1'000'000;

// A run with a larger table would take too long, because measuring each pair takes seconds. The table is also sent to
// the other side before the run.
constexpr std::size_t most_pairs = 1000;

template <typename Value>
bool contains(const std::vector<Value>& values, Value value) {
    return std::find(values.begin(), values.end(), value) != values.end();
}

bool is_size(std::size_t bytes) {
    return bytes >= smallest_message && bytes <= largest_message;
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
    const auto number = to_number<std::size_t>(digits);
    if (!number) {
        return Error{"--sizes: " + quoted(text) + " is not a size (bytes, or a number with KiB or MiB)"};
    }
    if (*number > largest_message / factor || !is_size(*number * factor)) {
        return Error{"--sizes: " + quoted(text) + " is out of range (16 to 256MiB)"};
    }
    return *number * factor;
}

Result<std::uint32_t> parse_demand(std::string_view text) {
    const auto demand = to_number<std::uint32_t>(text);
    if (demand && *demand > 0) return *demand;
    return Error{quoted(text) + " is not a number of messages (1 to 4294967295)"};
}

/// Appends the value of an item to a list. Returns an error if the item could not be parsed, or if the list already
/// contains the same value.
template <typename Value>
Result<void> add(std::vector<Value>& values, const Result<Value>& value, std::string_view item) {
    if (!value) return value.error();
    if (contains(values, *value)) return Error{quoted(item) + " is there twice"};
    values.push_back(*value);
    return {};
}

Result<PayloadDemands> parse_demand_line(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.ends_with(';')) line.remove_suffix(1);  // Fast-RTPS ends each line of its own files with a semicolon
    if (line.empty()) return Error{"empty: a line is 'payload;demand;demand...'"};
    const auto items = split(line, ';');
    const auto payload = to_number<std::size_t>(items.front());
    if (!payload || !is_size(*payload)) {
        return Error{quoted(items.front().substr(0, 40)) + " is not a payload in bytes (16 to 268435456)"};
    }
    PayloadDemands found{*payload, {}};
    for (std::size_t at = 1; at < items.size(); ++at) {
        const auto item = items[at].substr(0, 40);
        if (const auto added = add(found.demands, parse_demand(item), item); !added) return added.error();
    }
    if (found.demands.empty()) return Error{"no demand after the payload: a line is 'payload;demand;demand...'"};
    return found;
}

bool has(const DemandTable& table, std::size_t payload_bytes) {
    return std::any_of(table.begin(), table.end(), [&](const auto& row) { return row.payload_bytes == payload_bytes; });
}

}  // namespace

Result<std::vector<std::size_t>> parse_sizes(std::string_view text) {
    std::vector<std::size_t> sizes;
    for (const auto item : split(text, ',')) {
        const auto size = parse_size(item);
        if (!size) return size.error();
        if (contains(sizes, *size)) return Error{"--sizes: " + quoted(item) + " is there twice"};
        sizes.push_back(*size);
    }
    return sizes;
}

Result<std::vector<std::uint32_t>> parse_demands(std::string_view text) {
    std::vector<std::uint32_t> demands;
    for (const auto item : split(text, ',')) {
        if (const auto added = add(demands, parse_demand(item), item); !added)
            return Error{"--demands: " + added.error().text};
    }
    return demands;
}

Result<std::vector<Nanoseconds>> parse_recovery(std::string_view text) {
    std::vector<Nanoseconds> times;
    for (const auto item : split(text, ',')) {
        const auto milliseconds = to_number<std::uint32_t>(item);
        if (!milliseconds || *milliseconds > longest_recovery_ms) {
            return Error{"--recovery: " + quoted(item) + " is not a number of milliseconds (0 to 60000)"};
        }
        const Nanoseconds time = *milliseconds * nanoseconds_per_millisecond;
        if (contains(times, time)) return Error{"--recovery: " + quoted(item) + " is there twice"};
        times.push_back(time);
    }
    return times;
}

Result<DemandTable> parse_demand_table(std::string_view text) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    DemandTable table;
    std::size_t number = 0;
    std::size_t pairs = 0;
    for (const auto line : split(text, '\n')) {
        const std::string where = std::to_string(++number) + ": ";
        auto row = parse_demand_line(line);
        if (!row) return Error{where + row.error().text};
        if (has(table, row->payload_bytes)) {
            return Error{where + "payload " + std::to_string(row->payload_bytes) + " is there twice"};
        }
        pairs += row->demands.size();
        if (pairs > most_pairs) return Error{where + "more than " + std::to_string(most_pairs) + " demands"};
        table.push_back(std::move(*row));
    }
    return table;
}

Result<DemandTable> read_demand_table(const std::string& path) {
    constexpr std::size_t most_bytes = 65536;  // the largest allowed table of demands is smaller than this
    std::ifstream file{path};
    if (!file) return os_error("--demands-file " + path);
    std::string text(most_bytes + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad() || file.gcount() == 0)
        return Error{"--demands-file " + path + ": the file is empty or cannot be read"};
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > most_bytes) return Error{"--demands-file " + path + ": too large for a table of demands"};
    auto table = parse_demand_table(text);
    if (!table) return Error{"--demands-file " + path + ':' + table.error().text};
    return table;
}

std::string to_text(const DemandTable& table) {
    std::string text;
    for (const auto& row : table) {
        if (!text.empty()) text += ',';
        text += std::to_string(row.payload_bytes);
        for (const auto demand : row.demands) (text += ':') += std::to_string(demand);
    }
    return text;
}

}  // namespace tacholog
