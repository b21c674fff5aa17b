// Passes the records of a measuring thread to the thread that reports them, without a lock, a copy or a system call.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "base/histogram.hpp"

namespace tacholog {

/// Records that two threads pass back and forth. The measuring thread fills the current record, hands it over and
/// continues with the next one. The reporting thread takes the oldest record, empties it and gives it back.
template <typename Record>
class HandOver {
public:
    explicit HandOver(std::size_t records) : records_(std::max<std::size_t>(2, records)) {}

    /// For the measuring thread: the record that it fills.
    Record& current() { return records_[filled_ % records_.size()]; }

    /// Returns false if all records are in use. Then the measuring thread continues with the current record.
    bool hand_over() {
        if (filled_ + 1 - taken_.load(std::memory_order_acquire) >= records_.size()) return false;
        ++filled_;
        handed_.store(filled_, std::memory_order_release);
        return true;
    }

    /// The reporting thread calls this. Returns nullptr if no record was handed over.
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

struct LatencyRecord {
    Histogram histogram;
    Nanoseconds duration_ns = 0;
    Nanoseconds elapsed_ns = 0;  ///< the time from the start of the phase to the end of this interval
};

struct CountRecord {
    Nanoseconds duration_ns = 0;
    Nanoseconds elapsed_ns = 0;
    std::uint64_t messages = 0;
    std::uint64_t lost = 0;
};

struct IntervalPlan {
    Nanoseconds length_ns = 0;
    std::size_t records = 0;
};

inline constexpr std::size_t most_histograms_kept = 256;  // about 220 kB each
inline constexpr std::size_t most_counts_kept = 65536;

/// If intervals are reported during the phase (`live`), two records are enough; a third one is for delays of the
/// reporting thread. Otherwise each interval needs its own record. If that needs more than `most_kept` records, the
/// intervals become longer.
inline IntervalPlan plan_intervals(Nanoseconds length_ns, Nanoseconds phase_ns, bool live, std::size_t most_kept) {
    if (live) return {length_ns, 3};
    const auto planned = static_cast<std::uint64_t>(std::max<Nanoseconds>(0, phase_ns - 1) / length_ns) + 1;
    const std::uint64_t times = (planned + most_kept - 1) / most_kept;
    // There are two more records than planned intervals: the end of the phase may cut off the last interval, and one
    // more interval may follow it.
    return {length_ns * static_cast<Nanoseconds>(times), static_cast<std::size_t>((planned + times - 1) / times) + 2};
}

}  // namespace tacholog
