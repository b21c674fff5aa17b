// How the times of one-way messages travel: when each was due, in the message; what came of them, over the control
// channel.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "core/control.hpp"
#include "core/histogram.hpp"
#include "core/message.hpp"

namespace tacholog {

/// The moment that the schedule gives to a message stands where its checksum would.
inline void write_due(std::span<std::byte> payload, Nanoseconds due_ns) {
    std::memcpy(payload.data() + sizeof(std::uint64_t), &due_ns, sizeof due_ns);
}

inline Nanoseconds read_due(std::span<const std::byte> payload) {
    Nanoseconds due_ns = 0;
    std::memcpy(&due_ns, payload.data() + sizeof(std::uint64_t), sizeof due_ns);
    return due_ns;
}

/// A histogram in as many frames as it takes; `about` goes with each.
std::vector<Frame> frames_of(const Histogram& histogram, std::uint64_t duration_ns);

/// Puts such frames together again.
class HistogramReader {
public:
    /// True once the frame was the last of its histogram, which then stands in `histogram` until the next one.
    bool add(const Frame& frame);

    Histogram histogram;
    Nanoseconds duration_ns = 0;

private:
    bool whole_ = true;
};

/// What two processes have alike if they read one CLOCK_MONOTONIC: the boot of their host, and their time namespace.
/// Empty if that cannot be told.
std::string clock_identity();

}  // namespace tacholog
