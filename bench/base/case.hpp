// One case of a test: a payload size and, in the demand test, how the messages are sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.hpp"

namespace tacholog {

/// Bursts of messages. The recovery time is the shortest time between the starts of two successive bursts.
struct Demand {
    std::uint32_t messages = 0;
    Nanoseconds recovery_ns = 0;

    bool operator==(const Demand&) const = default;
};

struct Case {
    std::size_t payload_bytes = 0;
    std::optional<Demand> demand;

    bool operator==(const Case&) const = default;
};

}  // namespace tacholog
