// The lists that options and demand files hold. Each error says what is wrong with which item.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace tacholog {

/// "16,64,1KiB,32MiB" -> bytes.
Result<std::vector<std::size_t>> parse_sizes(std::string_view text);

/// "100,1000" -> messages a burst.
Result<std::vector<std::uint32_t>> parse_demands(std::string_view text);

/// "0,5,10" -> milliseconds as nanoseconds.
Result<std::vector<Nanoseconds>> parse_recovery(std::string_view text);

/// A payload, and the bursts it is sent in.
struct PayloadDemands {
    std::size_t payload_bytes = 0;
    std::vector<std::uint32_t> demands;
};

using DemandTable = std::vector<PayloadDemands>;

/// "16;100;1000" a line, as Fast-RTPS' payloads_demands.csv: payload in bytes, then messages a burst.
Result<DemandTable> parse_demand_table(std::string_view text);

/// The table in this file. The error names file and line.
Result<DemandTable> read_demand_table(const std::string& path);

/// 16:100:1000,64:100 - the table in one word, for logs and messages.
std::string to_text(const DemandTable& table);

}  // namespace tacholog
