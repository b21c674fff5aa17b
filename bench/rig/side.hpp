// One side of a run: data and functions that both the publisher and the subscriber need.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cli/options.hpp"
#include "control/control.hpp"
#include "control/frames.hpp"
#include "reporters/log.hpp"
#include "rig/handover.hpp"
#include "rig/monitor.hpp"
#include "transports/transport.hpp"

namespace tacholog {

struct Side {
    const Options& options;
    const Transport& transport;
    Control& control;
    Log* log;  ///< nullptr: this is a subscriber, and its publisher writes the log for both
    /// At the publisher: the channels to all subscribers, of which `control` is the first.
    std::span<Control> subscribers = {};
    std::string name = {};       ///< at a subscriber, if there are several
    Placement placement = {};    ///< known after the sides have exchanged their CPUs
    Monitor* monitor = nullptr;  ///< uses the control channel and the log during a phase
    std::string companion = {};  ///< the address of the companion program of the run, if there is one
    pid_t companion_pid = 0;     ///< set if the publisher's process has started the companion program
    /// A random number, the same on all sides; part of the channel names, see Topic::channel.
    std::uint64_t run_number = 0;
    std::size_t case_number = 0;  ///< the number of cases opened so far, including the current one

    Patience limit() const { return limit_of(options); }

    /// The name in the log; empty if there is only one subscriber.
    std::string participant(std::size_t subscriber) const {
        return subscribers.size() > 1 ? subscribers[subscriber].peer() : "";
    }

    Result<void> tell_all(const Frame& frame) const {
        for (Control& one : subscribers) {
            if (auto sent = one.send(frame); !sent) return sent;
        }
        return {};
    }

    Result<std::vector<Frame>> expect_all(FrameKind kind) const {
        std::vector<Frame> frames;
        for (Control& one : subscribers) {
            auto frame = one.expect(kind, limit());
            if (!frame) return frame.error();
            frames.push_back(std::move(*frame));
        }
        return frames;
    }

    Error no_answer(std::size_t subscriber) const {
        const Control& peer = subscribers[subscriber];
        return peer.error("no answer from " + peer.peer() + " within the time limit");
    }

    Yield yield() const { return placement.shared ? Yield::yes : Yield::no; }

    std::span<Control> peers() const { return subscribers.empty() ? std::span{&control, 1} : subscribers; }

    IntervalPlan intervals(std::size_t most_kept) const {
        return plan_intervals(to_nanoseconds(options.interval_s), to_nanoseconds(options.duration_s), placement.live,
                              most_kept);
    }

    /// Returns an upper limit for the length of a phase, in seconds. A phase is never longer if the other side follows
    /// the protocol, because no side waits for the other side longer than the time limit (`timeout_s`).
    double longest_phase_s() const {
        constexpr double longest_warm_up_s = 30;
        constexpr double drain_s = 5;
        return std::max(options.duration_s, options.warmup_s.value_or(longest_warm_up_s)) + 4 * options.timeout_s +
               drain_s;
    }

    /// Returns an upper limit for the number of intervals that a subscriber reports in a phase. A subscriber that
    /// follows the protocol never reaches this limit, because its intervals end when the publisher has ended
    /// the phase.
    std::uint64_t most_intervals() const {
        constexpr double shortest_s = 0.001;
        constexpr double reserve_s = 60;
        const double all_s = longest_phase_s() + reserve_s;
        return 16 + static_cast<std::uint64_t>(all_s / std::max(shortest_s, std::min(options.interval_s, 1.0)));
    }

    template <typename Event>
    void tell(const Event& event) const {
        if (log != nullptr) log->write(event);
    }
};

/// Returns the name that a publisher has in the log if there are several publishers: "pub1" for the index 0.
inline std::string name_of_publisher(std::size_t at) {
    return "pub" + std::to_string(at + 1);
}

/// The longest time that a side waits for its transport before it checks what its monitor has received.
inline constexpr Patience slice{10};

/// How often a side that is always busy checks what its monitor has received.
inline constexpr Nanoseconds pulse_ns = 50'000'000;

/// The two directions of one case, set up on both sides. Only a latency test has both directions on each side.
struct Channels {
    std::unique_ptr<Publisher> publisher;
    std::unique_ptr<Subscriber> subscriber;
    /// on the publisher's side: all publishers after the first one
    std::vector<std::unique_ptr<Publisher>> more_publishers = {};
    /// on the subscriber's side: one subscriber for each publisher after the first one
    std::vector<std::unique_ptr<Subscriber>> more_subscribers = {};
};

/// The number of messages between two readings of the clock. It is above 1 for small messages, because reading the
/// clock takes as long as copying a small message.
inline std::size_t messages_between_looks(std::size_t payload_bytes) {
    constexpr std::size_t bytes_a_look = 16384;
    constexpr std::size_t most_messages_a_look = 64;
    return std::clamp<std::size_t>(bytes_a_look / payload_bytes, 1, most_messages_a_look);
}

/// The publisher's side sends messages and receives answers. This waits until the peer is ready.
Result<Channels> open_channels_as_publisher(const Side& side, const Case& measured);

/// Call this after the publisher has sent `open`.
Result<Channels> open_channels_as_subscriber(const Side& side, const Frame& open);

/// Repeats `attempt` until it succeeds, because the transport may be full. After the time limit it returns the error
/// `in_vain`. Between attempts, it calls `watch` to check for trouble.
template <typename Attempt, typename Watch>
Result<void> hand_over(const Options& options, Attempt&& attempt, Watch&& watch,
                       const char* in_vain = "publish: the subscriber has taken nothing within the time limit") {
    Result<Done> sent = attempt(slice);
    if (is_done(sent)) [[likely]]
        return {};
    const Deadline deadline{limit_of(options)};
    while (is_not_yet_done(sent)) {
        if (auto fine = watch(); !fine) return fine;
        if (deadline.passed()) return Error{in_vain};
        sent = attempt(slice);
    }
    if (!sent.has_value()) return sent.error();
    return {};
}

/// Waits until the broker, if there is one, has received all published messages. Only then may the subscriber be told
/// that the phase is over.
template <typename Watch>
Result<void> settle(const Options& options, Publisher& publisher, Watch&& watch) {
    return hand_over(
        options, [&](Patience patience) { return publisher.settle(patience); }, watch,
        "publish: the broker has not taken everything within the time limit");
}

/// Checks the monitor while the transport is full.
inline Result<void> publish(const Side& side, Loan loan) {
    return hand_over(
        side.options, [&](Patience patience) { return loan.publish(patience); }, [&] { return side.monitor->fine(); });
}

/// The number of instances; 1 if there is no key.
inline std::size_t instances_of(const Side& side) {
    return side.options.instances.value_or(1);
}

inline std::optional<Instances> heard(const Side& side, std::uint64_t count) {
    if (!side.options.instances) return std::nullopt;
    return Instances{*side.options.instances, count};
}

/// The publisher's side of a latency test calls this.
inline Result<void> end_of_size(const Side& side) {
    if (auto sent = side.control.send({FrameKind::size_end}); !sent) return sent.error();
    const auto theirs = side.control.expect(FrameKind::size_end, side.limit());
    return theirs ? Result<void>{} : theirs.error();
}

Result<void> run_latency_publisher(const Side& side, const Case& measured);
Result<void> run_open_loop_publisher(const Side& side, const Case& measured);
/// Searches for the highest rate at which the goal holds.
Result<void> run_sustain_publisher(const Side& side, const Case& measured);
Result<void> run_one_way_publisher(const Side& side, const Case& measured);
Result<void> run_one_way_subscriber(const Side& side, const Frame& open);
Result<void> run_latency_subscriber(const Side& side, const Frame& open);
/// Returns the number of received messages, of all subscribers together, including the warm-up.
Result<std::uint64_t> run_throughput_publisher(const Side& side, const Case& measured);
Result<void> run_throughput_subscriber(const Side& side, const Frame& open);

/// Carries out a whole run, from the end of the handshake to the last frame.
Result<void> run_publisher(const Side& side);
Result<void> run_subscriber(const Side& side);

}  // namespace tacholog
