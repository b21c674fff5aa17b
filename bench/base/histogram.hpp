// A latency histogram with a fixed amount of memory: exact below 2048 ns; above that 1024 bins per octave, so that the
// width of a bin is at most 1/1024 of its values. Recording takes a few instructions and never allocates memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace tacholog {

__extension__ using Wide = unsigned __int128;  // a sum of squares of nanoseconds exceeds 64 bits within minutes

class Histogram {
public:
    static constexpr std::uint64_t top_ns = 60'000'000'000;

    struct Bin {
        std::uint64_t lower_ns;  ///< smallest value of this bin
        std::uint64_t upper_ns;  ///< largest value of this bin
        std::uint64_t count;
    };

    /// The exact figures that cannot be computed from the bins.
    struct Exact {
        std::uint64_t count = 0;
        std::uint64_t overflow = 0;
        std::uint64_t min = 0;
        std::uint64_t max = 0;
        Wide sum = 0;
        Wide squares = 0;
    };

    Histogram();

    void record(std::uint64_t value_ns) {
        if (value_ns < min_) min_ = value_ns;
        if (value_ns > max_) max_ = value_ns;
        ++count_;
        sum_ += value_ns;
        squares_ += static_cast<Wide>(value_ns) * value_ns;
        if (value_ns > top_ns) {
            ++overflow_;
        } else {
            ++counts_[index(value_ns)];
        }
    }

    void merge(const Histogram& other);

    /// Adds a bin. To rebuild a histogram of another process, add all its bins first, and then call restore(). Returns
    /// false if no such bin exists, or if this bin was added before.
    bool add_bin(std::uint64_t lower_ns, std::uint64_t count) {
        if (lower_ns > top_ns || count == 0) return false;
        std::uint64_t& held = counts_[index(lower_ns)];
        if (held != 0 || edges(index(lower_ns)).lower_ns != lower_ns) return false;
        held = count;
        return true;
    }
    Exact exact() const { return {count_, overflow_, min_, max_, sum_, squares_}; }
    /// Returns false, and changes nothing, if these figures contradict the bins.
    bool restore(const Exact& exact);

    /// The cost grows with the number of used bins, not with the number of existing bins.
    void clear();

    std::uint64_t count() const { return count_; }
    std::uint64_t overflow() const { return overflow_; }  ///< values above top_ns, which no bin holds
    std::uint64_t min_ns() const { return count_ == 0 ? 0 : min_; }
    std::uint64_t max_ns() const { return max_; }
    double mean_ns() const;
    double std_ns() const;  ///< standard deviation of the population

    /// The sum of the largest thousandth of the values, divided by the sum of all values. It is estimated from the
    /// bins; 0 if there are fewer than a thousand values.
    double share_of_largest() const;

    /// The upper edge of the bin that holds the value with this rank (from 1), but at most max_ns.
    std::uint64_t value_at_rank(std::uint64_t rank) const;

    /// The nearest-rank percentile. `millionths` is the percentile in millionths: 999'000 is p99.9. Returns nothing if
    /// there are too few values: for p99.9, there must be at least 1000.
    std::optional<std::uint64_t> percentile_ns(std::uint64_t millionths) const;
    /// The nearest-rank percentile, even if there are few values; 0 if there are none.
    std::uint64_t nearest_rank_ns(std::uint64_t millionths) const;

    /// Returns only bins that hold a value, in ascending order.
    std::vector<Bin> bins() const;

private:
    static constexpr unsigned octave_bits = 10;
    static constexpr std::uint64_t octave_bins = std::uint64_t{1} << octave_bits;

    static std::size_t index(std::uint64_t value) {
        const int excess = static_cast<int>(std::bit_width(value)) - static_cast<int>(octave_bits + 1);
        if (excess <= 0) return value;
        const auto shift = static_cast<unsigned>(excess);
        return shift * octave_bins + (value >> shift);
    }
    static Bin edges(std::size_t index);
    bool agrees(const Exact& exact) const;

    std::vector<std::uint64_t> counts_;
    std::uint64_t count_ = 0;
    std::uint64_t overflow_ = 0;
    std::uint64_t min_ = UINT64_MAX;
    std::uint64_t max_ = 0;
    Wide sum_ = 0;
    Wide squares_ = 0;
};

}  // namespace tacholog
