// Keyed data: a topic's messages belong to instances, which are written in turn, and each is numbered within its own.
// Key and number share the one number of a message, so that 16 B stay the smallest payload.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/sequence.hpp"

namespace tacholog {

inline constexpr unsigned key_shift = 48;  // below the key: a number that lasts an instance for years
inline constexpr std::size_t most_instances = std::size_t{1} << (64 - key_shift);

/// What a publisher numbers its messages with. Those of one instance alone are numbered as if there were no keys.
class InTurn {
public:
    explicit InTurn(std::uint64_t instances) : instances_(instances) {}

    /// Key and number of the next message.
    std::uint64_t next() {
        const std::uint64_t number = key_ << key_shift | round_;
        if (++key_ == instances_) {
            key_ = 0;
            ++round_;
        }
        return number;
    }

    /// How many there have been, of all instances.
    std::uint64_t count() const { return round_ * instances_ + key_; }

private:
    std::uint64_t instances_;
    std::uint64_t key_ = 0;
    std::uint64_t round_ = 0;
};

inline std::uint64_t key_of(std::uint64_t number) {
    return number >> key_shift;
}

/// A message's number within its instance.
inline std::uint64_t round_of(std::uint64_t number) {
    return number & ((std::uint64_t{1} << key_shift) - 1);
}

/// Key and number of the message at this index among all.
inline std::uint64_t number_at(std::uint64_t index, std::uint64_t instances) {
    return index % instances << key_shift | index / instances;
}

/// Its index among all, in the order in which they were written.
inline std::uint64_t index_of(std::uint64_t number, std::uint64_t instances) {
    return round_of(number) * instances + key_of(number);
}

/// An instance's first round among the messages from the `first` of all on.
inline std::uint64_t first_round(std::uint64_t first, std::uint64_t key, std::uint64_t instances) {
    return (first + instances - 1 - key) / instances;
}

/// The newest message of each instance: enough where a message later than another of its instance is of no more use.
class Newest {
public:
    explicit Newest(std::size_t instances) : next_(instances, 0) {}

    /// Counts messages from the `first` of all on.
    void restart(std::uint64_t first) {
        first_ = first;
        for (std::uint64_t key = 0; key < next_.size(); ++key) next_[key] = first_round(first, key, next_.size());
    }

    /// False if one of its instance that is as new was here before, or if there is no such instance.
    bool advance(std::uint64_t number) {
        const std::uint64_t key = key_of(number);
        if (key >= next_.size() || round_of(number) < next_[key]) return false;
        next_[key] = round_of(number) + 1;
        return true;
    }

    /// Instances of which something came.
    std::uint64_t heard() const {
        std::uint64_t count = 0;
        for (std::uint64_t key = 0; key < next_.size(); ++key)
            count += next_[key] > first_round(first_, key, next_.size()) ? 1 : 0;
        return count;
    }

private:
    std::vector<std::uint64_t> next_;
    std::uint64_t first_ = 0;
};

/// Which messages of each instance came, and how. Order is a matter of one instance: messages of two may overtake each
/// other. Where a message's index among all of them is asked for or told, it is that in which they were written.
class KeyedSequence {
public:
    explicit KeyedSequence(std::size_t instances) : sequences_(instances, OfOne{0}) {}

    /// Counts messages from the `first` of all on.
    void restart(std::uint64_t first) {
        counts_ = ArrivalCounts{first};
        next_ = first;
        for (std::uint64_t key = 0; key < sequences_.size(); ++key)
            sequences_[key].restart(first_round(first, key, sequences_.size()));
    }

    /// As those of Sequence.
    void arrived_unidentified() { counts_.add_unidentified(); }
    void settle(std::uint64_t end) { counts_.settle(end); }

    Arrival arrived(std::uint64_t number) {
        const std::uint64_t key = key_of(number);
        if (key >= sequences_.size()) return Arrival::foreign;
        const Arrival arrival = sequences_[key].arrived(round_of(number));
        if (arrival == Arrival::in_order) next_ = std::max(next_, index_of(number, sequences_.size()) + 1);
        counts_.add(arrival);
        return arrival;
    }

    std::uint64_t received() const { return counts_.received(); }
    std::uint64_t duplicated() const { return counts_.duplicated(); }
    std::uint64_t reordered() const { return counts_.reordered(); }
    std::uint64_t next() const { return next_; }

    /// Messages before the `end` of all that never came.
    std::uint64_t lost(std::uint64_t end) const { return counts_.lost(end); }

    /// Instances of which something came.
    std::uint64_t heard() const {
        return static_cast<std::uint64_t>(std::count_if(sequences_.begin(), sequences_.end(),
                                                        [](const OfOne& sequence) { return sequence.received() > 0; }));
    }

private:
    // A sixteenth of what an unkeyed topic has: there may be 65536 of them, which is 36 MB.
    using OfOne = SequenceOver<4096>;

    std::vector<OfOne> sequences_;
    ArrivalCounts counts_;
    std::uint64_t next_ = 0;
};

}  // namespace tacholog
