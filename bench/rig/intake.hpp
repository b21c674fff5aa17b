// What a subscriber takes from one publisher.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/instances.hpp"
#include "transports/transport.hpp"

namespace tacholog {

/// What comes from one publisher, and what became of it in this phase, from the first message that arrives.
/// `Check` is what keeps account of the messages: Sequence, or of keyed data KeyedSequence.
template <typename Check>
class Intake {
public:
    Intake(std::unique_ptr<Subscriber> subscriber, Check check)
        : sequence(std::move(check)), subscriber_(std::move(subscriber)) {}

    /// A phase begins with the message behind those of the phase before.
    void begin_phase() {
        first = next_first;
        sequence.restart(first);
        corrupted = 0;
        first_ns = last_ns = 0;
        end.reset();
    }

    /// Takes up to so many messages; `read` reads the bytes of each, and the number of each that had not come before
    /// goes to `fresh`. Not yet done if none came within `patience`.
    template <typename Read, typename Fresh>
    Result<Done> take(std::size_t messages, Patience patience, Read&& read, Fresh&& fresh) {
        bool any_counts = false;
        for (std::size_t count = 0; count < messages; ++count) {
            const auto sample = subscriber_->take(patience);
            if (!sample) return sample.error();
            if (!*sample) {
                // The stream has a gap: this is the one moment to say when the message before it was taken.
                if (any_counts) last_ns = now_ns();
                return done_if(count > 0);
            }
            const auto [number, counts] = add(read((*sample)->bytes()));
            any_counts = any_counts || counts;
            // With the first message read, as the last one: n of them then lie n - 1 periods apart.
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

    /// Before the newest message that came; what is on its way behind it is not lost. A late message makes it smaller.
    std::uint64_t lost_so_far() const { return sequence.next() > first ? sequence.lost(sequence.next()) : 0; }

    /// Nothing more of the phase is to come.
    void end_phase() {
        next_first = std::max(*end, sequence.next());
        sequence.settle(next_first);
    }
    std::uint64_t lost() const { return sequence.lost(next_first); }  ///< then

    Check sequence;
    std::uint64_t first = 0;
    std::uint64_t next_first = 0;
    std::optional<std::uint64_t> end;  ///< where the phase ends, once the publisher has said so
    std::uint64_t corrupted = 0;
    // When the first message and the last one had been taken, of those that count as received. A second copy, or one of
    // the phase before, may come long behind the last, or before the first.
    Nanoseconds first_ns = 0;  ///< 0: nothing has come yet
    Nanoseconds last_ns = 0;

private:
    struct Added {
        std::optional<std::uint64_t> number;  ///< if it can be read, and had not come before
        bool counts = false;                  ///< as received
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
