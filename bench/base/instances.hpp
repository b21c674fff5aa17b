// Keyed data: the messages of a topic belong to instances. The publisher writes the instances in turn, and numbers the
// messages of each instance separately. The key and this number share the 64-bit number of a message, so that the
// smallest payload stays 16 bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/sequence.hpp"

namespace tacholog {

// The lower 48 bits of a number hold the number within the instance, the others hold the key.
inline constexpr unsigned key_shift = 48;
inline constexpr std::size_t most_instances = std::size_t{1} << (64 - key_shift);

/// Chooses the numbers for the messages of a publisher, whose instances take turns. If there is a single instance, the
/// numbers are the same as the numbers of messages without keys.
class InTurn {
public:
    explicit InTurn(std::uint64_t instances) : instances_(instances) {}

    std::uint64_t next() {
        const std::uint64_t number = key_ << key_shift | round_;
        if (++key_ == instances_) {
            key_ = 0;
            ++round_;
        }
        return number;
    }

    /// The number of messages of all instances together.
    std::uint64_t count() const { return round_ * instances_ + key_; }

private:
    std::uint64_t instances_;
    std::uint64_t key_ = 0;
    std::uint64_t round_ = 0;
};

inline std::uint64_t key_of(std::uint64_t number) {
    return number >> key_shift;
}

/// The number of a message within its instance.
inline std::uint64_t round_of(std::uint64_t number) {
    return number & ((std::uint64_t{1} << key_shift) - 1);
}

/// The number of the message that is written at this index.
inline std::uint64_t number_at(std::uint64_t index, std::uint64_t instances) {
    return index % instances << key_shift | index / instances;
}

/// The index of a message in the order of writing.
inline std::uint64_t index_of(std::uint64_t number, std::uint64_t instances) {
    return round_of(number) * instances + key_of(number);
}

/// Finds the first message of the instance `key` whose index is `first` or higher. Returns its number within the
/// instance.
inline std::uint64_t first_round(std::uint64_t first, std::uint64_t key, std::uint64_t instances) {
    return (first + instances - 1 - key) / instances;
}

/// Remembers only the newest message of each instance. This is enough if an older message of the instance is useless
/// once a newer one has arrived.
class Newest {
public:
    explicit Newest(std::size_t instances) : next_(instances, 0) {}

    /// From now on, only messages with index `first` or higher count.
    void restart(std::uint64_t first) {
        first_ = first;
        for (std::uint64_t key = 0; key < next_.size(); ++key) next_[key] = first_round(first, key, next_.size());
    }

    /// Returns false if this message, or a newer one of its instance, has arrived before. Also returns false if no such
    /// instance exists.
    bool advance(std::uint64_t number) {
        const std::uint64_t key = key_of(number);
        if (key >= next_.size() || round_of(number) < next_[key]) return false;
        next_[key] = round_of(number) + 1;
        return true;
    }

    /// The number of instances from which at least one message arrived.
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

/// Which messages of each instance arrived: in order, late, twice or never. The order matters only within one instance;
/// messages of two instances may overtake each other. The index of a message is always its index in the order of
/// writing.
class KeyedSequence {
public:
    explicit KeyedSequence(std::size_t instances) : sequences_(instances, OfOne{0}) {}

    /// From now on, only messages with index `first` or higher count.
    void restart(std::uint64_t first) {
        counts_ = ArrivalCounts{first};
        next_ = first;
        for (std::uint64_t key = 0; key < sequences_.size(); ++key)
            sequences_[key].restart(first_round(first, key, sequences_.size()));
    }

    /// The same functions as in Sequence.
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

    std::uint64_t lost(std::uint64_t end) const { return counts_.lost(end); }

    /// The number of instances from which at least one message arrived.
    std::uint64_t heard() const {
        return static_cast<std::uint64_t>(std::count_if(sequences_.begin(), sequences_.end(),
                                                        [](const OfOne& sequence) { return sequence.received() > 0; }));
    }

private:
    // The window of an instance is small, because there may be 65536 instances: their windows take 36 MB in total. The
    // window of a topic without keys is sixteen times as large.
    using OfOne = SequenceOver<4096>;

    std::vector<OfOne> sequences_;
    ArrivalCounts counts_;
    std::uint64_t next_ = 0;
};

}  // namespace tacholog
