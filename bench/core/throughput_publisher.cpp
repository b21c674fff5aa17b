// The throughput and the demand test at the publisher: a stream, as fast as the transport takes it, on an absolute
// schedule, or in bursts. What arrives is counted by the subscribers, which send their counts over the control channel.
#include <algorithm>
#include <numeric>

#include "core/bursts.hpp"
#include "core/instances.hpp"
#include "core/probes.hpp"
#include "core/side.hpp"
#include "core/steady.hpp"
#include "core/waiting.hpp"

namespace tacholog {
namespace {

/// What one phase (warm-up, measurement) sent.
struct Sent {
    std::uint64_t messages = 0;
    Nanoseconds duration_ns = 0;
};

/// What one subscriber found in one phase, as its `phase_done` says.
struct Counted {
    std::uint64_t received = 0;
    Faults faults;
    Nanoseconds duration_ns = 0;
    std::optional<Instances> instances;

    Counted(const Frame& frame, const Options& options, std::optional<std::uint64_t> dropped)
        : received(frame.number(0)),
          faults{frame.number(1), frame.number(2), frame.number(3), std::nullopt, dropped},
          duration_ns(static_cast<Nanoseconds>(frame.number(5))) {
        if (options.handling.verify) faults.corrupted = frame.number(4);
        if (options.instances) instances = {*options.instances, frame.number(6)};
    }
};

/// What all subscribers found, taken together.
Aggregate sum_of(const std::vector<Counted>& all) {
    Aggregate sum;
    sum.subscribers = all.size();
    sum.faults = {0, 0, 0, all.front().faults.corrupted ? std::optional<std::uint64_t>{0} : std::nullopt,
                  all.front().faults.dropped ? std::optional<std::uint64_t>{0} : std::nullopt};
    std::vector<double> rates;
    for (const Counted& one : all) {
        sum.received += one.received;
        sum.faults.lost += one.faults.lost;
        sum.faults.duplicated += one.faults.duplicated;
        sum.faults.reordered += one.faults.reordered;
        if (sum.faults.corrupted) *sum.faults.corrupted += one.faults.corrupted.value_or(0);
        if (sum.faults.dropped) *sum.faults.dropped += one.faults.dropped.value_or(0);
        if (const auto rate = per_second(one.received, one.duration_ns)) rates.push_back(*rate);
    }
    if (rates.size() < all.size()) return sum;
    sum.slowest_rate_per_s = *std::min_element(rates.begin(), rates.end());
    sum.total_rate_per_s = std::accumulate(rates.begin(), rates.end(), 0.0);
    return sum;
}

/// The subscribers may have to wait out a silence to be sure that nothing more comes.
constexpr Patience drain_allowance{5000};

class Streamer {
public:
    Streamer(const Side& side, Channels channels, const Case& measured)
        : side_(side),
          channels_(std::move(channels)),
          payload_bytes_(measured.payload_bytes),
          demand_(measured.demand),
          messages_a_look_(std::clamp<std::size_t>(bytes_a_look / payload_bytes_, 1, most_messages_a_look)),
          batches_(batches_of(side.options, payload_bytes_)),
          numbers_(side.options.instances.value_or(1)),
          probes_(side, channels_.subscriber.get()) {
        if (side.options.rate_per_s) {
            interval_ns_ = static_cast<double>(nanoseconds_per_second) / *side.options.rate_per_s;
        }
    }

    Result<void> run() {
        if (auto done = warm_up(); !done) return done;
        return measure();
    }

private:
    // A look at the clock costs as much as copying a small message.
    static constexpr std::size_t bytes_a_look = 16384;
    static constexpr std::size_t most_messages_a_look = 64;

    Result<void> warm_up() {
        SteadyRule rule{side_.options.warmup_s};
        std::uint64_t before = 0;
        const auto sent =
            stream(rule.longest_ns(), [&](std::uint64_t messages, Nanoseconds second, Nanoseconds elapsed) {
                const double rate = static_cast<double>(messages - before) * 1e9 / static_cast<double>(second);
                before = messages;
                return rule.second_passed(rate, messages, elapsed);
            });
        if (!sent) return sent.error();
        if (auto done = end_phase(); !done) return done.error();
        side_.tell(Warmup{payload_bytes_, sent->messages, sent->duration_ns, rule.outcome(), demand_});
        return {};
    }

    Result<void> measure() {
        measuring_ = true;
        const auto dropped_before = dropped();
        const auto sent = stream(to_nanoseconds(side_.options.duration_s),
                                 [](std::uint64_t, Nanoseconds, Nanoseconds) { return false; });
        if (!sent) return sent.error();
        const auto done = end_phase();
        if (!done) return done.error();
        batches_.by = channels_.publisher->batched_by();
        const auto dropped_after = dropped();
        std::vector<Counted> all;
        for (std::size_t at = 0; at < done->size(); ++at) {
            std::optional<std::uint64_t> lost_to_slowness;
            if (leaves_behind()) lost_to_slowness = dropped_after[at] - dropped_before[at];
            all.emplace_back((*done)[at], side_.options, lost_to_slowness);
            report(*sent, all.back(), side_.participant(at));
        }
        if (all.size() > 1) report_all(*sent, all);
        report_probes(*sent);
        if (!demand_) check_rate(offered(*sent));
        return {};
    }

    bool leaves_behind() const { return side_.options.audience.slow == SlowSubscriber::drop; }

    std::vector<std::uint64_t> dropped() const {
        std::vector<std::uint64_t> counts;
        for (std::size_t at = 0; at < side_.subscribers.size(); ++at)
            counts.push_back(channels_.publisher->dropped(at));
        return counts;
    }

    static std::optional<double> offered(const Sent& sent) { return per_second(sent.messages, sent.duration_ns); }

    void report(const Sent& sent, const Counted& counted, const std::string& participant) {
        if (demand_) {
            side_.tell(DemandResult{payload_bytes_, *demand_, sent.messages, counted.received, counted.faults,
                                    sent.duration_ns, counted.duration_ns, participant, counted.instances, batches_});
        } else {
            side_.tell(ThroughputResult{payload_bytes_, sent.messages, counted.received, counted.faults,
                                        counted.duration_ns, offered(sent), participant, counted.instances, batches_});
        }
        if (counted.received > 0) return;
        const std::string test{to_text(side_.options.test)};
        side_.tell(Failure{payload_bytes_, test + " over " + std::string{side_.transport.name} + ": none of " +
                                               std::to_string(sent.messages) + " messages arrived" +
                                               (participant.empty() ? "" : " at " + participant)});
    }

    void report_all(const Sent& sent, const std::vector<Counted>& all) {
        Aggregate sum = sum_of(all);
        sum.measured = {payload_bytes_, demand_};
        sum.sent = sent.messages;
        sum.offered_rate_per_s = offered(sent);
        sum.batches = batches_;
        side_.tell(sum);
    }

    void report_probes(const Sent& sent) {
        if (!probes_.active()) return;
        const std::string size = std::to_string(payload_bytes_) + " bytes";
        if (probes_.count() == 0) return side_.tell(Note{"probes: " + size + ": too few messages for one"});
        side_.tell(LatencyResult{payload_bytes_, probes_.faults(), sent.duration_ns, &probes_.round_trips()});
        if (probes_.round_trips().count() > 0) return;
        side_.tell(Failure{payload_bytes_, "throughput over " + std::string{side_.transport.name} + ": none of " +
                                               std::to_string(probes_.count()) + " probes was answered"});
    }

    void check_rate(std::optional<double> offered) {
        const auto wanted = side_.options.rate_per_s;
        if (wanted && offered && *offered < 0.999 * *wanted) {
            side_.tell(Note{"generator limited: the publisher offered less than 99.9 % of the rate asked for"});
        }
    }

    /// Tells the subscribers that this phase is sent, and waits for their counts.
    Result<std::vector<Frame>> end_phase() {
        const auto heard = [this](const Frame& frame, std::size_t who) { arrived(frame, who); };
        if (auto drained = probes_.drain(heard); !drained) return drained.error();
        if (const auto sent = side_.tell_all({FrameKind::phase_end, {numbers_.count()}}); !sent) return sent.error();
        std::vector<Frame> counts(side_.subscribers.size());
        const Deadline deadline{side_.limit() + drain_allowance};
        while (true) {
            // All that owe something are listened to at once: one that dies now may be what another waits for.
            std::optional<std::size_t> owing;
            for (std::size_t who = 0; who < counts.size(); ++who) {
                if (counts[who].kind == FrameKind::phase_done) continue;
                owing = who;
                auto frame = side_.subscribers[who].poll();
                if (!frame) return frame.error();
                if (*frame) take_counts(std::move(**frame), who, counts);
            }
            if (!owing) return counts;
            if (deadline.passed()) return side_.no_answer(*owing);
            const timespec pause{0, 500'000};
            ::nanosleep(&pause, nullptr);
        }
    }

    void take_counts(Frame frame, std::size_t who, std::vector<Frame>& counts) {
        if (frame.kind != FrameKind::phase_done) return arrived(frame, who);
        counts[who] = std::move(frame);
    }

    /// Sends for `longest_ns`, or until `at_second(messages, this second's ns, elapsed ns)` says that it is enough.
    template <typename AtSecond>
    Result<Sent> stream(Nanoseconds longest_ns, AtSecond&& at_second) {
        Sent sent;
        Bursts bursts{demand_.value_or(Demand{})};
        probes_.begin(numbers_.count());
        const Nanoseconds start = now_ns();
        Nanoseconds now = start;
        Nanoseconds second = start;
        Nanoseconds next_pulse = start + pulse_ns;
        while (now - start < longest_ns || bursts.unfinished()) {
            const Schedule schedule{start, std::min(start + longest_ns, next_pulse)};
            const auto count = send_next(schedule, sent.messages, bursts);
            if (!count) return count.error();
            sent.messages += *count;
            if (auto taken = probes_.take_all(); !taken) return taken.error();
            now = now_ns();
            if (now < next_pulse) [[likely]]
                continue;
            next_pulse = now + pulse_ns;
            if (auto fine = pulse(); !fine) return fine.error();
            if (now - second < nanoseconds_per_second) continue;
            if (auto sent_alive = side_.tell_all({FrameKind::alive}); !sent_alive) return sent_alive.error();
            const bool enough = at_second(sent.messages, now - second, now - start);
            second = now;
            if (enough) break;
        }
        if (auto done = flush_batch(); !done) return done.error();
        now = now_ns();
        // The rest behind the last burst is no part of sending.
        const bool rested = demand_ && sent.messages > 0 && !bursts.unfinished();
        sent.duration_ns = (rested ? bursts.end_ns() : now) - start;
        return sent;
    }

    struct Schedule {
        Nanoseconds start;
        Nanoseconds limit;  ///< until when a wait may last
    };

    /// Sends what is due next; or waits, and sends nothing if the limit came first.
    Result<std::size_t> send_next(const Schedule& schedule, std::uint64_t index, Bursts& bursts) {
        if (demand_) return send_of_burst(bursts, schedule.limit);
        return interval_ns_ > 0 ? send_if_due(schedule.start, index, schedule.limit) : send_some(messages_a_look_);
    }

    /// No more than go between two looks at the clock.
    Result<std::size_t> send_some(std::size_t messages) {
        for (std::size_t count = 0; count < messages; ++count) {
            if (auto done = send_one(); !done) return done.error();
        }
        return messages;
    }

    Result<std::size_t> send_of_burst(Bursts& bursts, Nanoseconds limit) {
        const std::uint64_t due = bursts.due(now_ns());
        if (due == 0) {
            sleep_until(std::min(bursts.next_ns(), limit));
            return std::size_t{0};
        }
        const auto sent = send_some(std::min<std::uint64_t>(due, messages_a_look_));
        if (!sent) return sent;
        if (*sent == due) {  // the burst is at its end: what it holds back would wait for the next one
            if (auto done = flush_batch(); !done) return done.error();
        }
        bursts.sent(*sent, now_ns());
        return sent;
    }

    Result<std::size_t> send_if_due(Nanoseconds start, std::uint64_t index, Nanoseconds limit) {
        const auto is_due = wait_until_due(start, index, limit);
        if (!is_due) return is_due.error();
        if (!*is_due) return std::size_t{0};
        if (auto done = send_one(); !done) return done.error();
        return std::size_t{1};
    }

    /// Waits for the moment that the schedule gives to message `index`, which never shifts, however late we are: a late
    /// publisher catches up. False if `limit` came first.
    Result<bool> wait_until_due(Nanoseconds start, std::uint64_t index, Nanoseconds limit) {
        const auto due = start + static_cast<Nanoseconds>(static_cast<double>(index) * interval_ns_);
        const Nanoseconds until = std::min(due, limit);
        if (auto taken = take_answers(until); !taken) return taken.error();
        if (now_ns() < until) wait_until(until, side_.options.waiting);
        return due < limit;
    }

    /// Until then, or until no answer is awaited.
    Result<void> take_answers(Nanoseconds until) {
        BusyPoll poll{Patience{1}};
        while (probes_.awaited()) {
            const Nanoseconds left = until - now_ns();
            if (left <= 0) break;
            const bool asleep = sleeps(side_.options.waiting);
            const auto taken = probes_.take(asleep ? Patience{std::chrono::nanoseconds{left}} : Patience{0});
            if (!taken) return taken.error();
            if (!*taken && !asleep) poll.wait();
        }
        return {};
    }

    Result<void> send_one() {
        const auto heard = [this](const Frame& frame, std::size_t who) { arrived(frame, who); };
        if (probes_.due(numbers_.count())) probes_.sent(now_ns());
        auto loan = channels_.publisher->loan(payload_bytes_);
        if (!loan) return loan.error();
        write_message(loan->bytes(), numbers_.next(), side_.options.handling);
        if (!probes_.active()) return publish(side_, std::move(*loan), heard);
        return hand_over(
            side_, [this, &loan, full = false](Patience) mutable { return send_or_take(*loan, full); }, heard);
    }

    /// One attempt to hand over a message; while the transport is full, answers are taken between two of them.
    Result<bool> send_or_take(Loan& loan, bool& full) {
        constexpr Patience nap{0.1};
        if (full) {
            if (auto taken = probes_.take_all(); !taken) return taken.error();
        }
        return loan.publish(std::exchange(full, true) ? nap : Patience{0});
    }

    Result<void> flush_batch() {
        return flush(side_, *channels_.publisher, [this](const Frame& frame, std::size_t who) { arrived(frame, who); });
    }

    Result<void> pulse() {
        if (auto done = flush_batch(); !done) return done;  // however slow the rate, none is held back for longer
        return side_.listen([this](const Frame& frame, std::size_t who) { arrived(frame, who); });
    }

    void arrived(const Frame& frame, std::size_t who) {
        if (frame.kind != FrameKind::interval || !measuring_) return;
        side_.tell(ThroughputInterval{payload_bytes_, frame.number(0), static_cast<Nanoseconds>(frame.number(1)),
                                      frame.number(2), frame.number(3), demand_, side_.participant(who)});
    }

    const Side& side_;
    Channels channels_;
    std::size_t payload_bytes_;
    std::optional<Demand> demand_;
    std::size_t messages_a_look_;
    Batches batches_;
    double interval_ns_ = 0;  ///< 0: as fast as it goes
    InTurn numbers_;
    Probes probes_;
    bool measuring_ = false;
};

}  // namespace

Result<void> run_throughput_publisher(const Side& side, const Case& measured) {
    auto channels = open_channels_as_publisher(side, measured);
    if (!channels) return channels.error();
    return Streamer{side, std::move(*channels), measured}.run();
}

}  // namespace tacholog
