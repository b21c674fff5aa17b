// Sends messages on a schedule and takes their answers, for the latency test at a rate and the sustain test. The
// latency of a message begins at its scheduled time, however late it was sent. So a stall increases the latency of all
// messages behind it. One thread sends and receives in turn, so that neither waits for the other.
#pragma once

#include <sched.h>

#include <algorithm>

#include "base/instances.hpp"
#include "base/waiting.hpp"
#include "rig/latency_intervals.hpp"
#include "rig/open_loop.hpp"
#include "rig/side.hpp"
#include "rig/steady.hpp"

namespace tacholog {

class Pacer {
public:
    /// `most_per_s` is the highest rate; it sets how many outstanding messages are remembered.
    Pacer(const Side& side, Channels channels, std::size_t payload_bytes, double most_per_s)
        : side_(side),
          channels_(std::move(channels)),
          payload_bytes_(payload_bytes),
          instances_(instances_of(side)),
          schedule_(0, most_per_s),
          newest_(instances_),
          outstanding_(most_per_s * side.options.timeout_s),
          intervals_(side.intervals(most_histograms_kept)) {}

    Nanoseconds interval_length_ns() const { return intervals_.length_ns(); }

    /// `found` is called with each interval, and returns whether the intervals are enough.
    template <typename Found>
    Result<Nanoseconds> phase(double rate_per_s, Nanoseconds longest_ns, Nanoseconds interval_ns, bool live,
                              Found&& found) {
        rate_per_s_ = rate_per_s;
        return intervals_.phase(*side_.monitor, live, [&] { return send_and_take(longest_ns, interval_ns); }, found);
    }

    // Results of the last phase:

    std::uint64_t planned() const { return planned_; }
    std::uint64_t sent() const { return sent_; }
    std::uint64_t answered() const { return answered_; }
    std::optional<double> offered_per_s() const { return rate_of(sent_, last_sent_ns_ - first_sent_ns_); }
    const Histogram& lateness() const { return lateness_; }
    const Histogram& from_send() const { return from_send_; }  ///< latencies, measured from the actual send time
    /// The messages that the transport accepted only after a delay.
    std::uint64_t held_back() const { return held_back_; }
    /// Returns whether the transport accepted each message without a delay. The result is therefore false if the
    /// transport never accepted the last message.
    bool took_all_at_once() const { return held_back_ == 0 && !refused_last_; }
    std::uint64_t instances_heard() const { return newest_.heard(); }

    Faults faults() const {
        Faults faults = faults_;
        faults.lost = sent_ - std::min(sent_, answered_ + unreadable_);
        faults.corrupted = known_corrupted(side_.options.handling, corrupted_);
        return faults;
    }

private:
    /// Over a lossy transport, messages without an answer count as lost after this time without any answer.
    static constexpr Patience drain_silence{1000};

    /// How often the publisher checks, after the planned end, whether all answers have arrived.
    static constexpr Nanoseconds short_pulse_ns = 1'000'000;

    /// Ends early if the intervals are enough. Then takes the outstanding answers. After that, the current record holds
    /// the last interval.
    Result<Nanoseconds> send_and_take(Nanoseconds longest_ns, Nanoseconds interval_ns) {
        const Nanoseconds start = now_ns();
        const Nanoseconds planned_end = start + longest_ns;
        begin(start, planned_end);
        Nanoseconds next_pulse = start;
        Nanoseconds moved_ns = start;
        Nanoseconds looked_ns = start;
        bool enough = false;
        while (!enough || awaited()) {
            const auto moved = step(enough, next_pulse);
            if (!moved.has_value()) return moved.error();
            const Nanoseconds now = now_ns();
            if (*moved == Done::yes || idle()) moved_ns = now;
            if (now < next_pulse) [[likely]]
                continue;
            if (auto fine = side_.monitor->fine(); !fine) return fine.error();
            enough = enough || all_sent(planned_end, now) || intervals_.enough();
            if (now - intervals_.start_ns() >= interval_ns) intervals_.hand_over(now);
            next_pulse = now < planned_end ? std::min(now + pulse_ns, planned_end) : now + short_pulse_ns;
            if (intervals_.start_ns() + interval_ns > now)
                next_pulse = std::min(next_pulse, intervals_.start_ns() + interval_ns);
            if (moved_ns >= looked_ns || !enough) silence_.begin(drain_silence);
            looked_ns = now;
            const auto over = silent_for_good(now - moved_ns, enough);
            if (!over.has_value()) return over.error();
            if (*over) break;
        }
        refused_last_ = pending_ && !is_counted_;
        // The message may have been sent nevertheless, so its number is not used again.
        if (refused_last_) ++next_index_;
        pending_.reset();
        const Nanoseconds end = now_ns();
        intervals_.close(end);
        return end - start;
    }

    bool all_sent(Nanoseconds end_ns, Nanoseconds now) const {
        return now >= end_ns && (sent_ == planned_ || now >= end_ns + catch_up_ns);
    }

    void begin(Nanoseconds start, Nanoseconds end) {
        schedule_ = Schedule{start, rate_per_s_};
        intervals_.begin(start);
        idle_turns_ = 0;
        planned_ = schedule_.due_before(end);
        first_index_ = next_index_;
        sent_ = answered_ = unreadable_ = corrupted_ = held_back_ = 0;
        faults_ = {};
        from_send_.clear();
        lateness_.clear();
        outstanding_.restart(next_index_);
        newest_.restart(next_index_);
    }

    /// Returns true if a message that was sent has no answer yet. An answer with an unreadable number counts as the
    /// answer to one of the messages. Over a reliable transport, a duplicate also counts as the answer to a message,
    /// because it can only belong to a message that is no longer remembered.
    bool awaited() const {
        const std::uint64_t forgotten = lossy() ? 0 : faults_.duplicated;
        return answered_ + unreadable_ + forgotten < sent_;
    }

    bool idle() const { return !awaited() && !pending_; }

    bool lossy() const { return side_.transport.reliability == Reliability::best_effort; }

    /// Returns true when all messages without an answer count as lost. Silence is measured only while this process
    /// looks for answers: if it was stopped for a while, answers may be waiting in the transport.
    Result<bool> silent_for_good(Nanoseconds silence_ns, bool all_sent) {
        if (lossy()) return all_sent && silence_.passed();
        if (silence_ns < to_nanoseconds(side_.limit())) return false;
        return Error{"take: no answer within the time limit"};
    }

    /// Waits if it can neither send nor take a message. Returns done if a message was sent or taken.
    Result<Done> step(bool enough, Nanoseconds next_pulse) {
        auto moved = enough ? take() : turn();
        if (is_not_yet_done(moved)) moved = rest(next_pulse);
        if (is_done(moved)) idle_turns_ = 0;
        return moved;
    }

    /// Returns not_yet if no message is due and no answer has arrived.
    Result<Done> turn() {
        const auto sent = send_if_due();
        if (!sent.has_value()) return sent.error();
        const auto taken = take();
        if (!taken.has_value()) return taken.error();
        return done_if(*sent == Done::yes || *taken == Done::yes);
    }

    /// Both sides may share one core, so each must let the other run. A side that has polled for long without success
    /// yields the core. A side that sleeps does so until an answer arrives or a message is due, but not beyond
    /// `limit_ns`. Returns done if an answer arrived.
    Result<Done> rest(Nanoseconds limit_ns) {
        const Waiting waiting = side_.options.waiting;
        if (waiting != Waiting::block && !polled_in_vain()) {
            spin_pause();
            return Done::not_yet;
        }
        if (sleeps(waiting)) return sleep(limit_ns);
        if (side_.yield() == Yield::yes) {
            ::sched_yield();
        } else {
            spin_pause();
        }
        return Done::not_yet;
    }

    bool polled_in_vain() {
        constexpr std::uint64_t turns_a_look = 32;  // reading the clock at each turn would add to the latencies
        if (++idle_turns_ % turns_a_look != 0) return idle_turns_ > turns_a_look && in_vain_;
        const Nanoseconds now = now_ns();
        if (idle_turns_ == turns_a_look) idle_since_ns_ = now;
        in_vain_ = now - idle_since_ns_ >= BusyPoll::spin_ns;
        return in_vain_;
    }

    Nanoseconds early_ns() const { return side_.options.waiting == Waiting::block ? 0 : polled_before_time_ns; }

    Result<Done> sleep(Nanoseconds limit_ns) {
        constexpr Nanoseconds until_room_ns = 100'000;  // there is no event for free space in a full transport
        const Nanoseconds now = now_ns();
        Nanoseconds until = limit_ns;
        if (pending_) until = std::min(until, now + until_room_ns);
        if (!pending_ && sent_ < planned_) until = std::min(until, schedule_.due_ns(sent_) - early_ns());
        if (until <= now) return Done::not_yet;
        return take(std::chrono::nanoseconds{until - now});
    }

    Result<Done> send_if_due() {
        if (!pending_) {
            if (sent_ == planned_) return Done::not_yet;
            const Nanoseconds due = schedule_.due_ns(sent_);
            if (now_ns() < due) return Done::not_yet;
            auto loan = channels_.publisher->loan(payload_bytes_);
            if (!loan) return loan.error();
            write_message(loan->bytes(), number_at(next_index_, instances_), side_.options.handling);
            pending_.emplace(std::move(*loan));
            pending_since_ns_ = now_ns();
            is_held_back_ = is_counted_ = false;
            outstanding_.sent(pending_since_ns_);
        }
        const auto handed_over = pending_->publish(Patience{0});
        if (!handed_over.has_value()) return handed_over.error();
        if (*handed_over == Done::not_yet) {
            // The transport is full. Answers must be taken meanwhile, because otherwise both sides would block.
            is_held_back_ = true;
            return Done::not_yet;
        }
        if (!is_counted_) count_sent();
        pending_.reset();
        return Done::yes;
    }

    /// Counts the pending message as sent. Called when the transport has accepted the message, or when the answer to
    /// the message has arrived.
    void count_sent() {
        is_counted_ = true;
        if (is_held_back_) ++held_back_;
        lateness_.record(static_cast<std::uint64_t>(pending_since_ns_ - schedule_.due_ns(sent_)));
        last_sent_ns_ = pending_since_ns_;
        if (sent_ == 0) first_sent_ns_ = last_sent_ns_;
        ++next_index_;
        ++sent_;
    }

    Result<Done> take(Patience patience = Patience{0}) {
        const auto sample = channels_.subscriber->take(patience);
        if (!sample) return sample.error();
        if (!*sample) return Done::not_yet;
        const auto message = read_answer((*sample)->bytes(), side_.options.handling);
        const Nanoseconds now = now_ns();
        if (!message.number) {
            ++corrupted_;
            ++unreadable_;
            return Done::yes;
        }
        const std::uint64_t index = index_of(*message.number, instances_);
        // This answer belongs to the previous phase: it is late, or a duplicate.
        if (index < first_index_) return Done::yes;
        if (message.corrupted) ++corrupted_;
        // If a transport waits until a broker confirms each message, the answer may arrive before the confirmation.
        if (pending_ && !is_counted_ && index == next_index_) count_sent();
        const auto answer = outstanding_.answered(index);
        if (answer.kind == Outstanding::Kind::again) ++faults_.duplicated;
        if (answer.kind != Outstanding::Kind::first) return Done::yes;
        ++answered_;
        if (!newest_.advance(*message.number)) ++faults_.reordered;
        intervals_.record(static_cast<std::uint64_t>(now - schedule_.due_ns(index - first_index_)));
        from_send_.record(static_cast<std::uint64_t>(now - answer.sent_ns));
        return Done::yes;
    }

    const Side& side_;
    Channels channels_;
    std::size_t payload_bytes_;
    std::size_t instances_;
    double rate_per_s_ = 0;
    Schedule schedule_;
    std::uint64_t planned_ = 0;
    std::uint64_t sent_ = 0;
    std::uint64_t first_index_ = 0;  ///< the first message of this phase, by its index among all messages
    std::uint64_t next_index_ = 0;   ///< of the next message, which may be pending
    Newest newest_;
    std::optional<Loan> pending_;  ///< a message that the transport has not accepted yet
    Nanoseconds pending_since_ns_ = 0;
    bool is_held_back_ = false;
    bool is_counted_ = false;  ///< the pending message already counts as sent
    std::uint64_t held_back_ = 0;
    bool refused_last_ = false;  ///< the transport never accepted the last message
    Nanoseconds first_sent_ns_ = 0;
    Nanoseconds last_sent_ns_ = 0;
    Outstanding outstanding_;
    std::uint64_t answered_ = 0;    ///< in this phase
    std::uint64_t unreadable_ = 0;  ///< answers with an unreadable number
    std::uint64_t idle_turns_ = 0;
    Nanoseconds idle_since_ns_ = 0;   ///< approximate
    bool in_vain_ = false;            ///< polling has had no success for a long time
    Silence silence_{drain_silence};  ///< used after the last message, if the transport is lossy
    std::uint64_t corrupted_ = 0;
    Faults faults_;
    LatencyIntervals intervals_;  ///< latencies, measured from the intended send time
    Histogram from_send_;
    Histogram lateness_;
};

inline Result<void> warm_up(const Side& side, Pacer& pacer, std::size_t payload_bytes, double rate_per_s) {
    SteadyRule rule{side.options.warmup_s};
    std::uint64_t messages = 0;
    const auto is_over = [&](const LatencyRecord& record) {
        messages += record.histogram.count();
        return rule.second_passed(median_of(record.histogram), messages, record.elapsed_ns);
    };
    const auto duration = pacer.phase(rate_per_s, rule.longest_ns(), nanoseconds_per_second, true, is_over);
    if (!duration) return duration.error();
    side.tell(Warmup{payload_bytes, pacer.sent(), *duration, rule.outcome(), std::nullopt});
    return {};
}

}  // namespace tacholog
