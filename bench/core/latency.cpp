// The latency test without a rate: a closed loop with one message outstanding. The publisher's clock alone times it,
// read once a round trip: the end of one is the beginning of the next.
#include <algorithm>

#include "core/instances.hpp"
#include "core/side.hpp"
#include "core/steady.hpp"

namespace tacholog {
namespace {

/// How long the publisher waits for one answer over a transport that may lose it: long beside any answer that comes, at
/// 25 MB/s even that to a message of 32 MiB, which takes its time both ways.
Patience answer_limit(std::size_t payload_bytes) {
    return Patience{200 + 2 * static_cast<Patience::rep>(payload_bytes / 25'000)};
}

class Pinger {
public:
    Pinger(const Side& side, Channels channels, std::size_t payload_bytes)
        : side_(side),
          channels_(std::move(channels)),
          payload_bytes_(payload_bytes),
          numbers_(instances_of(side)),
          newest_(instances_of(side)) {}

    Result<void> run() {
        if (auto done = warm_up(); !done) return done;
        if (auto done = measure(); !done) return done;
        return finish();
    }

private:
    enum class Outcome { came, lost, unreadable };

    // Runs round trips until `end_ns`, or until `at_second` says that it is enough. `at_second` sees interval_.
    template <typename AtSecond>
    Result<Nanoseconds> loop(Nanoseconds start_ns, Nanoseconds end_ns, AtSecond&& at_second) {
        Nanoseconds last_ns = start_ns;
        Nanoseconds second_ns = start_ns;
        Nanoseconds next_pulse_ns = start_ns;
        while (last_ns < end_ns) {
            const auto answer = round_trip();
            if (!answer) return answer.error();
            const Nanoseconds now = now_ns();
            count(*answer, now - last_ns);
            last_ns = now;
            if (now < next_pulse_ns && now < end_ns) [[likely]]
                continue;

            next_pulse_ns = now + pulse_ns;
            if (const auto frame = side_.control.poll(); !frame) return frame.error();
            if (now >= second_ns + nanoseconds_per_second || now >= end_ns) {
                const bool enough = at_second(now - second_ns, now - start_ns);
                if (const auto sent = side_.control.send({FrameKind::alive}); !sent) return sent.error();
                interval_.clear();
                second_ns = now;
                if (enough) return now;
            }
            last_ns = now_ns();  // what was done since is no part of a round trip
            next_pulse_ns = std::min(next_pulse_ns, second_ns + nanoseconds_per_second);
        }
        return last_ns;
    }

    void count(Outcome answer, Nanoseconds round_trip_ns) {
        if (answer == Outcome::came) {
            last_round_trip_ns_ = static_cast<std::uint64_t>(round_trip_ns);
            interval_.record(last_round_trip_ns_);
        } else if (answer == Outcome::lost) {
            ++faults_.lost;
        }
    }

    Result<void> warm_up() {
        SteadyRule rule{side_.options.warmup_s};
        std::uint64_t messages = 0;
        const Nanoseconds start = now_ns();
        const auto end = loop(start, start + rule.longest_ns(), [&](Nanoseconds, Nanoseconds elapsed) {
            messages += interval_.count();
            const auto median = interval_.count() > 0 ? interval_.value_at_rank((interval_.count() + 1) / 2) : 0;
            return rule.second_passed(static_cast<double>(median), messages, elapsed);
        });
        if (!end) return end.error();
        side_.tell(Warmup{payload_bytes_, messages, *end - start, rule.outcome(), std::nullopt});
        faults_ = {};
        corrupted_ = 0;
        return {};
    }

    Result<void> measure() {
        std::uint64_t index = 0;
        newest_.restart(numbers_.count());
        const Nanoseconds start = now_ns();
        const Nanoseconds planned = to_nanoseconds(side_.options.duration_s);
        const auto end = loop(start, start + planned, [&](Nanoseconds duration, Nanoseconds) {
            side_.tell(LatencyInterval{payload_bytes_, index++, duration, &interval_, last_round_trip_ns_});
            total_.merge(interval_);
            return false;
        });
        if (!end) return end.error();
        duration_ns_ = *end - start;
        return {};
    }

    Result<void> finish() {
        if (const auto ended = end_of_size(side_); !ended) return ended;
        faults_.corrupted = known_corrupted(side_.options.handling, corrupted_);
        side_.tell(LatencyResult{payload_bytes_, faults_, duration_ns_, &total_, heard(side_, newest_.heard())});
        tell_omission();
        if (total_.count() == 0) {
            side_.tell(Failure{payload_bytes_, "latency over " + std::string{side_.transport.name} + ": none of " +
                                                   std::to_string(faults_.lost) + " messages was answered"});
        }
        return {};
    }

    /// A closed loop sends nothing while it waits: a stall is one slow round trip, however many messages a schedule
    /// would have sent into it.
    void tell_omission() const {
        const auto tail = total_.percentile_ns(999'000);
        if (!tail) return;
        const double all_ns = total_.mean_ns() * static_cast<double>(total_.count());
        double fast_ns = 0;
        for (const auto& bin : total_.bins()) {
            const double middle_ns = (static_cast<double>(bin.lower_ns) + static_cast<double>(bin.upper_ns)) / 2;
            if (bin.upper_ns <= *tail) fast_ns += middle_ns * static_cast<double>(bin.count);
        }
        const auto percent = static_cast<int>(100 * (all_ns - fast_ns) / all_ns);
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
            if (auto sent = publish(side_, std::move(*loan), [](const Frame&, std::size_t) {}); !sent)
                return sent.error();
        }
        const auto answer = take_answer();
        if (answer && *answer && (*answer)->number == number) [[likely]]
            return came(number);
        return wait_longer(number, answer);
    }

    /// The answer has not come at once, or something else has.
    Result<Outcome> wait_longer(std::uint64_t number, Result<std::optional<Answer>> answer) {
        const bool lossy = side_.transport.reliability == Reliability::best_effort;
        const Deadline deadline{lossy ? std::min(answer_limit(payload_bytes_), side_.limit()) : side_.limit()};
        while (true) {
            if (!answer) return answer.error();
            if (*answer && (*answer)->number == number) return came(number);
            // One that cannot be told from others is taken for the one that is awaited, and is no sample.
            if (*answer && !(*answer)->number) return Outcome::unreadable;
            if (*answer) {
                count_late(*(*answer)->number);
            } else if (const auto frame = side_.control.poll(); !frame) {
                return frame.error();
            }
            if (deadline.passed()) {
                if (lossy) return lost(number);
                return Error{"take: no answer within the time limit"};
            }
            answer = take_answer();
        }
    }

    /// The answer that comes next, if one comes.
    Result<std::optional<Answer>> take_answer() {
        const auto sample = channels_.subscriber->take(slice);
        if (!sample) return sample.error();
        if (!*sample) return std::optional<Answer>{};
        const auto answer = read_answer((*sample)->bytes(), side_.options.handling);
        if (answer.corrupted) ++corrupted_;
        return std::optional{answer};
    }

    Outcome came(std::uint64_t number) {
        newest_.advance(number);
        return Outcome::came;
    }

    Outcome lost(std::uint64_t number) {
        given_up_.push_back(number);
        return Outcome::lost;
    }

    // An answer to an earlier message: it was counted as lost and comes too late, or it has been here before. Out of
    // order is what another of its instance has overtaken.
    void count_late(std::uint64_t number) {
        const auto found = std::find(given_up_.begin(), given_up_.end(), number);
        if (found == given_up_.end()) {
            ++faults_.duplicated;
        } else {
            if (!newest_.advance(number)) ++faults_.reordered;
            given_up_.erase(found);
        }
    }

    const Side& side_;
    Channels channels_;
    std::size_t payload_bytes_;
    InTurn numbers_;
    Newest newest_;  ///< of those that were answered
    std::uint64_t corrupted_ = 0;
    std::uint64_t last_round_trip_ns_ = 0;
    std::vector<std::uint64_t> given_up_;
    Faults faults_;
    Histogram interval_;
    Histogram total_;
    Nanoseconds duration_ns_ = 0;
};

/// How many messages go by between two looks at the control channel. A look is a system call, and so a blip in
/// somebody's round trip, and reading the clock for each message would be one too: the number follows from how long the
/// last ones took. What a message costs is not known from its size: it need not be copied, nor touched.
class LooksAtControl {
public:
    bool due() { return --left_ == 0; }

    void looked(bool messages_came) {
        const Nanoseconds now = now_ns();
        if (messages_came && now - last_ns_ < pulse_ns / 2) messages_ = std::min(2 * messages_, most_messages);
        if (messages_came && now - last_ns_ > pulse_ns) messages_ = std::max<std::size_t>(messages_ / 2, 1);
        left_ = messages_;
        last_ns_ = now;
    }

private:
    static constexpr std::size_t most_messages = 50'000;

    std::size_t messages_ = 1;
    std::size_t left_ = 1;
    Nanoseconds last_ns_ = now_ns();
};

/// Sends every new message back, with a payload of its own.
class Ponger {
public:
    Ponger(const Side& side, Channels channels)
        : side_(side), channels_(std::move(channels)), newest_(instances_of(side)) {}

    Result<void> run() {
        Deadline silence{side_.limit()};
        LooksAtControl looks;
        while (true) {
            const auto echoed = echo();
            if (!echoed) return echoed.error();
            if (*echoed && !looks.due()) [[likely]]
                continue;
            looks.looked(*echoed);
            const auto frame = side_.control.poll();
            if (!frame) return frame.error();
            if (is_end(*frame)) break;
            if (*echoed || *frame) silence = Deadline{side_.limit()};
            if (silence.passed()) return Error{"take: nothing from the publisher within the time limit"};
        }
        return side_.control.send({FrameKind::size_end});
    }

private:
    static bool is_end(const std::optional<Frame>& frame) { return frame && frame->kind == FrameKind::size_end; }

    Result<bool> echo() {
        auto ping = channels_.subscriber->take(slice);
        if (!ping) return ping.error();
        if (!*ping) return false;
        const auto message = read_message((*ping)->bytes(), side_.options.handling);
        const std::size_t bytes = (*ping)->bytes().size();
        // A duplicate, or late: in a closed loop nobody waits for its answer any more.
        if (message.identified && !newest_.advance(message.number) && !side_.options.rate_per_s) return true;
        auto loan = channels_.publisher->loan(bytes);
        if (!loan) return loan.error();
        write_message(loan->bytes(), number_of_answer_to(message), side_.options.handling);
        if (auto sent = publish(side_, std::move(*loan), [](const Frame&, std::size_t) {}); !sent) return sent.error();
        return true;
    }

    const Side& side_;
    Channels channels_;
    Newest newest_;
};

}  // namespace

Result<void> run_latency_publisher(const Side& side, const Case& measured) {
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
