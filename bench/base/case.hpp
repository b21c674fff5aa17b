// What is measured at a time: a size, and for the demand test how its messages are sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.hpp"

namespace tacholog {

/// Bursts of so many messages, each begun no sooner than the recovery time after the one before it was begun.
struct Demand {
    std::uint32_t messages = 0;
    Nanoseconds recovery_ns = 0;

    bool operator==(const Demand&) const = default;
};

struct Case {
    std::size_t payload_bytes = 0;
    std::optional<Demand> demand;  ///< of the demand test only

    bool operator==(const Case&) const = default;
};

}  // namespace tacholog
