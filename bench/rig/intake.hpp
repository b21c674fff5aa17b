// Receives the messages from one publisher.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/instances.hpp"
#include "transports/transport.hpp"

namespace tacholog {

/// The messages from one publisher in the current phase, and their counts. `Check` counts the messages by their
/// numbers: Sequence, or KeyedSequence for keyed data.
template <typename Check>
class Intake {
public:
    Intake(std::unique_ptr<Subscriber> subscriber, Check check)
        : sequence(std::move(check)), subscriber_(std::move(subscriber)) {}

    /// The first message of a phase is the one after the last message of the previous phase.
    void begin_phase() {
        first = next_first;
        sequence.restart(first);
        corrupted = 0;
        first_ns = last_ns = 0;
        end.reset();
    }

    /// Takes up to `messages` messages. Returns not_yet if no message arrived within `patience`. The function `read` is
    /// called with the bytes of each message, and returns what it has read from them. The function `fresh` is called
    /// with the number of each message that arrives for the first time.
    template <typename Read, typename Fresh>
    Result<Done> take(std::size_t messages, Patience patience, Read&& read, Fresh&& fresh) {
        bool any_counts = false;
        for (std::size_t count = 0; count < messages; ++count) {
            const auto sample = subscriber_->take(patience);
            if (!sample) return sample.error();
            if (!*sample) {
                // No further message has arrived. The clock is read now: a later reading would not be the time of the
                // last message.
                if (any_counts) last_ns = now_ns();
                return done_if(count > 0);
            }
            const auto [number, counts] = add(read((*sample)->bytes()));
            any_counts = any_counts || counts;
            // The time is taken after the first message was read, as it is for the last one. So n messages span n - 1
            // periods.
            if (counts && first_ns == 0) first_ns = last_ns = now_ns();
            if (number) {
                if (auto done = fresh(*number); !done) return done.error();
            }
            patience = Patience{0};
        }
        if (any_counts) last_ns = now_ns();
        return Done::yes;
    }

    bool complete() const { return end && sequence.lost(*end) == 0; }

    /// Counts only missing messages before the newest one, because later ones may still be on their way. The result
    /// decreases when a missing message arrives late.
    std::uint64_t lost_so_far() const { return sequence.next() > first ? sequence.lost(sequence.next()) : 0; }

    /// Call this when no more messages of this phase can arrive.
    void end_phase() {
        next_first = std::max(*end, sequence.next());
        sequence.settle(next_first);
    }
    std::uint64_t lost() const { return sequence.lost(next_first); }  ///< valid after end_phase()

    Check sequence;
    std::uint64_t first = 0;
    std::uint64_t next_first = 0;
    /// The number of the first message after the phase; nothing until the publisher has sent it.
    std::optional<std::uint64_t> end;
    std::uint64_t corrupted = 0;
    // When the first and the last message were taken. Duplicates and messages of the previous phase do not count here,
    // because they may arrive much later or earlier.
    Nanoseconds first_ns = 0;  ///< 0: nothing has arrived yet
    Nanoseconds last_ns = 0;

private:
    struct Added {
        /// The number of the message; nothing if it cannot be read, or if the message is a duplicate.
        std::optional<std::uint64_t> number;
        bool counts = false;
    };

    Added add(const ReadMessage& message) {
        const Arrival arrival = message.identified ? sequence.arrived(message.number) : Arrival::foreign;
        if (arrival == Arrival::stale) return {};
        if (arrival == Arrival::foreign) {
            sequence.arrived_unidentified();
            ++corrupted;
            return {std::nullopt, true};
        }
        if (!message.intact) ++corrupted;
        if (arrival == Arrival::in_order || arrival == Arrival::reordered) return {message.number, true};
        return {};
    }

    std::unique_ptr<Subscriber> subscriber_;
};

}  // namespace tacholog
