// Which of the numbered messages came, and how: once, twice, out of order, or never.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace tacholog {

enum class Arrival { in_order, reordered, duplicated, stale, foreign };  ///< foreign: of no instance that there is

/// How many messages from the `first` on came, and how. Those whose number could not be read take the places of missing
/// ones.
class ArrivalCounts {
public:
    explicit ArrivalCounts(std::uint64_t first = 0) : first_(first) {}

    void add(Arrival arrival) {
        if (arrival == Arrival::in_order || arrival == Arrival::reordered) ++received_;
        if (arrival == Arrival::reordered) ++reordered_;
        if (arrival == Arrival::duplicated) ++duplicated_;
    }
    void add_unidentified() { ++unidentified_; }

    /// All before `end` has been sent: unidentified messages above those that are missing were duplicates.
    void settle(std::uint64_t end) {
        const std::uint64_t missing = end - first_ - std::min(end - first_, received_);
        const std::uint64_t doubled = unidentified_ - std::min(unidentified_, missing);
        unidentified_ -= doubled;
        duplicated_ += doubled;
    }

    std::uint64_t first() const { return first_; }
    std::uint64_t identified() const { return received_; }
    std::uint64_t received() const { return received_ + unidentified_; }
    std::uint64_t duplicated() const { return duplicated_; }
    std::uint64_t reordered() const { return reordered_; }

    /// Messages before `end` that never came.
    std::uint64_t lost(std::uint64_t end) const { return end - first_ - std::min(end - first_, received()); }

private:
    std::uint64_t first_;
    std::uint64_t received_ = 0;
    std::uint64_t duplicated_ = 0;
    std::uint64_t reordered_ = 0;
    std::uint64_t unidentified_ = 0;
};

/// A message later than `window` others is taken for a duplicate: nothing is remembered of it.
template <std::uint64_t window>
class SequenceOver {
public:
    /// Counts messages from `first` on; what is older is stale.
    explicit SequenceOver(std::uint64_t first) : counts_(first), next_(first) {}

    /// Begins anew. What is remembered of older messages is overwritten as newer ones come.
    void restart(std::uint64_t first) {
        counts_ = ArrivalCounts{first};
        next_ = first;
    }

    /// A message whose number is not known has come: one of those that are missing.
    void arrived_unidentified() { counts_.add_unidentified(); }

    /// All before `end` has been sent.
    void settle(std::uint64_t end) { counts_.settle(end); }

    Arrival arrived(std::uint64_t number) {
        if (number < counts_.first()) return Arrival::stale;
        const Arrival arrival = number >= next_ ? advance(number) : look_back(number);
        counts_.add(arrival);
        return arrival;
    }

    std::uint64_t received() const { return counts_.received(); }
    std::uint64_t duplicated() const { return counts_.duplicated(); }
    std::uint64_t reordered() const { return counts_.reordered(); }
    std::uint64_t next() const { return next_; }

    /// Messages before `end` that never came.
    std::uint64_t lost(std::uint64_t end) const { return counts_.lost(end); }

    /// Instances of which something came: without a key there is one.
    std::uint64_t heard() const { return counts_.identified() > 0 ? 1 : 0; }

private:
    std::uint64_t& word(std::uint64_t number) { return seen_[(number % window) / 64]; }
    static std::uint64_t bit(std::uint64_t number) { return std::uint64_t{1} << (number % 64); }

    Arrival advance(std::uint64_t number) {
        if (number - next_ >= window) {
            seen_.fill(0);
        } else {
            for (std::uint64_t missed = next_; missed <= number; ++missed) word(missed) &= ~bit(missed);
        }
        word(number) |= bit(number);
        next_ = number + 1;
        return Arrival::in_order;
    }

    Arrival look_back(std::uint64_t number) {
        if (next_ - number > window || (word(number) & bit(number)) != 0) return Arrival::duplicated;
        word(number) |= bit(number);
        return Arrival::reordered;
    }

    ArrivalCounts counts_;
    std::uint64_t next_;
    std::array<std::uint64_t, window / 64> seen_{};
};

using Sequence = SequenceOver<65536>;

}  // namespace tacholog
