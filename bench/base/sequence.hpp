// Which of the numbered messages arrived: once, twice, out of order or never.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace tacholog {

/// Foreign: the message names an instance that does not exist.
enum class Arrival { in_order, reordered, duplicated, stale, foreign };

/// Counts how the messages with number `first` and higher arrived. A message whose number could not be read counts as
/// one of the missing messages.
class ArrivalCounts {
public:
    explicit ArrivalCounts(std::uint64_t first = 0) : first_(first) {}

    void add(Arrival arrival) {
        if (arrival == Arrival::in_order || arrival == Arrival::reordered) ++received_;
        if (arrival == Arrival::reordered) ++reordered_;
        if (arrival == Arrival::duplicated) ++duplicated_;
    }
    void add_unidentified() { ++unidentified_; }

    /// Call this when all messages before `end` were sent. A message without a readable number counts as one of the
    /// missing messages. If there are more such messages than missing messages, the surplus counts as duplicates.
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

    std::uint64_t lost(std::uint64_t end) const { return end - first_ - std::min(end - first_, received()); }

private:
    std::uint64_t first_;
    std::uint64_t received_ = 0;
    std::uint64_t duplicated_ = 0;
    std::uint64_t reordered_ = 0;
    std::uint64_t unidentified_ = 0;
};

/// Distinguishes duplicates from late messages. This works only for the last `window` numbers; an older message counts
/// as a duplicate.
template <std::uint64_t window>
class SequenceOver {
public:
    /// Counts messages with number `first` and higher; older messages are stale.
    explicit SequenceOver(std::uint64_t first) : counts_(first), next_(first) {}

    /// Old marks need not be cleared, because newer messages overwrite them.
    void restart(std::uint64_t first) {
        counts_ = ArrivalCounts{first};
        next_ = first;
    }

    void arrived_unidentified() { counts_.add_unidentified(); }

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

    std::uint64_t lost(std::uint64_t end) const { return counts_.lost(end); }

    /// Without keys, there is only one instance.
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
