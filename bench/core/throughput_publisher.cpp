// The throughput and the demand test at the publisher: a stream, as fast as the transport takes it, on an absolute
// schedule, or in bursts. What arrives is counted by the subscriber, which sends its counts over the control channel.
#include <algorithm>

#include "core/bursts.hpp"
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

/// The subscriber may have to wait out a silence to be sure that nothing more comes.
constexpr Patience drain_allowance{5000};

class Streamer {
public:
    Streamer(const Side& side, Channels channels, const Case& measured)
        : side_(side),
          channels_(std::move(channels)),
          payload_bytes_(measured.payload_bytes),
          demand_(measured.demand),
          messages_a_look_(std::clamp<std::size_t>(bytes_a_look / payload_bytes_, 1, most_messages_a_look)) {
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
        const auto sent = stream(to_nanoseconds(side_.options.duration_s),
                                 [](std::uint64_t, Nanoseconds, Nanoseconds) { return false; });
        if (!sent) return sent.error();
        const auto done = end_phase();
        if (!done) return done.error();
        report(*sent, *done);
        return {};
    }

    void report(const Sent& sent, const Frame& counts) {
        const std::uint64_t received = counts.number(0);
        Faults faults{counts.number(1), counts.number(2), counts.number(3), std::nullopt};
        if (side_.options.handling.verify) faults.corrupted = counts.number(4);
        const auto duration_ns = static_cast<Nanoseconds>(counts.number(5));
        if (demand_) {
            side_.tell(
                DemandResult{payload_bytes_, *demand_, sent.messages, received, faults, sent.duration_ns, duration_ns});
        } else {
            const auto offered = per_second(sent.messages, sent.duration_ns);
            side_.tell(ThroughputResult{payload_bytes_, sent.messages, received, faults, duration_ns, offered});
            check_rate(offered);
        }
        if (received > 0) return;
        const std::string test{to_text(side_.options.test)};
        side_.tell(Failure{payload_bytes_, test + " over " + std::string{side_.transport.name} + ": none of " +
                                               std::to_string(sent.messages) + " messages arrived"});
    }

    void check_rate(std::optional<double> offered) {
        const auto wanted = side_.options.rate_per_s;
        if (wanted && offered && *offered < 0.999 * *wanted) {
            side_.tell(Note{"generator limited: the publisher offered less than 99.9 % of the rate asked for"});
        }
    }

    /// Tells the subscriber that this phase is sent, and waits for its counts.
    Result<Frame> end_phase() {
        if (const auto sent = side_.control.send({FrameKind::phase_end, {next_number_}}); !sent) return sent.error();
        while (true) {
            auto frame = side_.control.receive(side_.limit() + drain_allowance);
            if (!frame) return frame.error();
            if (frame->kind == FrameKind::phase_done) return frame;
            if (frame->kind == FrameKind::abort) return Error{"the peer gave up: " + frame->text};
            arrived(*frame);
        }
    }

    /// Sends for `longest_ns`, or until `at_second(messages, this second's ns, elapsed ns)` says that it is enough.
    template <typename AtSecond>
    Result<Sent> stream(Nanoseconds longest_ns, AtSecond&& at_second) {
        Sent sent;
        Bursts bursts{demand_.value_or(Demand{})};
        const Nanoseconds start = now_ns();
        Nanoseconds now = start;
        Nanoseconds second = start;
        Nanoseconds next_pulse = start + pulse_ns;
        while (now - start < longest_ns || bursts.unfinished()) {
            const Schedule schedule{start, std::min(start + longest_ns, next_pulse)};
            const auto count = send_next(schedule, sent.messages, bursts);
            if (!count) return count.error();
            sent.messages += *count;
            now = now_ns();
            if (now < next_pulse) [[likely]]
                continue;
            next_pulse = now + pulse_ns;
            if (auto fine = pulse(); !fine) return fine.error();
            if (now - second < nanoseconds_per_second) continue;
            if (auto sent_alive = side_.control.send({FrameKind::alive}); !sent_alive) return sent_alive.error();
            const bool enough = at_second(sent.messages, now - second, now - start);
            second = now;
            if (enough) break;
        }
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
        if (sent) bursts.sent(*sent, now_ns());
        return sent;
    }

    Result<std::size_t> send_if_due(Nanoseconds start, std::uint64_t index, Nanoseconds limit) {
        if (!wait_until_due(start, index, limit)) return std::size_t{0};
        if (auto done = send_one(); !done) return done.error();
        return std::size_t{1};
    }

    /// Waits for the moment that the schedule gives to message `index`, which never shifts, however late we are: a late
    /// publisher catches up. False if `limit` came first.
    bool wait_until_due(Nanoseconds start, std::uint64_t index, Nanoseconds limit) const {
        const auto due = start + static_cast<Nanoseconds>(static_cast<double>(index) * interval_ns_);
        BusyPoll poll{side_.limit()};
        const Nanoseconds until = std::min(due, limit);
        while (now_ns() < until) poll.wait();
        return due < limit;
    }

    Result<void> send_one() {
        auto loan = channels_.publisher->loan(payload_bytes_);
        if (!loan) return loan.error();
        write_message(loan->bytes(), next_number_++, side_.options.handling);
        return publish(side_, std::move(*loan), [this](const Frame& frame) { arrived(frame); });
    }

    Result<void> pulse() {
        const auto frame = side_.control.poll();
        if (!frame) return frame.error();
        if (*frame) arrived(**frame);
        return {};
    }

    void arrived(const Frame& frame) {
        if (frame.kind != FrameKind::interval || !measuring_) return;
        side_.tell(ThroughputInterval{payload_bytes_, frame.number(0), static_cast<Nanoseconds>(frame.number(1)),
                                      frame.number(2), frame.number(3), demand_});
    }

    const Side& side_;
    Channels channels_;
    std::size_t payload_bytes_;
    std::optional<Demand> demand_;
    std::size_t messages_a_look_;
    double interval_ns_ = 0;  ///< 0: as fast as it goes
    std::uint64_t next_number_ = 0;
    bool measuring_ = false;
};

}  // namespace

Result<void> run_throughput_publisher(const Side& side, const Case& measured) {
    auto channels = open_channels_as_publisher(side, measured);
    if (!channels) return channels.error();
    return Streamer{side, std::move(*channels), measured}.run();
}

}  // namespace tacholog
