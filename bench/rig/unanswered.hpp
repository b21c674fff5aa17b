// Messages of a closed loop whose answers arrived late or never.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.hpp"

namespace tacholog {

/// The messages whose answers did not arrive in time. Their send times are remembered, because a late answer may still
/// arrive. Only the newest send times are remembered, so the memory is limited even if no answer ever arrives.
class UnansweredMessages {
public:
    UnansweredMessages() { sent_.reserve(first_room); }

    void add(std::uint64_t index, Nanoseconds sent_ns) {
        if (sent_.size() == most) sent_.erase(sent_.begin(), sent_.begin() + most / 2);
        sent_.push_back({index, sent_ns});
        ++lost_;
    }

    /// Returns the send time of the message with this index, and removes the message. Returns nothing if this object
    /// does not contain the message.
    std::optional<Nanoseconds> answered(std::uint64_t index) {
        const auto found = std::lower_bound(sent_.begin(), sent_.end(), index,
                                            [](const Sent& one, std::uint64_t wanted) { return one.index < wanted; });
        if (found == sent_.end() || found->index != index) return std::nullopt;
        const Nanoseconds sent_ns = found->sent_ns;
        sent_.erase(found);
        --lost_;  // add() has counted the message, so `lost_` never falls below 0
        return sent_ns;
    }

    void answered_unreadably() { ++unreadable_; }

    /// An answer with an unreadable number counts as one of the missing answers.
    std::uint64_t lost() const { return lost_ - std::min(lost_, unreadable_); }
    /// If there are more unreadable answers than missing answers, the surplus counts as duplicates.
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

    std::vector<Sent> sent_;        ///< in ascending order
    std::uint64_t lost_ = 0;        ///< messages in the list, and older ones that were removed from it
    std::uint64_t unreadable_ = 0;  ///< answers with an unreadable number
};

}  // namespace tacholog
