// The latency test without a rate: a closed loop with one outstanding message. Only the publisher's clock is used. It
// is read once per round trip, because the end of one round trip is the start of the next.
#include <algorithm>
#include <atomic>

#include "base/instances.hpp"
#include "rig/latency_intervals.hpp"
#include "rig/side.hpp"
#include "rig/steady.hpp"
#include "rig/unanswered.hpp"

namespace tacholog {
namespace {

/// The default for a transport that may lose messages. It is much longer than any real round trip: 0.2 s, plus the time
/// that the message takes there and back at 25 MB/s.
Patience answer_limit(const Options& options, std::size_t payload_bytes) {
    if (options.answer_limit_s) return Patience{*options.answer_limit_s * 1000};
    return std::min(limit_of(options), Patience{200 + 2 * static_cast<Patience::rep>(payload_bytes / 25'000)});
}

class Pinger {
public:
    Pinger(const Side& side, Channels channels, std::size_t payload_bytes)
        : side_(side),
          channels_(std::move(channels)),
          payload_bytes_(payload_bytes),
          lossy_(side.transport.reliability == Reliability::best_effort),
          answer_limit_(answer_limit(side.options, payload_bytes)),
          late_from_ns_(to_nanoseconds(answer_limit_)),
          has_short_limit_(lossy_ && answer_limit_ < slice),
          intervals_(side.intervals(most_histograms_kept)),
          numbers_(instances_of(side)),
          newest_(instances_of(side)) {}

    Result<void> run() {
        const MonitorGuard guard{*side_.monitor};
        if (auto done = warm_up(); !done) return done;
        if (auto done = measure(); !done) return done;
        return finish();
    }

private:
    enum class Outcome { came, lost, unreadable };

    /// Makes round trips for the time `longest_ns`, or until the caller has enough intervals. Returns the duration of
    /// all these round trips. The last interval is not handed over, but stays in the current record.
    Result<Nanoseconds> loop(Nanoseconds longest_ns, Nanoseconds interval_ns) {
        const Nanoseconds start_ns = now_ns();
        const Nanoseconds end_ns = start_ns + longest_ns;
        Nanoseconds next_pulse_ns = start_ns;
        sent_ns_ = start_ns;
        intervals_.begin(start_ns);
        while (sent_ns_ < end_ns && !intervals_.enough()) {
            const auto answer = round_trip();
            if (!answer.has_value()) return answer.error();
            const Nanoseconds now = now_ns();
            const Nanoseconds round_trip_ns = now - sent_ns_;
            count(*answer, round_trip_ns);
            sent_ns_ = now;
            if (now < next_pulse_ns && now < end_ns) [[likely]]
                continue;

            // Late answers are counted only here, because a comparison in each round trip would take 20 ns of 340 ns.
            // No late answer is missed: the next pulse follows within the limit, so a round trip that exceeds the limit
            // always ends here.
            if (*answer == Outcome::came && round_trip_ns > late_from_ns_) ++late_;
            if (auto fine = side_.monitor->fine(); !fine) return fine.error();
            if (now >= intervals_.start_ns() + interval_ns && now < end_ns) intervals_.hand_over(now);
            next_pulse_ns = now + std::min(pulse_ns, late_from_ns_);
            if (intervals_.start_ns() + interval_ns > now)
                next_pulse_ns = std::min(next_pulse_ns, intervals_.start_ns() + interval_ns);
            sent_ns_ = now_ns();  // the time of the work above does not belong to a round trip
        }
        const Nanoseconds last_ns = sent_ns_;
        if (auto drained = take_late(); !drained) return drained.error();
        intervals_.close(last_ns);
        return last_ns - start_ns;
    }

    void count(Outcome answer, Nanoseconds round_trip_ns) {
        if (answer == Outcome::came) intervals_.record(static_cast<std::uint64_t>(round_trip_ns));
    }

    /// Takes the answers that came after the answer limit, until nothing has arrived for some time. They were late, not
    /// lost.
    Result<void> take_late() {
        if (!measured_) return {};
        Silence silence{late_silence};  // does not count the time in which this process was stopped
        while (!unanswered_.empty() && !silence.passed()) {
            const auto answer = take_answer();
            if (!answer) return answer.error();
            if (*answer) {
                // If the number of the answer cannot be read, the answer counts as one of the missing answers.
                if (const auto number = (*answer)->number; !number)
                    unanswered_.answered_unreadably();
                else
                    count_late(*number);
                silence.begin(late_silence);
            }
            if (auto fine = side_.monitor->fine(); !fine) return fine;
        }
        return {};
    }

    /// Runs one phase and returns its duration. The function `found` is called with each interval. It returns true if
    /// the phase needs no further intervals.
    template <typename Found>
    Result<Nanoseconds> phase(Nanoseconds longest_ns, Nanoseconds interval_ns, bool live, Found&& found) {
        newest_.restart(numbers_.count());
        first_index_ = numbers_.count();
        unanswered_.clear();
        faults_ = {};
        late_ = corrupted_ = 0;
        return intervals_.phase(*side_.monitor, live, [&] { return loop(longest_ns, interval_ns); }, found);
    }

    Result<void> warm_up() {
        SteadyRule rule{side_.options.warmup_s};
        std::uint64_t messages = 0;
        const auto duration = phase(rule.longest_ns(), nanoseconds_per_second, true, [&](const LatencyRecord& record) {
            messages += record.histogram.count();
            return rule.second_passed(median_of(record.histogram), messages, record.elapsed_ns);
        });
        if (!duration) return duration.error();
        side_.tell(Warmup{payload_bytes_, messages, *duration, rule.outcome(), std::nullopt});
        return {};
    }

    Result<void> measure() {
        std::uint64_t index = 0;
        measured_ = true;
        const auto duration =
            phase(to_nanoseconds(side_.options.duration_s), intervals_.length_ns(), side_.placement.live,
                  [&](const LatencyRecord& record) {
                      side_.tell(LatencyInterval{payload_bytes_, index++, record.duration_ns, &record.histogram});
                      total_.merge(record.histogram);
                      return false;
                  });
        if (!duration) return duration.error();
        duration_ns_ = *duration;
        return {};
    }

    Result<void> finish() {
        if (const auto ended = end_of_size(side_); !ended) return ended;
        faults_.lost = unanswered_.lost();
        faults_.duplicated += unanswered_.duplicated();
        faults_.corrupted = known_corrupted(side_.options.handling, corrupted_);
        LatencyResult result{payload_bytes_, faults_, duration_ns_, &total_, heard(side_, newest_.heard())};
        if (lossy_) result.answer_limit = AnswerLimit{to_nanoseconds(answer_limit_), late_};
        side_.tell(result);
        tell_omission();
        if (total_.count() == 0) {
            side_.tell(Failure{payload_bytes_, "latency over " + std::string{side_.transport.name} + ": none of " +
                                                   std::to_string(faults_.lost) + " messages was answered"});
        }
        return {};
    }

    /// Coordinated omission: a closed loop sends nothing while it waits, so a stall is only one slow round trip. A
    /// schedule would have sent many messages in that time.
    void tell_omission() const {
        const auto percent = static_cast<int>(100 * total_.share_of_largest());
        if (percent < 1) return;
        side_.tell(Note{"coordinated omission: " + std::to_string(payload_bytes_) + " bytes: " +
                        std::to_string(percent) + " % of the time went into the slowest 0.1 % of the round trips, " +
                        "where a schedule would have sent more messages: --rate measures those"});
    }

    Result<Outcome> round_trip() {
        const std::uint64_t number = numbers_.next();
        {
            auto loan = channels_.publisher->loan(payload_bytes_);
            if (!loan) return loan.error();
            write_message(loan->bytes(), number, side_.options.handling);
            if (auto sent = publish(side_, std::move(*loan)); !sent) return sent.error();
        }
        if (has_short_limit_) [[unlikely]]
            return wait_shortly(number);
        // In nearly all round trips, the answer is already there and intact. Then it is only compared with the expected
        // answer, so the processor need not wait for the check of the header.
        std::optional<ReadMessage> other;
        {
            const auto sample = channels_.subscriber->take(slice);
            if (!sample) return sample.error();
            if (*sample) {
                const auto answer = read_message((*sample)->bytes(), side_.options.handling);
                if (answer.intact && answer.number == number) [[likely]]
                    return came(number);
                other = answer;
            }
        }
        return wait_longer(number, other ? noted(*other) : std::nullopt);
    }

    /// Called if the answer was not there at once. The time waited so far is part of the limit.
    [[gnu::noinline]] Result<Outcome> wait_longer(std::uint64_t number, Result<std::optional<Answer>> answer) {
        const Patience waited = answer && *answer ? Patience{0} : slice;
        return wait_out(number, std::move(answer), waited);
    }

    [[gnu::noinline]] Result<Outcome> wait_shortly(std::uint64_t number) {
        return wait_out(number, std::optional<Answer>{}, Patience{0});
    }

    Result<Outcome> wait_out(std::uint64_t number, Result<std::optional<Answer>> answer, Patience waited) {
        const Deadline deadline{lossy_ ? answer_limit_ - waited : side_.limit()};
        bool is_last_look = false;  // the last attempt does not wait: it takes only what has arrived
        while (true) {
            if (!answer) return answer.error();
            if (*answer && (*answer)->number == number) return came(number);
            // An answer with an unreadable number counts as the awaited answer, but not as a sample.
            if (*answer && !(*answer)->number) return Outcome::unreadable;
            if (*answer) {
                count_late(*(*answer)->number);
            } else if (auto fine = side_.monitor->fine(); !fine) {
                return fine.error();
            }
            if (deadline.passed()) {
                if (!lossy_) return Error{"take: no answer within the time limit"};
                // If this process was stopped for a while, the answer may have arrived in that time. So there is one
                // more attempt before the answer counts as lost.
                if (is_last_look) return lost(number);
                is_last_look = true;
            }
            answer = take_answer(is_last_look ? Patience{0} : std::min(slice, deadline.left()));
        }
    }

    /// Returns nothing if no answer arrives within `patience`.
    Result<std::optional<Answer>> take_answer(Patience patience = slice) {
        const auto sample = channels_.subscriber->take(patience);
        if (!sample) return sample.error();
        if (!*sample) return std::optional<Answer>{};
        return noted(read_message((*sample)->bytes(), side_.options.handling));
    }

    std::optional<Answer> noted(const ReadMessage& message) {
        const Answer answer = as_answer(message);
        if (answer.corrupted) ++corrupted_;
        return answer;
    }

    Outcome came(std::uint64_t number) {
        newest_.advance(number);
        return Outcome::came;
    }

    Outcome lost(std::uint64_t number) {
        unanswered_.add(index_of(number, instances_of(side_)), sent_ns_);
        return Outcome::lost;
    }

    // A late answer also counts as reordered if a later answer of the same instance has overtaken it.
    void count_late(std::uint64_t number) {
        const std::uint64_t index = index_of(number, instances_of(side_));
        if (index < first_index_) return;  // this answer belongs to the warm-up
        const auto sent_ns = unanswered_.answered(index);
        if (!sent_ns) {
            ++faults_.duplicated;
            return;
        }
        if (!newest_.advance(number)) ++faults_.reordered;
        ++late_;
        count(Outcome::came, now_ns() - *sent_ns);
    }

    /// After the last message, late answers are taken until nothing has arrived for this time.
    static constexpr Patience late_silence{1000};

    const Side& side_;
    Channels channels_;
    std::size_t payload_bytes_;
    bool lossy_;
    Patience answer_limit_;     ///< only for transports that may lose messages
    Nanoseconds late_from_ns_;  ///< a slower round trip counts as late; only for transports that may lose messages
    bool has_short_limit_;      ///< the answer limit is shorter than `slice`, the usual wait at the transport
    LatencyIntervals intervals_;
    bool measured_ = false;  ///< false during the warm-up
    InTurn numbers_;
    Newest newest_;                  ///< the newest answered message of each instance
    std::uint64_t first_index_ = 0;  ///< counted over all phases
    Nanoseconds sent_ns_ = 0;
    std::uint64_t corrupted_ = 0;
    std::uint64_t late_ = 0;
    UnansweredMessages unanswered_;
    Faults faults_;
    Histogram total_;
    Nanoseconds duration_ns_ = 0;
};

/// Sends every message back. It need not count late or duplicate messages, because the publisher sees them in the
/// answers.
class Ponger {
public:
    Ponger(const Side& side, Channels channels) : side_(side), channels_(std::move(channels)) {}

    Result<void> run() {
        const MonitorGuard guard{*side_.monitor};
        const auto hear = [this](const Frame& frame, std::size_t) -> Result<void> {
            if (frame.kind == FrameKind::size_end) ended_.store(true, std::memory_order_release);
            const bool is_due = frame.kind == FrameKind::size_end || frame.kind == FrameKind::alive;
            return is_due ? Result<void>{} : out_of_step(side_.control);
        };
        side_.monitor->begin({hear, nullptr, false, false});
        Deadline silence{side_.limit()};
        std::uint64_t frames = 0;
        bool came = false;
        while (!ended_.load(std::memory_order_acquire)) {
            const auto echoed = echo();
            if (!echoed.has_value()) return echoed.error();
            if (auto fine = side_.monitor->fine(); !fine) return fine;
            came = came || *echoed;
            if (*echoed) [[likely]]
                continue;
            if (const auto now = side_.monitor->frames(); std::exchange(came, false) || now != frames) {
                frames = now;
                silence = Deadline{side_.limit()};
            }
            if (silence.passed()) return Error{"take: nothing from the publisher within the time limit"};
        }
        side_.monitor->end();
        return side_.control.send({FrameKind::size_end});
    }

private:
    Result<bool> echo() {
        auto ping = channels_.subscriber->take(slice);
        if (!ping) return ping.error();
        if (!*ping) return false;
        const auto message = read_message((*ping)->bytes(), side_.options.handling);
        const std::size_t bytes = (*ping)->bytes().size();
        auto loan = channels_.publisher->loan(bytes);
        if (!loan) return loan.error();
        write_message(loan->bytes(), number_of_answer_to(message), side_.options.handling);
        if (auto sent = publish(side_, std::move(*loan)); !sent) return sent.error();
        return true;
    }

    const Side& side_;
    Channels channels_;
    std::atomic<bool> ended_{false};  ///< the publisher has finished this payload size
};

}  // namespace

Result<void> run_latency_publisher(const Side& side, const Case& measured) {
    if (side.options.test == Test::sustain) return run_sustain_publisher(side, measured);
    if (side.options.basis == Basis::one_way) return run_one_way_publisher(side, measured);
    if (side.options.rate_per_s) return run_open_loop_publisher(side, measured);
    auto channels = open_channels_as_publisher(side, measured);
    if (!channels) return channels.error();
    return Pinger{side, std::move(*channels), measured.payload_bytes}.run();
}

Result<void> run_latency_subscriber(const Side& side, const Frame& open) {
    if (side.options.basis == Basis::one_way) return run_one_way_subscriber(side, open);
    auto channels = open_channels_as_subscriber(side, open);
    if (!channels) return channels.error();
    return Ponger{side, std::move(*channels)}.run();
}

}  // namespace tacholog
