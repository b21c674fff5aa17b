// The latency test at a rate: an open loop (pacer.hpp).
#include "rig/open_loop.hpp"

#include "rig/pacer.hpp"

namespace tacholog {
namespace {

class OpenLoop {
public:
    OpenLoop(const Side& side, Channels channels, std::size_t payload_bytes)
        : side_(side), payload_bytes_(payload_bytes), pacer_(side, std::move(channels), payload_bytes, rate()) {}

    Result<void> run() {
        const MonitorGuard guard{*side_.monitor};
        if (auto done = warm_up(side_, pacer_, payload_bytes_, rate()); !done) return done;
        if (auto done = measure(); !done) return done;
        return finish();
    }

private:
    double rate() const { return *side_.options.rate_per_s; }

    Result<void> measure() {
        std::uint64_t index = 0;
        const auto duration = pacer_.phase(
            rate(), to_nanoseconds(side_.options.duration_s), pacer_.interval_length_ns(), side_.placement.live,
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
        side_.tell(LatencyResult{payload_bytes_, pacer_.faults(), duration_ns_, &total_,
                                 heard(side_, pacer_.instances_heard())});
        const Sending sending{payload_bytes_,         pacer_.planned(),   pacer_.sent(),      rate(),
                              pacer_.offered_per_s(), &pacer_.lateness(), &pacer_.from_send()};
        side_.tell(sending);
        if (total_.count() == 0) {
            side_.tell(Failure{payload_bytes_, "latency over " + std::string{side_.transport.name} + ": none of " +
                                                   std::to_string(pacer_.sent()) + " messages was answered"});
        }
        tell_generator_limits(side_, sending, total_);
        return {};
    }

    const Side& side_;
    std::size_t payload_bytes_;
    Pacer pacer_;
    Histogram total_;  ///< latencies, measured from the intended send time
    Nanoseconds duration_ns_ = 0;
};

}  // namespace

void tell_generator_limits(const Side& side, const Sending& sending, const Histogram& latency) {
    const auto p99 = latency.percentile_ns(990'000);
    const auto late = sending.lateness->percentile_ns(990'000);
    const std::string size = std::to_string(sending.payload_bytes) + " bytes: ";
    const auto& offered = sending.offered_rate_per_s;
    // The rate is computed only up to the last message that was sent. So it does not show messages that were never
    // sent, and these are checked separately.
    const bool left_some_out = static_cast<double>(sending.sent) < 0.999 * static_cast<double>(sending.planned);
    if (left_some_out || (offered && *offered < 0.999 * sending.target_rate_per_s)) {
        side.tell(Note{"generator limited: " + size + "less than 99.9 % of the rate asked for was sent"});
    } else if (p99 && late && *late * 10 > *p99) {
        side.tell(
            Note{"generator limited: " + size + "the 99th percentile of lateness is above 10 % of that of latency"});
    }
}

Result<void> run_open_loop_publisher(const Side& side, const Case& measured) {
    auto channels = open_channels_as_publisher(side, measured);
    if (!channels) return channels.error();
    return OpenLoop{side, std::move(*channels), measured.payload_bytes}.run();
}

}  // namespace tacholog
