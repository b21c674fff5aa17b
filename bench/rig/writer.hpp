// One publisher of a throughput or demand test. It sends as fast as the transport accepts, on an absolute schedule, or
// in bursts. If there are several publishers, each has its own writer, thread and numbers.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>

#include "base/instances.hpp"
#include "base/waiting.hpp"
#include "rig/probes.hpp"
#include "rig/schedule.hpp"
#include "rig/side.hpp"

namespace tacholog {

/// The messages that one publisher sent in one phase (warm-up, measurement).
struct Sent {
    std::uint64_t messages = 0;
    Nanoseconds duration_ns = 0;
    Nanoseconds first_ns = 0;  ///< when the first message was passed to the transport
    /// The time at which the last message was passed to the transport. If messages are sent in batches, it is the time
    /// at which the batch with the last message was passed to the transport.
    Nanoseconds last_ns = 0;

    Nanoseconds first_to_last_ns() const { return last_ns - first_ns; }
    std::optional<double> rate_per_s() const { return rate_of(messages, first_to_last_ns()); }

    /// Whether less than 99.9 % of the requested messages were sent. The number of messages is compared too, because
    /// the rate is computed only up to the last message. This number may be one message too small, because one message
    /// may be due exactly at the end of the phase.
    bool falls_short_of(double wanted_per_s, double duration_s) const {
        constexpr double enough = 0.999;
        const double planned = wanted_per_s * duration_s;
        return rate_per_s().value_or(wanted_per_s) < enough * wanted_per_s ||
               static_cast<double>(messages + 1) < enough * planned;
    }
};

class Writer {
public:
    /// `answers` receives the answers to probes; nullptr if there are none.
    Writer(const Side& side, std::unique_ptr<Publisher> publisher, std::unique_ptr<Subscriber> answers,
           const Case& measured)
        : options_(side.options),
          yield_(side.yield()),
          publisher_(std::move(publisher)),
          answers_(std::move(answers)),
          payload_bytes_(measured.payload_bytes),
          demand_(measured.demand),
          messages_a_look_(messages_between_looks(payload_bytes_)),
          batch_messages_(messages_a_batch(options_, payload_bytes_)),
          numbers_(options_.instances.value_or(1)),
          probes_(side, answers_.get()) {}

    /// The number of messages written in all phases.
    std::uint64_t written() const { return numbers_.count(); }

    Probes& probes() { return probes_; }

    std::string_view batched_by() const { return publisher_->batched_by(); }

    std::uint64_t dropped(std::size_t subscriber) const { return publisher_->dropped(subscriber); }

    /// Sends for `longest_ns`, or until `pulse(messages, elapsed ns)` returns true; it is called every 50 ms. `watch()`
    /// is called while the transport is full, and returns an error if there is trouble.
    template <typename Pulse, typename Watch>
    Result<Sent> stream(Nanoseconds longest_ns, Pulse&& pulse, Watch&& watch) {
        Sent sent;
        probes_.begin(numbers_.count());
        const Nanoseconds start = now_ns();
        Schedule schedule = schedule_from(start);
        Nanoseconds now = start;
        Nanoseconds next_pulse = start + pulse_ns;
        while (now - start < longest_ns || schedule.is_in_burst(sent.messages)) {
            const Nanoseconds limit = std::min(start + longest_ns, next_pulse);
            const auto count = send_next(schedule, sent.messages, now, limit, watch);
            if (!count) return count.error();
            if (auto taken = probes_.take_all(); !taken) return taken.error();
            now = now_ns();
            if (*count > 0) {
                if (sent.messages == 0) sent.first_ns = now;
                sent.messages += *count;
                sent.last_ns = now;
            }
            if (now < next_pulse) [[likely]]
                continue;
            next_pulse = now + pulse_ns;
            // A batch never holds back a message for longer than one pulse, even if the rate is slow.
            if (auto done = flush(sent, watch); !done) return done.error();
            const Result<bool> enough = pulse(sent.messages, now - start);
            if (!enough.has_value()) return enough.error();
            if (*enough) break;
        }
        if (auto done = flush(sent, watch); !done) return done.error();
        sent.duration_ns = now_ns() - start;
        if (auto done = settle(options_, *publisher_, watch); !done) return done.error();
        return sent;
    }

private:
    Schedule schedule_from(Nanoseconds start) const {
        if (demand_) return {start, *demand_};
        return options_.rate_per_s ? Schedule{start, *options_.rate_per_s} : Schedule{start};
    }

    /// Waits for the messages that are due next. Sends nothing if `limit` comes before they are due.
    template <typename Watch>
    Result<std::size_t> send_next(Schedule& schedule, std::uint64_t index, Nanoseconds now, Nanoseconds limit,
                                  Watch& watch) {
        const Nanoseconds due = schedule.due_ns(index);
        if (due > now) {
            const Nanoseconds until = std::min(due, limit);
            if (auto taken = take_answers(until); !taken) return taken.error();
            now = now_ns();
            if (now < until) {
                wait_until(until, options_.waiting, yield_);
                now = now_ns();
            }
            if (due >= limit) return std::size_t{0};
        }
        // The first message is sent alone, because the rate is measured from the time when it was passed to the
        // transport.
        const std::size_t most = index == 0 ? 1 : messages_a_look_;
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(schedule.begin(index, now), most));
        if (auto sent = send_some(count, watch); !sent) return sent.error();
        // Messages that are held back are sent at the end of a burst, so that they do not wait for the next burst.
        if (demand_ && !schedule.is_in_burst(index + count)) {
            if (auto done = flush(watch); !done) return done.error();
        }
        return count;
    }

    /// `messages` must not be larger than the number of messages between two readings of the clock.
    template <typename Watch>
    Result<void> send_some(std::size_t messages, Watch& watch) {
        for (std::size_t count = 0; count < messages; ++count) {
            if (auto done = send_one(watch); !done) return done;
        }
        return {};
    }

    template <typename Watch>
    Result<void> send_one(Watch& watch) {
        if (probes_.due(numbers_.count())) probes_.sent(now_ns());
        auto loan = publisher_->loan(payload_bytes_);
        if (!loan) return loan.error();
        write_message(loan->bytes(), numbers_.next(), options_.handling);
        if (++held_back_ == batch_messages_) held_back_ = 0;
        if (!probes_.active()) {
            return hand_over(options_, [&](Patience patience) { return loan->publish(patience); }, watch);
        }
        return hand_over(
            options_, [this, &loan, full = false](Patience) mutable { return send_or_take(*loan, full); }, watch);
    }

    /// Takes answers while the transport is full.
    Result<Done> send_or_take(Loan& loan, bool& full) {
        constexpr Patience nap{0.1};
        if (full) {
            if (auto taken = probes_.take_all(); !taken) return taken.error();
        }
        return loan.publish(std::exchange(full, true) ? nap : Patience{0});
    }

    template <typename Watch>
    Result<void> flush(Watch& watch) {
        held_back_ = 0;
        return hand_over(options_, [&](Patience patience) { return publisher_->flush(patience); }, watch);
    }

    /// Sends the messages that are held back for a batch, and corrects the time of the last message in `sent`. Does
    /// nothing if no message is held back, for example in the pause after a burst, because the time is already right.
    template <typename Watch>
    Result<void> flush(Sent& sent, Watch& watch) {
        if (held_back_ == 0) return {};
        auto done = flush(watch);
        sent.last_ns = std::max(sent.last_ns, now_ns());
        return done;
    }

    /// Ends at this time, or when no answer is awaited.
    Result<void> take_answers(Nanoseconds until) {
        BusyPoll poll{Patience{1}, Waiting::busy_poll, yield_};
        while (probes_.awaited()) {
            const Nanoseconds left = until - now_ns();
            if (left <= 0) break;
            const bool asleep = sleeps(options_.waiting);
            const auto taken = probes_.take(asleep ? Patience{std::chrono::nanoseconds{left}} : Patience{0});
            if (!taken.has_value()) return taken.error();
            if (*taken == Done::not_yet && !asleep) poll.wait();
        }
        return {};
    }

    const Options& options_;
    Yield yield_;
    std::unique_ptr<Publisher> publisher_;
    std::unique_ptr<Subscriber> answers_;
    std::size_t payload_bytes_;
    std::optional<Demand> demand_;
    std::size_t messages_a_look_;
    std::size_t batch_messages_;
    std::size_t held_back_ = 0;  ///< messages in an incomplete batch; a full batch is sent as a whole
    InTurn numbers_;
    Probes probes_;
};

}  // namespace tacholog
