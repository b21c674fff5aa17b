// The sustain test at the publisher. It runs the trials that the search asks for (sustain.hpp), one after the other,
// over the channels of one payload size. The subscriber answers messages as in a latency test; it does not know about
// trials.
#include <algorithm>
#include <limits>
#include <set>

#include "rig/pacer.hpp"
#include "rig/side.hpp"
#include "rig/sustain.hpp"

namespace tacholog {
namespace {

/// A length of intervals that is longer than any trial, so that each trial has only one interval.
constexpr Nanoseconds no_intervals_ns = std::numeric_limits<Nanoseconds>::max() / 2;

class Searcher {
public:
    Searcher(const Side& side, Channels channels, std::size_t payload_bytes)
        : side_(side),
          payload_bytes_(payload_bytes),
          pacer_(side, std::move(channels), payload_bytes, plan().rates.most_per_s),
          search_(plan()) {}

    Result<void> run() {
        const MonitorGuard guard{*side_.monitor};
        if (auto done = warm_up(side_, pacer_, payload_bytes_, plan().rates.least_per_s); !done) return done;
        const Nanoseconds start_ns = now_ns();
        while (const auto order = search_.next()) {
            if (auto done = carry_out(*order); !done) return done;
        }
        const Nanoseconds duration_ns = now_ns() - start_ns;
        if (const auto ended = end_of_size(side_); !ended) return ended;
        report(duration_ns);
        return {};
    }

private:
    const SustainPlan& plan() const { return side_.options.sustain; }

    Result<void> carry_out(const TrialOrder& order) {
        Histogram latencies;
        const auto keep = [&](const LatencyRecord& record) {
            latencies.merge(record.histogram);
            return false;
        };
        const auto duration =
            pacer_.phase(order.rate_per_s, to_nanoseconds(order.duration_s), no_intervals_ns, false, keep);
        if (!duration) return duration.error();
        Trial trial{.payload_bytes = payload_bytes_,
                    .index = index_++,
                    .order = order,
                    .planned = pacer_.planned(),
                    .sent = pacer_.sent(),
                    .held_back = pacer_.held_back(),
                    .faults = pacer_.faults(),
                    .duration_ns = *duration,
                    .offered_rate_per_s = pacer_.offered_per_s(),
                    .latency = &latencies,
                    .lateness = &pacer_.lateness()};
        judge(trial);
        side_.tell(trial);
        search_.add(order, trial.passed());
        if (!trial.passed() && is_generator_limited(trial)) limited_.insert(order.rate_per_s);
        return side_.log == nullptr ? Result<void>{} : side_.log->written();
    }

    /// A planned message without an answer counts as lost, whether it was sent or not.
    void judge(Trial& trial) const {
        const std::uint64_t answered = std::min(trial.latency->count(), trial.planned);
        trial.loss_ratio =
            1 - static_cast<double>(answered) / static_cast<double>(std::max<std::uint64_t>(1, trial.planned));
        trial.keeps_loss = trial.loss_ratio <= plan().loss_ratio;
        const LatencyGoal& goal = *plan().latency;
        if (answered == 0) return;
        // At the allowed rates, a trial sends enough messages for this percentile (option_rules.cpp). Nevertheless, too
        // few answers may arrive, because the goal may allow a loss of messages. In this case the largest latency
        // replaces the percentile, so that a lack of answers alone never makes the trial miss the goal.
        const bool is_largest = goal.millionths == 1'000'000;
        const std::uint64_t latency_ns =
            is_largest ? trial.latency->max_ns() : trial.latency->nearest_rank_ns(goal.millionths);
        trial.keeps_latency = latency_ns <= static_cast<std::uint64_t>(goal.limit_ns);
    }

    /// Whether the sender was late although the transport accepted all messages at once.
    bool is_generator_limited(const Trial& trial) const {
        const auto p99 = trial.latency->percentile_ns(990'000);
        const auto late = trial.lateness->percentile_ns(990'000);
        return pacer_.took_all_at_once() && p99 && late && *late * 10 > *p99;
    }

    void report(Nanoseconds duration_ns) {
        const Sustained found = search_.result();
        side_.tell(SustainResult{payload_bytes_, plan(), found, duration_ns});
        const std::string size = std::to_string(payload_bytes_) + " bytes: ";
        if (found.upper_per_s && limited_.contains(*found.upper_per_s)) {
            side_.tell(Note{"generator limited: " + size +
                            "at the upper bound the sender was late, though the transport took every message at once"});
        }
        if (found.passed_above > 0) {
            side_.tell(
                Note{"not monotonic: " + size + "the goal was kept at " + std::to_string(found.passed_above) +
                     " rates well above the upper bound: whether a trial keeps it is a matter of chance, or of other "
                     "work on the host, too"});
        }
    }

    const Side& side_;
    std::size_t payload_bytes_;
    Pacer pacer_;
    SustainSearch search_;
    std::uint64_t index_ = 0;
    std::set<double> limited_;  ///< the rates at which the sender itself was too slow
};

}  // namespace

Result<void> run_sustain_publisher(const Side& side, const Case& measured) {
    auto channels = open_channels_as_publisher(side, measured);
    if (!channels) return channels.error();
    return Searcher{side, std::move(*channels), measured.payload_bytes}.run();
}

}  // namespace tacholog
