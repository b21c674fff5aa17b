#include "base/histogram.hpp"

#include <cmath>
#include <optional>

namespace tacholog {

Histogram::Histogram() : counts_(index(top_ns) + 1) {}

void Histogram::merge(const Histogram& other) {
    if (other.count_ == 0) return;
    const std::size_t last = index(std::min(other.max_, top_ns));
    for (std::size_t bin = index(std::min(other.min_, top_ns)); bin <= last; ++bin) counts_[bin] += other.counts_[bin];
    count_ += other.count_;
    overflow_ += other.overflow_;
    sum_ += other.sum_;
    squares_ += other.squares_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
}

bool Histogram::agrees(const Exact& exact) const {
    // The bins limit the possible sum and the possible sum of squares. These limits are computed in floating point,
    // which cannot overflow here.
    long double least_sum = 0;
    long double most_sum = 0;
    long double least_squares = 0;
    long double most_squares = 0;
    Wide count = exact.overflow;
    std::optional<std::size_t> first;
    std::size_t last = 0;
    const auto add = [&](std::uint64_t lower_ns, std::uint64_t upper_ns, std::uint64_t values) {
        const auto lower = static_cast<long double>(std::max(lower_ns, exact.min));
        const auto upper = static_cast<long double>(std::min(upper_ns, exact.max));
        const auto times = static_cast<long double>(values);
        least_sum += times * lower;
        most_sum += times * upper;
        least_squares += times * lower * lower;
        most_squares += times * upper * upper;
    };
    for (std::size_t at = 0; at < counts_.size(); ++at) {
        if (counts_[at] == 0) continue;
        if (!first) first = at;
        last = at;
        count += counts_[at];
        const Bin bin = edges(at);
        add(bin.lower_ns, bin.upper_ns, counts_[at]);
    }
    if (exact.overflow > 0) add(top_ns + 1, exact.max, exact.overflow);
    if (exact.count != count) return false;
    if (exact.count == 0) return exact.sum == 0 && exact.squares == 0;
    if (exact.min > exact.max) return false;
    if ((exact.max > top_ns) != (exact.overflow > 0) || (exact.min > top_ns) == first.has_value()) return false;
    if (first && (index(exact.min) != *first || (exact.overflow == 0 && index(exact.max) != last))) return false;
    // If the sum of squares is below this limit, all sums and intermediate results fit into 128 bits.
    constexpr long double most = 0x1p126L;
    constexpr long double rounding = 1e-9L;
    const auto is_within = [](Wide value, long double low, long double high) {
        const auto about = static_cast<long double>(value);
        return about >= low * (1 - rounding) && about <= high * (1 + rounding);
    };
    if (most_squares >= most || !is_within(exact.sum, least_sum, most_sum) ||
        !is_within(exact.squares, least_squares, most_squares))
        return false;
    // The sum of the squared deviations from a number is never negative, whichever number it is. It is enough to check
    // this for two numbers: the integer part of the mean, and the next integer (see std_ns).
    const Wide whole = exact.sum / exact.count;
    const Wide rest = exact.sum % exact.count;
    const Wide least = whole * exact.sum + whole * rest;
    return exact.squares >= least && exact.squares - least + exact.count >= 2 * rest;
}

bool Histogram::restore(const Exact& exact) {
    if (!agrees(exact)) {
        std::fill(counts_.begin(), counts_.end(), 0);
        count_ = 0;
        return false;
    }
    if (exact.count == 0) return true;
    count_ = exact.count;
    overflow_ = exact.overflow;
    min_ = exact.min;
    max_ = exact.max;
    sum_ = exact.sum;
    squares_ = exact.squares;
    return true;
}

void Histogram::clear() {
    if (count_ == 0) return;
    const auto first = counts_.begin() + static_cast<std::ptrdiff_t>(index(std::min(min_, top_ns)));
    const auto last = counts_.begin() + static_cast<std::ptrdiff_t>(index(std::min(max_, top_ns)));
    std::fill(first, last + 1, 0);
    count_ = overflow_ = max_ = 0;
    min_ = UINT64_MAX;
    sum_ = squares_ = 0;
}

double Histogram::mean_ns() const {
    if (count_ == 0) return 0;
    return static_cast<double>(static_cast<long double>(sum_) / static_cast<long double>(count_));
}

double Histogram::std_ns() const {
    if (count_ == 0) return 0;
    // Uses integers until the last step, and deviations from the integer part of the mean. The simpler formula, count *
    // squares - sum * sum, overflows if its result needs more than 128 bits. One example is an hour with a million
    // values per second that deviate by 5 s. Here, no term is larger than the sum of squares.
    const Wide whole = sum_ / count_;
    const Wide rest = sum_ % count_;
    const Wide spread = squares_ - whole * sum_ - whole * rest;  // sum of (value - whole)^2
    const auto count = static_cast<long double>(count_);
    const long double beside = static_cast<long double>(rest) / count;
    return static_cast<double>(std::sqrt(std::max(0.0L, static_cast<long double>(spread) / count - beside * beside)));
}

double Histogram::share_of_largest() const {
    std::uint64_t left = count_ / 1000;
    if (left == 0 || sum_ == 0) return 0;
    // Takes exactly a thousandth of the values, not whole bins: the last bin may hold nearly all values, and only some
    // of them belong to the largest thousandth.
    double largest_ns = 0;
    const std::uint64_t beyond = std::min(left, overflow_);
    if (beyond > 0) largest_ns += static_cast<double>(max_) + static_cast<double>(beyond - 1) * double{top_ns};
    left -= beyond;
    const auto all = bins();
    for (auto bin = all.rbegin(); bin != all.rend() && left > 0; ++bin) {
        const std::uint64_t taken = std::min(left, bin->count);
        const auto upper_ns = static_cast<double>(std::min(bin->upper_ns, max_));
        largest_ns += static_cast<double>(taken) * (static_cast<double>(std::max(bin->lower_ns, min_)) + upper_ns) / 2;
        left -= taken;
    }
    return std::min(1.0, largest_ns / static_cast<double>(sum_));
}

Histogram::Bin Histogram::edges(std::size_t index) {
    if (index < 2 * octave_bins) return {index, index, 0};
    const std::uint64_t shift = index / octave_bins - 1;
    const std::uint64_t mantissa = index - shift * octave_bins;
    return {mantissa << shift, ((mantissa + 1) << shift) - 1, 0};
}

std::uint64_t Histogram::value_at_rank(std::uint64_t rank) const {
    if (count_ == 0) return 0;
    std::uint64_t seen = 0;
    const std::size_t last = index(std::min(max_, top_ns));
    for (std::size_t bin = index(std::min(min_, top_ns)); bin <= last; ++bin) {
        seen += counts_[bin];
        if (seen >= rank) return std::min(edges(bin).upper_ns, max_);
    }
    return max_;  // the value with this rank is above the top of the histogram
}

std::optional<std::uint64_t> Histogram::percentile_ns(std::uint64_t millionths) const {
    if (static_cast<Wide>(count_) * (1'000'000 - millionths) < 1'000'000) return std::nullopt;
    return nearest_rank_ns(millionths);
}

std::uint64_t Histogram::nearest_rank_ns(std::uint64_t millionths) const {
    const Wide scaled = static_cast<Wide>(count_) * millionths;
    return value_at_rank(static_cast<std::uint64_t>((scaled + 999'999) / 1'000'000));
}

std::vector<Histogram::Bin> Histogram::bins() const {
    std::vector<Bin> found;
    if (count_ == 0) return found;
    const std::size_t last = index(std::min(max_, top_ns));
    for (std::size_t bin = index(std::min(min_, top_ns)); bin <= last; ++bin) {
        if (counts_[bin] == 0) continue;
        found.push_back(edges(bin));
        found.back().count = counts_[bin];
    }
    return found;
}

}  // namespace tacholog
