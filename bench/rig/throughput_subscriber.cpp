// The subscriber's side of the throughput test and of the demand test. The subscriber counts the messages that arrive,
// and reports to the publisher every second and at the end of each phase.
#include "base/waiting.hpp"
#include "rig/count_intervals.hpp"
#include "rig/probes.hpp"
#include "rig/sink.hpp"

namespace tacholog {
namespace {

template <typename Check>
class Counts {
public:
    using Intakes = std::vector<Intake<Check>>;  ///< one for each publisher

    Counts(const Side& side, const Case& measured, std::unique_ptr<Publisher> answers)
        : side_(side),
          answers_(std::move(answers)),
          payload_bytes_(measured.payload_bytes),
          demand_(measured.demand),
          messages_a_look_(messages_between_looks(payload_bytes_)),
          probes_(side.options.probe_every, instances_of(side)),
          intervals_(side.intervals(most_counts_kept)) {}

    bool is_live(bool) const { return side_.placement.live; }

    void begin(bool measured) {
        intervals_.begin();
        index_ = 0;
        measured_ = measured;
    }

    /// Takes messages of all publishers. Returns not_yet if no message arrived within the time `slice`.
    Result<Done> take(Intakes& intakes) {
        const auto read = [this](std::span<const std::byte> bytes) {
            return read_message(bytes, side_.options.handling);
        };
        const auto fresh = [this](std::uint64_t number) { return answer_if_probe(number); };
        if (intakes.size() == 1) return intakes.front().take(messages_a_look_, slice, read, fresh);
        BusyPoll poll{slice, Waiting::busy_poll, side_.yield()};
        bool any = false;
        do {
            for (auto& intake : intakes) {
                const auto taken = intake.take(messages_a_look_, Patience{0}, read, fresh);
                if (!taken.has_value()) return taken.error();
                any = any || *taken == Done::yes;
            }
        } while (!any && poll.wait());
        return done_if(any);
    }

    /// Intervals begin with the first message.
    void pass(Nanoseconds now, const Intakes& intakes) {
        if (!measured_) return;
        if (!intervals_.begun()) begin_intervals(intakes);
        if (intervals_.is_over(now)) intervals_.hand_over(now, so_far(intakes));
    }

    /// Reports the intervals that were handed over. The monitor's thread calls this function during a phase, and the
    /// measuring thread calls it after the phase.
    Result<void> collect() {
        while (const CountRecord* record = intervals_.oldest()) {
            if (auto reported = report(*record); !reported) return reported;
            intervals_.give_back();
        }
        return {};
    }

    Result<std::vector<PhaseDoneFrame>> finish(const Intakes& intakes) {
        if (auto reported = report_rest(intakes); !reported) return reported.error();
        std::vector<PhaseDoneFrame> counts;
        for (const auto& intake : intakes) {
            counts.push_back(counts_of(intake));
            const std::string participant = intakes.size() > 1 ? name_of_publisher(counts.size() - 1) : side_.name;
            if (measured_) tell(counts.back(), intake.next_first - intake.first, participant);
        }
        return counts;
    }

private:
    /// The publisher goes on taking answers all the time, so there will be space for this one.
    Result<void> answer_if_probe(std::uint64_t number) {
        if (side_.options.probe_every == 0 || !probes_.includes(index_of(number, instances_of(side_)))) return {};
        auto loan = answers_->loan(payload_bytes_);
        if (!loan) return loan.error();
        write_message(loan->bytes(), number, side_.options.handling);
        return publish(side_, std::move(*loan));
    }

    void begin_intervals(const Intakes& intakes) {
        Nanoseconds first_ns = 0;
        for (const auto& intake : intakes) {
            if (intake.first_ns > 0) first_ns = first_ns == 0 ? intake.first_ns : std::min(first_ns, intake.first_ns);
        }
        if (first_ns > 0) intervals_.first_came(first_ns);
    }

    static CountIntervals::SoFar so_far(const Intakes& intakes) {
        CountIntervals::SoFar sum;
        for (const auto& intake : intakes) {
            sum.received += intake.sequence.received();
            sum.lost += intake.lost_so_far();
        }
        return sum;
    }

    Result<void> report(const CountRecord& record) {
        side_.tell(ThroughputInterval{payload_bytes_, index_, record.duration_ns, record.messages, record.lost, demand_,
                                      side_.name});
        const IntervalFrame interval{index_++, record.duration_ns, record.messages, record.lost};
        return side_.control.send(frame_of(interval), side_.limit());
    }

    /// Reports the last interval of a measurement. It is called only after the phase has ended, when its counts no
    /// longer change.
    Result<void> report_rest(const Intakes& intakes) {
        if (!measured_) return {};
        if (!intervals_.begun()) begin_intervals(intakes);
        Nanoseconds last_ns = 0;
        CountIntervals::SoFar total;
        for (const auto& intake : intakes) {
            last_ns = std::max(last_ns, intake.last_ns);
            total.received += intake.sequence.received();
            total.lost += intake.lost();
        }
        const auto rest = intervals_.rest(last_ns, now_ns(), total);
        return rest ? report(*rest) : Result<void>{};
    }

    void tell(const PhaseDoneFrame& counts, std::uint64_t sent, const std::string& participant) {
        const Faults faults = faults_of(side_, counts);
        const auto instances = heard(side_, counts.instances_heard);
        const Batches batches = batches_of(side_.options, payload_bytes_);
        if (demand_) {
            side_.tell(DemandResult{payload_bytes_, *demand_, sent, counts.received, faults, std::nullopt,
                                    counts.duration_ns, participant, instances, batches});
        } else {
            side_.tell(ThroughputResult{payload_bytes_, sent, counts.received, faults, counts.duration_ns, std::nullopt,
                                        participant, instances, batches});
        }
    }

    const Side& side_;
    std::unique_ptr<Publisher> answers_;  ///< for answers to probes; nullptr if there are no probes
    std::size_t payload_bytes_;
    std::optional<Demand> demand_;
    std::size_t messages_a_look_;
    ProbePlan probes_;
    bool measured_ = false;  ///< whether the phase is a measurement; false during the warm-up
    CountIntervals intervals_;
    std::uint64_t index_ = 0;  ///< the index of the next interval to be reported
};

}  // namespace

Result<void> run_throughput_subscriber(const Side& side, const Frame& open) {
    return run_sink<Counts>(side, open);
}

}  // namespace tacholog
