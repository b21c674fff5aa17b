// One side of a run: what the publisher's and the subscriber's code both need.
#pragma once

#include <memory>
#include <utility>

#include "core/control.hpp"
#include "core/log.hpp"
#include "core/options.hpp"
#include "transports/transport.hpp"

namespace tacholog {

struct Side {
    const Options& options;
    const Transport& transport;
    Control& control;
    Log* log;  ///< nullptr for a subscriber whose publisher writes for both

    Patience limit() const { return Patience{static_cast<Patience::rep>(options.timeout_s * 1000)}; }

    template <typename Event>
    void tell(const Event& event) const {
        if (log != nullptr) log->write(event);
    }
};

/// The longest a side waits on its transport before it looks at the control channel.
inline constexpr Patience slice{10};

/// How often a side that is busy all the time looks at the control channel.
inline constexpr Nanoseconds pulse_ns = 50'000'000;

/// The two directions of one case, set up on both sides. Only a latency test has both of them on each side.
struct Channels {
    std::unique_ptr<Publisher> publisher;
    std::unique_ptr<Subscriber> subscriber;
};

/// Opens the channels of one case from the publisher's side (pings out, answers in) and waits until the peer is ready.
Result<Channels> open_channels_as_publisher(const Side& side, const Case& measured);

/// The same, answering a publisher that has just sent `open`.
Result<Channels> open_channels_as_subscriber(const Side& side, const Frame& open);

/// What the publisher is about to measure, as its `open` says.
Case case_of(const Frame& open);

/// Hands a message over, however long the transport is full, within the side's limit. Watches for trouble meanwhile;
/// a frame other than trouble that arrives then goes to `other`.
template <typename Other>
Result<void> publish(const Side& side, Loan loan, Other&& other) {
    auto sent = loan.publish(slice);
    if (sent && *sent) [[likely]]
        return {};
    const Deadline deadline{side.limit()};
    while (sent && !*sent) {
        auto frame = side.control.poll();
        if (!frame) return frame.error();
        if (*frame) other(**frame);
        if (deadline.passed()) return Error{"publish: the subscriber has taken nothing within the time limit"};
        sent = loan.publish(slice);
    }
    if (!sent) return sent.error();
    return {};
}

Result<void> run_latency_publisher(const Side& side, const Case& measured);
Result<void> run_open_loop_publisher(const Side& side, const Case& measured);
Result<void> run_latency_subscriber(const Side& side, const Frame& open);
Result<void> run_throughput_publisher(const Side& side, const Case& measured);
Result<void> run_throughput_subscriber(const Side& side, const Frame& open);

/// A whole run, from the handshake to goodbye.
Result<void> run_publisher(const Side& side);
Result<void> run_subscriber(const Side& side);

}  // namespace tacholog
