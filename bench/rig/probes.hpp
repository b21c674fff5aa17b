// Latency under load. In a stream, one of every N messages is a probe, which the subscriber answers. The publisher
// takes the answers between messages, and also while the transport is full: otherwise the two sides could wait for each
// other for ever.
#pragma once

#include <numeric>

#include "base/histogram.hpp"
#include "base/instances.hpp"
#include "rig/open_loop.hpp"
#include "rig/side.hpp"

namespace tacholog {

/// Selects the probes by their index among all messages: one of each `every` messages. With a fixed offset, they could
/// always hit the same few instances, if `every` and the number of instances have a common divisor. So the offset
/// increases by one after each lcm(every, instances) messages, and every instance has probes.
class ProbePlan {
public:
    ProbePlan(std::uint64_t every, std::uint64_t instances)
        : every_(every), shifts_(std::gcd(every, instances)), round_(std::lcm(every, instances)) {}

    bool includes(std::uint64_t index) const { return index % every_ == shift_at(index); }

    /// Returns the number of the group that contains the message with this index. A group is as many messages in a row
    /// as the parameter `every` of the constructor says. Each group has one probe, so the result is also the number of
    /// a probe.
    std::uint64_t probe_at(std::uint64_t index) const { return index / every_; }

    std::uint64_t first_from(std::uint64_t index) const {
        return probe_at(index) + (index % every_ > shift_at(index) ? 1 : 0);
    }

private:
    std::uint64_t shift_at(std::uint64_t index) const { return shifts_ == 1 ? 0 : index / round_ % shifts_; }

    std::uint64_t every_;
    std::uint64_t shifts_;
    std::uint64_t round_;
};

class Probes {
public:
    /// `answers` is nullptr if there are no probes.
    Probes(const Side& side, Subscriber* answers)
        : side_(side),
          answers_(answers),
          instances_(instances_of(side)),
          plan_(side.options.probe_every, instances_),
          newest_(instances_),
          outstanding_(active() ? Outstanding::most_remembered : 0) {}

    bool active() const { return side_.options.probe_every > 0; }

    /// `index` is the index of the first message of the phase among all messages.
    void begin(std::uint64_t index) {
        if (!active()) return;
        first_ = next_ = plan_.first_from(index);
        newest_.restart(index);
        outstanding_.restart(first_);
        round_trips_.clear();
        faults_ = {};
        corrupted_ = unreadable_ = 0;
    }

    bool due(std::uint64_t index) const { return active() && plan_.includes(index); }

    void sent(Nanoseconds time_ns) {
        outstanding_.sent(time_ns);
        ++next_;
    }

    bool awaited() const { return round_trips_.count() + unreadable_ < count(); }

    /// Returns not_yet if no answer has arrived.
    Result<Done> take(Patience patience) {
        const auto sample = answers_->take(patience);
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
        const std::uint64_t probe = plan_.probe_at(index);
        if (probe < first_ || !plan_.includes(index)) return Done::yes;  // a late answer, from the previous phase
        if (message.corrupted) ++corrupted_;
        const auto answer = outstanding_.answered(probe);
        if (answer.kind == Outstanding::Kind::again) ++faults_.duplicated;
        if (answer.kind != Outstanding::Kind::first) return Done::yes;
        if (!newest_.advance(*message.number)) ++faults_.reordered;
        round_trips_.record(static_cast<std::uint64_t>(now - answer.sent_ns));
        return Done::yes;
    }

    Result<void> take_all() {
        while (awaited()) {
            const auto taken = take(Patience{0});
            if (!taken.has_value()) return taken.error();
            if (*taken == Done::not_yet) break;
        }
        return {};
    }

    /// Over a lossy transport, waits only until nothing has arrived for some time.
    Result<void> drain() {
        constexpr Patience drain_silence{500};
        const bool lossy = side_.transport.reliability == Reliability::best_effort;
        Silence silence{lossy ? drain_silence : side_.limit()};
        while (awaited() && !silence.passed()) {
            const auto taken = take(slice);
            if (!taken.has_value()) return taken.error();
            if (*taken == Done::yes) silence.begin(lossy ? drain_silence : side_.limit());
            if (auto fine = side_.monitor->fine(); !fine) return fine;
        }
        if (awaited() && !lossy) return Error{"take: no answer to a probe within the time limit"};
        return {};
    }

    std::uint64_t count() const { return next_ - first_; }
    const Histogram& round_trips() const { return round_trips_; }
    /// The number of instances with at least one answered probe.
    std::uint64_t heard() const { return newest_.heard(); }

    Faults faults() const {
        Faults all = faults_;
        all.lost = count() - std::min(count(), round_trips_.count() + unreadable_);
        all.corrupted = known_corrupted(side_.options.handling, corrupted_);
        return all;
    }

private:
    const Side& side_;
    Subscriber* answers_;
    std::uint64_t instances_;
    ProbePlan plan_;
    Newest newest_;
    std::uint64_t first_ = 0;
    std::uint64_t next_ = 0;
    Outstanding outstanding_;
    Histogram round_trips_;
    Faults faults_;
    std::uint64_t corrupted_ = 0;
    std::uint64_t unreadable_ = 0;  ///< answers with an unreadable number
};

}  // namespace tacholog
