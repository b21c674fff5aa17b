// Reads the lists in options and in files of demands. Each error names the wrong item and the reason.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace tacholog {

/// The sizes are in bytes: "16,64,1KiB,32MiB".
Result<std::vector<std::size_t>> parse_sizes(std::string_view text);

/// The demands are in messages per burst: "100,1000".
Result<std::vector<std::uint32_t>> parse_demands(std::string_view text);

/// The text is in milliseconds: "0,5,10".
Result<std::vector<Nanoseconds>> parse_recovery(std::string_view text);

/// A payload size, and the bursts in which it is sent.
struct PayloadDemands {
    std::size_t payload_bytes = 0;
    std::vector<std::uint32_t> demands;
};

using DemandTable = std::vector<PayloadDemands>;

/// One line per payload size, "16;100;1000", in the format of payloads_demands.csv of Fast-RTPS: the payload size in
/// bytes, then the messages of each burst.
Result<DemandTable> parse_demand_table(std::string_view text);

/// An error names the file and the line.
Result<DemandTable> read_demand_table(const std::string& path);

/// The text is one word, for logs and messages: 16:100:1000,64:100.
std::string to_text(const DemandTable& table);

}  // namespace tacholog
