// The schedule of an open loop, and the messages on their way: what is known of a message until its answer comes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "core/clock.hpp"
#include "core/side.hpp"

namespace tacholog {

/// A backlog is sent after the planned end for no longer than this; what remains then was never sent.
inline constexpr Nanoseconds catch_up_ns = nanoseconds_per_second;

/// Notes it where a sender did not keep its schedule well enough to tell what is the transport's doing.
void tell_generator_limits(const Side& side, std::size_t payload_bytes, double offered_per_s, const Histogram& latency,
                           const Histogram& lateness);

/// Message i is due at start + i * period, whatever became of those before it.
class Plan {
public:
    Plan(Nanoseconds start_ns, double rate_per_s)
        : start_ns_(start_ns), period_ns_(static_cast<double>(nanoseconds_per_second) / rate_per_s) {}

    Nanoseconds due_ns(std::uint64_t index) const {
        return start_ns_ + static_cast<Nanoseconds>(static_cast<double>(index) * period_ns_);
    }

    /// How many messages are due before this moment.
    std::uint64_t due_before(Nanoseconds end_ns) const {
        auto count =
            static_cast<std::uint64_t>(static_cast<double>(std::max<Nanoseconds>(0, end_ns - start_ns_)) / period_ns_);
        while (due_ns(count) < end_ns) ++count;
        return count;
    }

    Nanoseconds start_ns() const { return start_ns_; }

private:
    Nanoseconds start_ns_;
    double period_ns_;
};

/// Numbered messages that were sent, in order, until they are answered.
class Outstanding {
public:
    enum class Kind { first, again, foreign };  ///< foreign: never sent

    struct Answer {
        Kind kind = Kind::foreign;
        Nanoseconds sent_ns = 0;  ///< of a first answer
    };

    /// The next message was sent at this time.
    void sent(Nanoseconds time_ns) { times_.push_back(time_ns); }

    Answer answered(std::uint64_t number) {
        if (number < first_) return {Kind::again, 0};
        if (number >= first_ + times_.size()) return {};
        Nanoseconds& time = times_[number - first_];
        if (time == none) return {Kind::again, 0};
        const Answer answer{Kind::first, time};
        time = none;
        while (!times_.empty() && times_.front() == none) {
            times_.pop_front();
            ++first_;
        }
        return answer;
    }

    bool empty() const { return times_.empty(); }

    /// Begins anew with this number.
    void restart(std::uint64_t first) {
        times_.clear();
        first_ = first;
    }

private:
    static constexpr Nanoseconds none = -1;

    std::deque<Nanoseconds> times_;
    std::uint64_t first_ = 0;
};

}  // namespace tacholog
