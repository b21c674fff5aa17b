// The throughput and the demand test at the publisher. Several publishers share one process and its control channel:
// the monitor reads the channel, the first publisher acts on its frames, and the others stop when the first one stops.
// The subscribers count the messages that arrive, and send their counts over the control channel.
#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <thread>

#include "rig/steady.hpp"
#include "rig/writer.hpp"

namespace tacholog {
namespace {

/// The counts of one subscriber in one phase. If there are several publishers, it sends one `phase_done` frame for each
/// of them.
struct Counted {
    std::uint64_t received = 0;
    Faults faults;
    Nanoseconds duration_ns = 0;
    std::optional<Instances> instances;

    Counted(const PhaseDoneFrame& told, const Options& options, std::optional<std::uint64_t> dropped)
        : received(told.received),
          faults{told.lost, told.duplicated, told.reordered, std::nullopt, dropped},
          duration_ns(told.duration_ns) {
        faults.corrupted = known_corrupted(options.handling, told.corrupted);
        if (options.instances) instances = {*options.instances, told.instances_heard};
    }
};

/// Adds the counts of all subscribers, or of all publishers.
Aggregate sum_of(const std::vector<Counted>& all) {
    Aggregate sum;
    sum.instances = all.front().instances;
    const bool corruption =
        std::any_of(all.begin(), all.end(), [](const Counted& one) { return one.faults.corrupted; });
    sum.faults = {0, 0, 0, corruption ? std::optional<std::uint64_t>{0} : std::nullopt,
                  all.front().faults.dropped ? std::optional<std::uint64_t>{0} : std::nullopt};
    std::vector<double> rates;
    for (const Counted& one : all) {
        sum.received += one.received;
        sum.faults.lost += one.faults.lost;
        sum.faults.duplicated += one.faults.duplicated;
        sum.faults.reordered += one.faults.reordered;
        if (sum.instances) sum.instances->heard = std::min(sum.instances->heard, one.instances->heard);
        if (sum.faults.corrupted) *sum.faults.corrupted += one.faults.corrupted.value_or(0);
        if (sum.faults.dropped) *sum.faults.dropped += one.faults.dropped.value_or(0);
        if (const auto rate = rate_of(one.received, one.duration_ns)) rates.push_back(*rate);
    }
    if (rates.size() < all.size()) return sum;
    sum.slowest_rate_per_s = *std::min_element(rates.begin(), rates.end());
    sum.total_rate_per_s = std::accumulate(rates.begin(), rates.end(), 0.0);
    return sum;
}

/// The subscribers send their counts only after they have received nothing for some time, because until then more
/// messages may arrive.
constexpr Patience drain_allowance{5000};

class Streamer {
public:
    Streamer(const Side& side, Channels channels, const Case& measured)
        : side_(side),
          payload_bytes_(measured.payload_bytes),
          demand_(measured.demand),
          batches_(batches_of(side.options, payload_bytes_)),
          seconds_(warm_up_records) {
        writers_.emplace_back(side, std::move(channels.publisher), std::move(channels.subscriber), measured);
        for (auto& publisher : channels.more_publishers)
            writers_.emplace_back(side, std::move(publisher), nullptr, measured);
    }

    Result<std::uint64_t> run() {
        const MonitorGuard guard{*side_.monitor};
        if (auto done = warm_up(); !done) return done.error();
        if (auto done = measure(); !done) return done.error();
        return arrived_;
    }

private:
    Result<void> warm_up() {
        SteadyRule rule{side_.options.warmup_s};
        std::uint64_t messages = 0;
        const auto collect = [this, &rule, &messages]() -> Result<void> {
            while (const CountRecord* second = seconds_.oldest()) {
                const double rate = rate_within(second->messages, second->duration_ns).value_or(0);
                messages += second->messages;
                if (rule.second_passed(rate, messages, second->elapsed_ns))
                    enough_.store(true, std::memory_order_relaxed);
                seconds_.give_back();
            }
            return {};
        };
        const auto sent = phase(rule.longest_ns(), collect);
        if (!sent) return sent.error();
        if (auto done = end_phase(); !done) return done.error();
        const Sent all = sum_of(*sent);
        side_.tell(Warmup{payload_bytes_, all.messages, all.duration_ns, rule.outcome(), demand_});
        return {};
    }

    Result<void> measure() {
        measuring_ = true;
        const auto dropped_before = dropped();
        const auto sent = phase(to_nanoseconds(side_.options.duration_s), nullptr);
        if (!sent) return sent.error();
        const auto done = end_phase();
        if (!done) return done.error();
        batches_.by = writers_.front().batched_by();
        const auto dropped_after = dropped();
        std::vector<Counted> all;
        for (std::size_t at = 0; at < done->size(); ++at) {
            std::optional<std::uint64_t> lost_to_slowness;
            if (leaves_behind()) lost_to_slowness = dropped_after[at] - dropped_before[at];
            all.emplace_back((*done)[at], side_.options, lost_to_slowness);
            report((*sent)[writers_.size() > 1 ? at : 0], all.back(), participant(at));
        }
        if (all.size() > 1) report_all(*sent, all);
        report_silent(*sent, all);
        report_probes(sent->front(), any_arrived(all));
        if (!demand_) check_rate(*sent);
        return {};
    }

    /// Returns the total of the messages, and the longest duration.
    static Sent sum_of(const std::vector<Sent>& all) {
        Sent sum;
        for (const Sent& one : all) {
            sum.messages += one.messages;
            sum.duration_ns = std::max(sum.duration_ns, one.duration_ns);
        }
        return sum;
    }

    /// The name of a publisher if there are several publishers, otherwise the name of a subscriber.
    std::string participant(std::size_t at) const {
        return writers_.size() > 1 ? name_of_publisher(at) : side_.participant(at);
    }

    bool leaves_behind() const { return side_.options.audience.slow == SlowSubscriber::drop; }

    std::vector<std::uint64_t> dropped() const {
        std::vector<std::uint64_t> counts;
        for (std::size_t at = 0; at < side_.subscribers.size(); ++at) counts.push_back(writers_.front().dropped(at));
        for (std::size_t at = 1; at < writers_.size(); ++at) counts.push_back(writers_[at].dropped(0));
        return counts;
    }

    void report(const Sent& sent, const Counted& counted, const std::string& participant) {
        if (demand_) {
            side_.tell(DemandResult{payload_bytes_, *demand_, sent.messages, counted.received, counted.faults,
                                    sent.first_to_last_ns(), counted.duration_ns, participant, counted.instances,
                                    batches_});
        } else {
            side_.tell(ThroughputResult{payload_bytes_, sent.messages, counted.received, counted.faults,
                                        counted.duration_ns, sent.rate_per_s(), participant, counted.instances,
                                        batches_});
        }
    }

    /// Silence is usually an error, because nothing shows that a message can arrive at all. It is a result if the
    /// transport may lose messages and other messages did arrive: they may have filled a shared queue, such as that of
    /// a broker.
    void report_silence(const std::string& what, bool others_arrived) {
        const std::string text = std::string{to_text(side_.options.test)} + " over " +
                                 std::string{side_.transport.name} + ": none of " + what;
        if (others_arrived && side_.transport.reliability == Reliability::best_effort) {
            side_.tell(Note{std::to_string(payload_bytes_) + " bytes: " + text + ", while other messages arrived"});
        } else {
            side_.tell(Failure{payload_bytes_, text});
        }
    }

    /// If one of several subscribers receives nothing, that is always a failure, because each subscriber has its own
    /// queue.
    void report_silent(const std::vector<Sent>& sent, const std::vector<Counted>& counted) {
        const bool are_publishers = writers_.size() > 1;
        const bool others_arrived = are_publishers && any_arrived(counted);
        for (std::size_t at = 0; at < counted.size(); ++at) {
            if (counted[at].received > 0) continue;
            const std::string who = participant(at);
            report_silence(std::to_string(sent[are_publishers ? at : 0].messages) + " messages arrived" +
                               (who.empty() ? "" : (are_publishers ? " of " : " at ") + who),
                           others_arrived);
        }
    }

    static bool any_arrived(const std::vector<Counted>& counted) {
        return std::any_of(counted.begin(), counted.end(), [](const Counted& one) { return one.received > 0; });
    }

    void report_all(const std::vector<Sent>& sent, const std::vector<Counted>& counted) {
        Aggregate sum = tacholog::sum_of(counted);
        sum.measured = {payload_bytes_, demand_};
        sum.publishers = writers_.size();
        sum.subscribers = side_.subscribers.size();
        sum.sent = sum_of(sent).messages;
        sum.batches = batches_;
        sum.offered_rate_per_s = 0;
        for (const Sent& one : sent) {
            if (sum.offered_rate_per_s) sum.offered_rate_per_s = added(*sum.offered_rate_per_s, one.rate_per_s());
        }
        side_.tell(sum);
    }

    void report_probes(const Sent& sent, bool others_arrived) {
        const Probes& probes = writers_.front().probes();
        if (!probes.active()) return;
        const std::string size = std::to_string(payload_bytes_) + " bytes";
        if (probes.count() == 0) return side_.tell(Note{"probes: " + size + ": too few messages for one"});
        side_.tell(LatencyResult{payload_bytes_, probes.faults(), sent.duration_ns, &probes.round_trips(),
                                 heard(side_, probes.heard())});
        if (probes.round_trips().count() == 0)
            report_silence(std::to_string(probes.count()) + " probes was answered", others_arrived);
    }

    static std::optional<double> added(double sum, std::optional<double> one) {
        return one ? std::optional{sum + *one} : std::nullopt;
    }

    void check_rate(const std::vector<Sent>& sent) {
        const auto wanted = side_.options.rate_per_s;
        const auto slow = [&](const Sent& one) { return one.falls_short_of(*wanted, side_.options.duration_s); };
        if (wanted && std::any_of(sent.begin(), sent.end(), slow)) {
            side_.tell(Note{"generator limited: the publisher offered less than 99.9 % of the rate asked for"});
        }
    }

    /// Each subscriber sends one frame with counts for each publisher.
    Result<std::vector<PhaseDoneFrame>> end_phase() {
        PhaseEndFrame end;
        for (const Writer& writer : writers_) end.ends.push_back(writer.written());
        if (const auto sent = side_.tell_all(frame_of(end)); !sent) return sent.error();
        std::vector<std::vector<PhaseDoneFrame>> counts(side_.subscribers.size());
        const Deadline deadline{side_.limit() + drain_allowance};
        Nanoseconds next_alive_ns = now_ns() + side_.monitor->alive_every_ns();
        bool answers_come = true;
        while (true) {
            // Reads from every subscriber that has not sent its counts yet, not from only one of them. So the publisher
            // notices if any of them dies.
            std::optional<std::size_t> owing;
            for (std::size_t who = 0; who < counts.size(); ++who) {
                // The counts come after the intervals that the subscriber has kept.
                for (int count = 0; count < frames_a_look && counts[who].size() < writers_.size(); ++count) {
                    auto frame = side_.subscribers[who].poll();
                    if (!frame) return frame.error();
                    if (!*frame) break;
                    if (auto fine = take_counts(**frame, who, counts[who]); !fine) return fine.error();
                }
                if (counts[who].size() < writers_.size()) owing = who;
            }
            // Answers to probes may still arrive, because the process of the subscriber may have been stopped for a
            // while. A subscriber sends all answers before its counts, and may close its end of the transport after
            // the counts. Therefore, an error only means that no more answers come.
            answers_come = answers_come && writers_.front().probes().take_all();
            if (!owing) count_arrived(counts);
            if (!owing) return writers_.size() > 1 ? counts.front() : first_of_each(counts);
            if (deadline.passed()) return side_.no_answer(*owing);
            if (auto told = tell_who_is_done(counts, next_alive_ns); !told) return told.error();
            const timespec pause{0, 500'000};
            ::nanosleep(&pause, nullptr);
        }
    }

    /// Sends an `alive` frame to each subscriber that has sent its counts, while another subscriber needs more time.
    /// Without these frames, the waiting subscriber would reach its time limit. A subscriber that has not sent its
    /// counts gets no `alive` frame, because after such a frame a subscriber expects more messages.
    Result<void> tell_who_is_done(const std::vector<std::vector<PhaseDoneFrame>>& counts, Nanoseconds& next_ns) {
        const Nanoseconds now = now_ns();
        if (now < next_ns) return {};
        next_ns = now + side_.monitor->alive_every_ns();
        for (std::size_t who = 0; who < counts.size(); ++who) {
            if (counts[who].size() < writers_.size()) continue;
            if (auto sent = side_.subscribers[who].send({FrameKind::alive}); !sent) return sent;
        }
        return {};
    }

    void count_arrived(const std::vector<std::vector<PhaseDoneFrame>>& counts) {
        for (const auto& of_one : counts) {
            for (const PhaseDoneFrame& told : of_one) arrived_ += told.received;
        }
    }

    static std::vector<PhaseDoneFrame> first_of_each(const std::vector<std::vector<PhaseDoneFrame>>& counts) {
        std::vector<PhaseDoneFrame> firsts;
        for (const auto& of_one : counts) firsts.push_back(of_one.front());
        return firsts;
    }

    Result<void> take_counts(const Frame& frame, std::size_t who, std::vector<PhaseDoneFrame>& counts) {
        if (frame.kind != FrameKind::phase_done) return arrived(frame, who);
        const auto told = read_frame<PhaseDoneFrame>(frame);
        const std::uint64_t sent = writers_[writers_.size() > 1 ? counts.size() : 0].written();
        if (told.lost > sent || told.received > sent + told.duplicated) {
            const Control& peer = side_.subscribers[who];
            return peer.error(peer.peer() + " counts more messages than were sent");
        }
        counts.push_back(told);
        return {};
    }

    /// Sends from all publishers for `longest_ns`, or until `enough_` is set. Then takes the answers to probes.
    Result<std::vector<Sent>> phase(Nanoseconds longest_ns, const std::function<Result<void>()>& collect) {
        const auto heard = [this](const Frame& frame, std::size_t who) { return arrived(frame, who); };
        enough_ = false;
        intervals_.assign(side_.subscribers.size(), 0);
        second_start_ns_ = second_messages_ = 0;
        side_.monitor->begin({heard, collect, true, true});
        auto sent = stream(longest_ns);
        if (sent) {
            if (auto drained = writers_.front().probes().drain(); !drained) sent = drained.error();
        }
        side_.monitor->end();
        return sent;
    }

    Result<std::vector<Sent>> stream(Nanoseconds longest_ns) {
        std::vector<Result<Sent>> ends(writers_.size(), Sent{});
        std::atomic<State> state{State::running};
        std::vector<std::thread> others;
        ends.front() = without_exceptions([&] {
            for (std::size_t at = 1; at < writers_.size(); ++at) {
                others.emplace_back([&, at] {
                    ends[at] = without_exceptions([&] { return follow(writers_[at], longest_ns, state); });
                    if (!ends[at]) state = State::failed;
                });
            }
            return lead(longest_ns, state);
        });
        if (!ends.front()) state = State::failed;
        for (auto& other : others) other.join();
        // A publisher that stopped because another one failed does not know the reason, so its own error is not used.
        for (const auto& end : ends) {
            if (!end && end.error().code != Code::another_publisher) return end.error();
        }
        std::vector<Sent> sent;
        for (const auto& end : ends) sent.push_back(*end);
        return sent;
    }

    enum class State { running, enough, failed };

    /// The rate of the first publisher decides when the warm-up is over.
    Result<Sent> lead(Nanoseconds longest_ns, std::atomic<State>& state) {
        const auto at_pulse = [&](std::uint64_t messages, Nanoseconds elapsed) -> Result<bool> {
            if (auto fine = side_.monitor->fine(); !fine) return fine.error();
            if (state == State::failed) return true;
            if (!measuring_) hand_over_second(messages, elapsed);
            if (!enough_.load(std::memory_order_relaxed)) return false;
            state = State::enough;
            return true;
        };
        return writers_.front().stream(longest_ns, at_pulse, [this] { return side_.monitor->fine(); });
    }

    void hand_over_second(std::uint64_t messages, Nanoseconds elapsed_ns) {
        if (elapsed_ns - second_start_ns_ < nanoseconds_per_second) return;
        seconds_.current() = {elapsed_ns - second_start_ns_, elapsed_ns, messages - second_messages_, 0};
        if (!seconds_.hand_over()) return;
        second_start_ns_ = elapsed_ns;
        second_messages_ = messages;
    }

    static Result<Sent> follow(Writer& writer, Nanoseconds longest_ns, std::atomic<State>& state) {
        return writer.stream(
            longest_ns, [&](std::uint64_t, Nanoseconds) -> Result<bool> { return state != State::running; },
            [&]() -> Result<void> {
                if (state != State::failed) return {};
                return Error{"publish: another publisher of this run has failed", Code::another_publisher};
            });
    }

    Result<void> arrived(const Frame& frame, std::size_t who) {
        const Control& peer = side_.subscribers[who];
        const auto interval = read_frame<IntervalFrame>(frame);
        // In a warm-up, a subscriber sends no intervals.
        if (frame.kind != FrameKind::interval || !measuring_ || interval.index != intervals_[who])
            return out_of_step(peer);
        if (++intervals_[who] > side_.most_intervals())
            return peer.error(peer.peer() + " sends more intervals than there are");
        side_.tell(ThroughputInterval{payload_bytes_, interval.index, interval.duration_ns, interval.received,
                                      interval.lost, demand_, side_.participant(who)});
        return {};
    }

    const Side& side_;
    std::vector<Writer> writers_;  ///< one for each publisher
    std::size_t payload_bytes_;
    std::optional<Demand> demand_;
    Batches batches_;
    bool measuring_ = false;
    std::vector<std::uint64_t> intervals_;  ///< intervals that each subscriber has sent in this phase
    std::uint64_t arrived_ = 0;             ///< messages received by all subscribers in all phases
    static constexpr std::size_t warm_up_records = 3;
    HandOver<CountRecord> seconds_;  ///< one record for each second of the warm-up
    Nanoseconds second_start_ns_ = 0;
    std::uint64_t second_messages_ = 0;  ///< messages sent before the current second began
    std::atomic<bool> enough_{false};
};

}  // namespace

Result<std::uint64_t> run_throughput_publisher(const Side& side, const Case& measured) {
    auto channels = open_channels_as_publisher(side, measured);
    if (!channels) return channels.error();
    return Streamer{side, std::move(*channels), measured}.run();
}

}  // namespace tacholog
