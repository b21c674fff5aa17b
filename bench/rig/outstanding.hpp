// Remembers the outstanding messages until their answers arrive. Uses a fixed amount of memory, however many messages
// are lost.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"

namespace tacholog {

/// Numbered messages that were sent in order and are not answered yet. Only the newest are remembered. An older one
/// counts as lost for good; if its answer still arrives, it counts as a repeated answer.
class Outstanding {
public:
    enum class Kind { first, again, foreign };  ///< foreign: never sent

    struct Answer {
        Kind kind = Kind::foreign;
        Nanoseconds sent_ns = 0;  ///< set only for the first answer of a message
    };

    // 8 MiB; enough for ten seconds at 100,000/s.
    static constexpr std::uint64_t most_remembered = std::uint64_t{1} << 20;

    explicit Outstanding(double remembered = most_remembered)
        : times_(std::bit_ceil(static_cast<std::uint64_t>(
              std::clamp(remembered, double{least_used}, static_cast<double>(most_remembered))))) {}

    std::uint64_t remembered() const { return times_.size(); }

    void sent(Nanoseconds time_ns) {
        if (next_ - first_ == used_) [[unlikely]]
            make_room();
        times_[slot_of(next_++)] = time_ns;
    }

    Answer answered(std::uint64_t number) {
        if (number < first_) return {Kind::again, 0};
        if (number >= next_) return {};
        Nanoseconds& time = times_[slot_of(number)];
        if (time == none) return {Kind::again, 0};
        const Answer answer{Kind::first, time};
        time = none;
        skip_answered();
        return answer;
    }

    bool empty() const { return first_ == next_; }

    /// The next message has the sequence number `first`.
    void restart(std::uint64_t first) {
        first_ = next_ = first;
        used_ = least_used;
    }

private:
    static constexpr Nanoseconds none = -1;

    std::size_t slot_of(std::uint64_t number) const { return number & (used_ - 1); }

    void skip_answered() {
        while (first_ != next_ && times_[slot_of(first_)] == none) ++first_;
    }
    /// Makes room for one more message: doubles the used part of the ring. If the whole ring is already in use, the
    /// function drops the oldest message. The used part starts small, so that it stays in the CPU cache.
    void make_room() {
        if (used_ < times_.size()) {
            for (std::uint64_t number = first_; number != next_; ++number) {
                if ((number & used_) != 0) times_[slot_of(number) + used_] = times_[slot_of(number)];
            }
            used_ *= 2;
        } else {
            ++first_;
            skip_answered();
        }
    }

    static constexpr std::uint64_t least_used = 1024;

    std::vector<Nanoseconds> times_;   ///< send times; the size is a power of two
    std::uint64_t used_ = least_used;  ///< the part of the ring in use
    std::uint64_t first_ = 0;
    std::uint64_t next_ = 0;
};

}  // namespace tacholog
