// Latency under load: every so many messages of a stream one is a probe, which the subscriber answers. The publisher
// takes the answers beside its sending, also while it waits for room: or each side could wait for the other's.
#pragma once

#include "core/histogram.hpp"
#include "core/open_loop.hpp"
#include "core/side.hpp"

namespace tacholog {

class Probes {
public:
    /// `answers` is nullptr if there are none.
    Probes(const Side& side, Subscriber* answers) : side_(side), answers_(answers), every_(side.options.probe_every) {}

    bool active() const { return every_ > 0; }

    /// A phase begins with this message.
    void begin(std::uint64_t message) {
        if (!active()) return;
        first_ = next_ = (message + every_ - 1) / every_;
        newest_ = first_;
        outstanding_.restart(first_);
        round_trips_.clear();
        faults_ = {};
        corrupted_ = 0;
    }

    bool due(std::uint64_t message) const { return active() && message % every_ == 0; }

    /// The probe that was due is handed over from this moment on.
    void sent(Nanoseconds time_ns) {
        outstanding_.sent(time_ns);
        ++next_;
    }

    bool awaited() const { return !outstanding_.empty(); }

    /// Takes an answer. False if none came.
    Result<bool> take(Patience patience) {
        const auto sample = answers_->take(patience);
        if (!sample) return sample.error();
        if (!*sample) return false;
        const auto message = read_message((*sample)->bytes(), side_.options.handling);
        const Nanoseconds now = now_ns();
        const std::uint64_t probe = message.number / every_;
        if (probe < first_ || message.number % every_ != 0) return true;  // late, from the phase before
        if (!message.intact) ++corrupted_;
        const auto answer = outstanding_.answered(probe);
        if (answer.kind == Outstanding::Kind::again) ++faults_.duplicated;
        if (answer.kind != Outstanding::Kind::first) return true;
        if (probe < newest_) ++faults_.reordered;
        newest_ = std::max(newest_, probe);
        round_trips_.record(static_cast<std::uint64_t>(now - answer.sent_ns));
        return true;
    }

    /// Takes the answers that have come.
    Result<void> take_all() {
        while (awaited()) {
            const auto taken = take(Patience{0});
            if (!taken) return taken.error();
            if (!*taken) break;
        }
        return {};
    }

    /// Waits for the answers that are still to come; of a lossy transport, until it was silent for long.
    template <typename Heard>
    Result<void> drain(Heard&& heard) {
        constexpr Patience drain_silence{500};
        const bool lossy = side_.transport.reliability == Reliability::best_effort;
        Deadline silence{lossy ? drain_silence : side_.limit()};
        while (awaited() && !silence.passed()) {
            const auto taken = take(slice);
            if (!taken) return taken.error();
            if (*taken) silence = Deadline{lossy ? drain_silence : side_.limit()};
            if (auto fine = side_.listen(heard); !fine) return fine;
        }
        if (awaited() && !lossy) return Error{"take: no answer to a probe within the time limit"};
        return {};
    }

    /// How many this phase has had.
    std::uint64_t count() const { return next_ - first_; }
    const Histogram& round_trips() const { return round_trips_; }

    Faults faults() const {
        Faults all = faults_;
        all.lost = count() - round_trips_.count();
        if (side_.options.handling.verify) all.corrupted = corrupted_;
        return all;
    }

private:
    const Side& side_;
    Subscriber* answers_;
    std::uint64_t every_;
    std::uint64_t first_ = 0;  ///< of this phase; probes are numbered from 0 on
    std::uint64_t next_ = 0;
    std::uint64_t newest_ = 0;
    Outstanding outstanding_;
    Histogram round_trips_;
    Faults faults_;
    std::uint64_t corrupted_ = 0;
};

}  // namespace tacholog
