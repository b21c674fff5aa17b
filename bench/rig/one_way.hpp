// Sends the histograms of one-way latency over the control channel.
#pragma once

#include <string>
#include <vector>

#include "base/histogram.hpp"
#include "base/message.hpp"
#include "control/control.hpp"
#include "control/frames.hpp"

namespace tacholog {

/// Splits the histogram into as many frames as it needs. Each frame also holds the duration.
std::vector<Frame> frames_of(const Histogram& histogram, Nanoseconds duration_ns);

/// Puts a histogram together again from the frames into which `frames_of` has split it.
class HistogramReader {
public:
    /// Returns true if this was the last frame of a histogram. `histogram` is then complete until the next one begins.
    /// Returns an error if the frame cannot belong to a histogram.
    Result<bool> add(const Frame& frame);

    Histogram histogram;
    Nanoseconds duration_ns = 0;

private:
    bool add_bins(const HistogramFrame& part);

    bool whole_ = true;
};

/// This text is equal for two processes if they read the same CLOCK_MONOTONIC: it names the boot of their host, and
/// their time namespace. It is empty if it cannot be determined.
std::string clock_identity();

}  // namespace tacholog
