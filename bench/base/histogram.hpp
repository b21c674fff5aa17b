// A latency histogram of bounded memory: exact below 2048 ns, then 1024 bins an octave, so that a bin is never wider
// than 1/1024 of its values. Recording is a few instructions and never allocates.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace tacholog {

__extension__ using Wide = unsigned __int128;  // sums of squares of nanoseconds outgrow 64 bits within minutes

class Histogram {
public:
    static constexpr std::uint64_t top_ns = 60'000'000'000;

    struct Bin {
        std::uint64_t lower_ns;  ///< smallest value that falls into it
        std::uint64_t upper_ns;  ///< largest value that falls into it
        std::uint64_t count;
    };

    /// What the bins do not say.
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

    /// Adds the values of another.
    void merge(const Histogram& other);

    /// A histogram of another process: its bins, then the rest of it.
    /// False if there is no such bin, or if it has been added.
    bool add_bin(std::uint64_t lower_ns, std::uint64_t count) {
        if (lower_ns > top_ns || count == 0) return false;
        std::uint64_t& held = counts_[index(lower_ns)];
        if (held != 0 || edges(index(lower_ns)).lower_ns != lower_ns) return false;
        held = count;
        return true;
    }
    Exact exact() const { return {count_, overflow_, min_, max_, sum_, squares_}; }
    /// False if this cannot be the rest of these bins: then nothing is kept.
    bool restore(const Exact& exact);

    /// Forgets everything. Costs what was used of the bins, not what there is of them.
    void clear();

    std::uint64_t count() const { return count_; }
    std::uint64_t overflow() const { return overflow_; }  ///< values above top_ns, in no bin but in max_ns and mean_ns
    std::uint64_t min_ns() const { return count_ == 0 ? 0 : min_; }
    std::uint64_t max_ns() const { return max_; }
    double mean_ns() const;
    double std_ns() const;  ///< of the population

    /// Which share of the sum of all values the largest thousandth of them has, as far as bins tell; 0 of fewer than a
    /// thousand.
    double share_of_largest() const;

    /// The upper edge of the bin that holds the value of this rank (from 1), never above max_ns.
    std::uint64_t value_at_rank(std::uint64_t rank) const;

    /// Nearest-rank percentile, in millionths: 999'000 is p99.9. Nothing if fewer values than one lie above it.
    std::optional<std::uint64_t> percentile_ns(std::uint64_t millionths) const;
    /// The same however few samples there are, but for none.
    std::uint64_t nearest_rank_ns(std::uint64_t millionths) const;

    /// The bins that hold something, ascending.
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
