// How a measuring thread hands its records to the thread that reports them: without a lock, a copy or a system call.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "base/histogram.hpp"

namespace tacholog {

/// Records that two threads pass back and forth. The measuring thread fills the current record, hands it over and goes
/// on with the next; the reporting thread takes the oldest, empties it and gives it back.
template <typename Record>
class HandOver {
public:
    explicit HandOver(std::size_t records) : records_(std::max<std::size_t>(2, records)) {}

    /// The measuring thread's: what it fills.
    Record& current() { return records_[filled_ % records_.size()]; }

    /// False, and the current record stays the same, if none has been given back: then it goes on with this one.
    bool hand_over() {
        if (filled_ + 1 - taken_.load(std::memory_order_acquire) >= records_.size()) return false;
        ++filled_;
        handed_.store(filled_, std::memory_order_release);
        return true;
    }

    /// The reporting thread's: the oldest that was handed over; nullptr if there is none.
    Record* oldest() {
        const std::uint64_t taken = taken_.load(std::memory_order_relaxed);
        if (taken == handed_.load(std::memory_order_acquire)) return nullptr;
        return &records_[taken % records_.size()];
    }
    void give_back() { taken_.store(taken_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

private:
    static constexpr std::size_t line = 64;

    std::vector<Record> records_;
    std::uint64_t filled_ = 0;
    alignas(line) std::atomic<std::uint64_t> handed_{0};
    alignas(line) std::atomic<std::uint64_t> taken_{0};
};

/// The latencies of an interval.
struct LatencyRecord {
    Histogram histogram;
    Nanoseconds duration_ns = 0;
    Nanoseconds elapsed_ns = 0;  ///< since the phase began
};

/// The messages of an interval.
struct CountRecord {
    Nanoseconds duration_ns = 0;
    Nanoseconds elapsed_ns = 0;
    std::uint64_t messages = 0;
    std::uint64_t lost = 0;
};

/// How long the intervals of a phase are, and how many of their records there have to be.
struct IntervalPlan {
    Nanoseconds length_ns = 0;
    std::size_t records = 0;
};

inline constexpr std::size_t most_histograms_kept = 256;  // some 220 kB each
inline constexpr std::size_t most_counts_kept = 65536;

/// If intervals are reported while the phase lasts, two records would be enough; a third is for a reporting thread that
/// is held up. If they are kept until the phase is over, each interval needs one; if those were too many, intervals are
/// longer.
inline IntervalPlan plan_intervals(Nanoseconds length_ns, Nanoseconds phase_ns, bool live, std::size_t most_kept) {
    if (live) return {length_ns, 3};
    const auto planned = static_cast<std::uint64_t>(std::max<Nanoseconds>(0, phase_ns - 1) / length_ns) + 1;
    const std::uint64_t times = (planned + most_kept - 1) / most_kept;
    // The last one may be cut off by the phase's end, or follow a little behind it.
    return {length_ns * static_cast<Nanoseconds>(times), static_cast<std::size_t>((planned + times - 1) / times) + 2};
}

}  // namespace tacholog
