#include "core/histogram.hpp"

#include <cmath>

namespace tacholog {

Histogram::Histogram() : counts_(index(top_ns) + 1) {}

void Histogram::merge(const Histogram& other) {
    if (other.count_ == 0) return;
    const std::size_t last = index(std::min(other.max_, top_ns));
    for (std::size_t bin = index(std::min(other.min_, top_ns)); bin <= last; ++bin) counts_[bin] += other.counts_[bin];
    if (other.min_ < min_) min_at_ = count_ + other.min_at_;
    if (other.max_ > max_) max_at_ = count_ + other.max_at_;
    count_ += other.count_;
    overflow_ += other.overflow_;
    sum_ += other.sum_;
    squares_ += other.squares_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
}

void Histogram::restore(const Exact& exact) {
    count_ = exact.count;
    overflow_ = exact.overflow;
    min_ = exact.min;
    max_ = exact.max;
    min_at_ = exact.min_at;
    max_at_ = exact.max_at;
    sum_ = exact.sum;
    squares_ = exact.squares;
}

void Histogram::clear() {
    if (count_ == 0) return;
    const auto first = counts_.begin() + static_cast<std::ptrdiff_t>(index(std::min(min_, top_ns)));
    const auto last = counts_.begin() + static_cast<std::ptrdiff_t>(index(std::min(max_, top_ns)));
    std::fill(first, last + 1, 0);
    count_ = overflow_ = max_ = min_at_ = max_at_ = 0;
    min_ = UINT64_MAX;
    sum_ = squares_ = 0;
}

double Histogram::mean_ns() const {
    if (count_ == 0) return 0;
    return static_cast<double>(static_cast<long double>(sum_) / static_cast<long double>(count_));
}

double Histogram::std_ns() const {
    if (count_ == 0) return 0;
    // Exact up to the last step, around the mean's whole part. count * squares - sum * sum was right though both terms
    // wrap, as long as the difference fits 128 bits: until the count times the deviation is beyond 64, which is an hour
    // of a million a second that deviate by 5 s. No term here is above the sum of squares.
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
    // By rank: the bin that holds the border may hold nearly all there is, on both sides of it.
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
    return max_;  // the rank lies among the overflown
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
