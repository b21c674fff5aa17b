// How the latencies of one-way messages travel over the control channel.
#pragma once

#include <string>
#include <vector>

#include "base/histogram.hpp"
#include "base/message.hpp"
#include "control/control.hpp"
#include "control/frames.hpp"

namespace tacholog {

/// A histogram in as many frames as it takes; the duration goes with each.
std::vector<Frame> frames_of(const Histogram& histogram, Nanoseconds duration_ns);

/// Puts such frames together again.
class HistogramReader {
public:
    /// True once the frame was the last of its histogram, which then stands in `histogram` until the next one. An error
    /// if no histogram has such frames.
    Result<bool> add(const Frame& frame);

    Histogram histogram;
    Nanoseconds duration_ns = 0;

private:
    bool add_bins(const HistogramFrame& part);

    bool whole_ = true;
};

/// What two processes have alike if they read one CLOCK_MONOTONIC: the boot of their host, and their time namespace.
/// Empty if that cannot be told.
std::string clock_identity();

}  // namespace tacholog
