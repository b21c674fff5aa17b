// Messages of a closed loop whose answers came late, or never.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.hpp"

namespace tacholog {

/// Messages whose answers the publisher has stopped waiting for. It remembers when the newest of them were sent,
/// because their answers may still come. Memory is bounded, should none of them come.
class UnansweredMessages {
public:
    UnansweredMessages() { sent_.reserve(first_room); }

    void add(std::uint64_t index, Nanoseconds sent_ns) {
        if (sent_.size() == most) sent_.erase(sent_.begin(), sent_.begin() + most / 2);
        sent_.push_back({index, sent_ns});
        ++lost_;
    }

    /// When this one was sent, if its answer is still waited for; from here on it is not.
    std::optional<Nanoseconds> answered(std::uint64_t index) {
        const auto found = std::lower_bound(sent_.begin(), sent_.end(), index,
                                            [](const Sent& one, std::uint64_t wanted) { return one.index < wanted; });
        if (found == sent_.end() || found->index != index) return std::nullopt;
        const Nanoseconds sent_ns = found->sent_ns;
        sent_.erase(found);
        --lost_;  // it was counted when it was put into the list, so the count never falls below 0
        return sent_ns;
    }

    /// An answer has come whose number cannot be read.
    void answered_unreadably() { ++unreadable_; }

    /// Those whose answers never came: an answer whose number cannot be read stands for one that is missing.
    std::uint64_t lost() const { return lost_ - std::min(lost_, unreadable_); }
    /// Answers that cannot be read, above those that are missing: they were second ones.
    std::uint64_t duplicated() const { return unreadable_ - std::min(lost_, unreadable_); }

    bool empty() const { return sent_.empty(); }
    void clear() {
        sent_.clear();
        lost_ = unreadable_ = 0;
    }

private:
    struct Sent {
        std::uint64_t index;
        Nanoseconds sent_ns;
    };
    static constexpr std::ptrdiff_t first_room = 1024;
    static constexpr std::ptrdiff_t most = 65536;

    std::vector<Sent> sent_;        ///< ascending
    std::uint64_t lost_ = 0;        ///< those of the list, and older ones that are not remembered
    std::uint64_t unreadable_ = 0;  ///< answers whose number cannot be read
};

}  // namespace tacholog
