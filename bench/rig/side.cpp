#include "rig/side.hpp"

#include <algorithm>
#include <optional>
#include <random>

#include "base/text.hpp"
#include "control/fresh_process.hpp"
#include "machine/environment.hpp"
#include "machine/resources.hpp"
#include "rig/one_way.hpp"

namespace tacholog {
namespace {

constexpr std::size_t longest_companion = 4096;

/// Two sides on one CPU run in turn, so the result mainly shows how the kernel schedules them.
void tell_if_one_cpu(const Side& side, const std::string& own, const std::string& theirs) {
    const bool is_one = own.find_first_not_of("0123456789") == std::string::npos;
    if (side.options.role != Role::both || !is_one || own != theirs) return;
    side.tell(Note{"publisher and subscriber share CPU " + own + ": they run by turns, as the kernel lets them" +
                   (side.options.waiting == Waiting::block ? "" : "; who polls needs a CPU of its own")});
}

SideCpus cpus_of(std::vector<int> allowed, std::size_t threads) {
    return {boot_identity(), std::move(allowed), allowed_cpus(), threads};
}

/// Writes notes to the log if the side keeps its intervals until the end of each phase. A second note tells the length
/// of the intervals if it differs from the requested length. `where` names the side in the notes.
void tell_placement(const Side& side, const std::string& where) {
    if (side.placement.live) return;
    side.tell(Note{"reporting" + where +
                   ": no CPU is free beside those that measure: intervals are kept, and written at the end of each "
                   "phase"});
    if (side.options.test == Test::sustain) return;  // a trial always has exactly one interval
    const bool counts = side.options.test != Test::latency;
    const auto plan = side.intervals(counts ? most_counts_kept : most_histograms_kept);
    if (plan.length_ns == to_nanoseconds(side.options.interval_s)) return;
    side.tell(Note{"reporting" + where + ": so many intervals are not kept: each lasts " +
                   std::to_string(plan.length_ns / 1'000'000) + " ms"});
}

struct Told {
    std::string requested;
    SideCpus cpus;
};

Result<Told> read_affinity(const Frame& frame) {
    const auto blank = frame.text.find(' ');
    if (blank == std::string::npos) return Error{"control channel: the peer is out of step with this side"};
    auto cpus = parse_side_cpus(std::string_view{frame.text}.substr(blank + 1));
    if (!cpus) return cpus.error();
    return Told{shown(std::string_view{frame.text}.substr(0, blank), longest_reason), std::move(*cpus)};
}

/// The publisher knows the CPUs of all sides. It tells each subscriber which CPUs it may use for the rig's own work.
Result<Placement> exchange_affinity(const Side& side) {
    auto allowed = allowed_cpus();
    const auto own = pin("pub", side.options.cpu_pub);
    if (!own) return own.error();
    side.tell(*own);
    const auto frames = side.expect_all(FrameKind::affinity);
    if (!frames) return frames.error();
    std::vector<SideCpus> all{cpus_of(std::move(allowed), side.options.publishers)};
    for (std::size_t at = 0; at < frames->size(); ++at) {
        const auto theirs = read_affinity((*frames)[at]);
        if (!theirs) return theirs.error();
        const std::string achieved = comma_separated(theirs->cpus.achieved);
        side.tell(Affinity{"sub", theirs->requested, achieved, side.participant(at)});
        if (at == 0) tell_if_one_cpu(side, own->achieved, achieved);
        all.push_back(theirs->cpus);
    }
    const MeasuringCpus cpus = find_measuring_cpus(all.front(), {all.begin() + 1, all.end()});
    side.tell(cpus);
    Side of_subscriber = side;
    for (std::size_t at = 0; at < frames->size(); ++at) {
        of_subscriber.placement = choose_placement(all[at + 1], all);
        const auto& [live, shared, reporting] = of_subscriber.placement;
        const PlacementFrame answer{live, shared, comma_separated(reporting), cpus};
        if (auto sent = side.subscribers[at].send(frame_of(answer)); !sent) return sent.error();
        if (all[at + 1].host != all.front().host) {
            const std::string who = side.participant(at);
            tell_placement(of_subscriber, " at the subscriber" + (who.empty() ? "" : " " + who));
        }
    }
    return choose_placement(all.front(), all);
}

Result<Placement> pin_subscriber(const Side& side) {
    auto allowed = allowed_cpus();
    auto own = pin("sub", side.options.cpu_sub);
    if (!own) return own.error();
    own->participant = side.name;
    side.tell(*own);
    const Frame ours{FrameKind::affinity, {}, own->requested + " " + to_text(cpus_of(std::move(allowed), 1))};
    if (const auto sent = side.control.send(ours); !sent) return sent.error();
    // The other subscribers may connect later. The publisher waits for them as long as it waited for this one.
    const auto answer = side.control.expect(FrameKind::affinity,
                                            side.options.audience.subscribers > 1 ? 2 * side.limit() : side.limit());
    if (!answer) return answer.error();
    const auto told = read_frame<PlacementFrame>(*answer);
    side.tell(told.cpus);
    Placement placement{told.live, told.shared, {}};
    if (told.reporting_cpus.empty()) return placement;
    auto reporting = parse_cpus(told.reporting_cpus);
    if (!reporting) return Error{"control channel: the peer is out of step with this side"};
    placement.reporting = std::move(*reporting);
    return placement;
}

/// One-way latency is the difference between two readings of the same clock.
Result<void> compare_clocks(const Side& side) {
    if (side.options.basis == Basis::round_trip) return {};
    const auto theirs = side.control.expect(FrameKind::clock, side.limit());
    if (!theirs) return theirs.error();
    const std::string ours = clock_identity();
    if (ours.empty() || theirs->text != ours) {
        return Error{"--basis one-way: the two sides do not read one clock, as far as boot and time namespace tell"};
    }
    side.tell(Note{"one-way: both sides read one CLOCK_MONOTONIC, of the same boot and time namespace"});
    return {};
}

/// Two sides in one process are distinguished by their threads. A process may have further threads of its transport.
UsageOf counted_for(const Side& side) {
    return side.transport.parties == Parties::threads ? UsageOf::thread : UsageOf::process;
}

void tell_resources(const Side& side, std::string_view role, const std::string& participant, const Case& measured,
                    Resources used) {
    used.role = role;
    used.participant = participant;
    used.measured = measured;
    side.tell(used);
}

Resources without(Resources used, const Resources& before, const Resources& after) {
    const auto less = [](auto& from, auto earlier, auto later) { from -= std::min(from, later - earlier); };
    less(used.user_ns, before.user_ns, after.user_ns);
    less(used.system_ns, before.system_ns, after.system_ns);
    less(used.voluntary_switches, before.voluntary_switches, after.voluntary_switches);
    less(used.involuntary_switches, before.involuntary_switches, after.involuntary_switches);
    return used;
}

template <typename Run>
Result<Resources> measure_usage(const Side& side, Run&& run) {
    const UsageOf counted = counted_for(side);
    const Usage usage{counted};
    const Resources before = side.monitor->used();
    if (const auto done = run(); !done) return side.monitor->explained(done.error());
    Resources used = usage.so_far();
    if (const auto own_bytes = peak_memory_bytes()) {
        used.peak_memory_bytes = *own_bytes;
        used.peak_is_own = true;
    }
    return counted == UsageOf::thread ? used : without(used, before, side.monitor->used());
}

/// With several subscribers, several publishers or batches, results have no row for the cost.
void tell_cost(const Side& side, Cost cost, const Resources& own, const std::vector<Frame>& theirs) {
    const bool is_plain = theirs.size() == 1 && side.options.publishers == 1 && !side.options.batch_bytes;
    const bool is_known = side.companion_pid <= 0 || cost.companion_ns;
    if (cost.messages == 0 || !is_plain || !is_known) return;
    cost.sides_ns = own.user_ns + own.system_ns;
    for (const Frame& frame : theirs) {
        const Resources used = read_frame<ResourcesFrame>(frame).used;
        cost.sides_ns += used.user_ns + used.system_ns;
    }
    side.tell(cost);
}

Result<void> exchange_resources(const Side& side, const Cost& cost, const Resources& used) {
    const Case& measured = cost.measured;
    // Several publishers need several threads. The resources of one thread would not be those of all publishers.
    const bool several_threads = side.options.publishers > 1 && counted_for(side) == UsageOf::thread;
    if (!several_threads) tell_resources(side, "pub", "", measured, used);
    const auto theirs = side.expect_all(FrameKind::resources);
    if (!theirs) return theirs.error();
    for (std::size_t at = 0; at < theirs->size(); ++at) {
        tell_resources(side, "sub", side.participant(at), measured, read_frame<ResourcesFrame>((*theirs)[at]).used);
    }
    if (!several_threads) tell_cost(side, cost, used, *theirs);
    return {};
}

Result<void> report_resources(const Side& side, const Case& measured, const Resources& used) {
    tell_resources(side, "sub", side.name, measured, used);
    return side.control.send(frame_of(ResourcesFrame{used}));
}

/// Chooses the random number of the run, and sends it to all subscribers. The frame also contains the address of the
/// companion program of the publisher, because only the publisher knows this address.
Result<void> tell_run(Side& side) {
    std::random_device random;
    side.run_number = std::uint64_t{random()} << 32 | random();
    return side.tell_all(frame_of(RunFrame{side.run_number, side.companion}));
}

Result<void> hear_of_run(Side& side) {
    const auto frame = side.control.expect(FrameKind::run, side.limit());
    if (!frame) return frame.error();
    const RunFrame run = read_frame<RunFrame>(*frame);
    side.run_number = run.number;
    if (!side.companion.empty()) return {};  // this process has started its own companion program
    if (run.companion.size() > longest_companion)
        return Error{"control channel: the peer is out of step with this side"};
    side.companion = run.companion;
    if (side.companion.empty() || side.transport.endpoint_at == nullptr || side.options.any_endpoint) return {};
    // The address of the companion program comes from the peer, so it is checked like an endpoint.
    const auto found = side.transport.endpoint_at(side.companion, side.control.remote_address());
    if (!found)
        return Error{"join '" + side.companion +
                     "': the publisher is somewhere else, and may name no other address (unless "
                     "--any-endpoint is given here)"};
    side.companion = *found;
    return {};
}

/// Must be checked first, because the next step allocates memory for the size of the case.
bool agreed(const Side& side, const Frame& open) {
    const auto known = cases(side.options);
    return std::find(known.begin(), known.end(), read_frame<OpenFrame>(open).measured) != known.end();
}

bool is_answered(Test test) {
    return test == Test::latency || test == Test::sustain;
}

Result<void> publish_case(const Side& side, const Case& measured) {
    Cost cost{.measured = measured};
    const auto companion_before = processor_time_of(side.companion_pid);
    const auto used = measure_usage(side, [&]() -> Result<void> {
        if (is_answered(side.options.test)) return run_latency_publisher(side, measured);
        const auto arrived = run_throughput_publisher(side, measured);
        if (!arrived) return arrived.error();
        cost.messages = *arrived;
        return {};
    });
    if (!used) return used.error();
    const auto companion_after = processor_time_of(side.companion_pid);
    if (companion_before && companion_after) cost.companion_ns = *companion_after - *companion_before;
    return exchange_resources(side, cost, *used);
}

Result<void> subscribe_case(const Side& side, const Frame& open) {
    const auto run = is_answered(side.options.test) ? run_latency_subscriber : run_throughput_subscriber;
    const auto used = measure_usage(side, [&] { return run(side, open); });
    return used ? report_resources(side, read_frame<OpenFrame>(open).measured, *used) : used.error();
}

/// Runs one case after another: either all in this process, or each in a process of its own. A monitor watches each of
/// them.
class CaseProcess {
public:
    explicit CaseProcess(const Side& side) : side_(side) {
        if (side_.transport.fresh_process_for_each_size) return;
        monitor_.emplace(side_.peers(), side_.placement, side_.limit());
        side_.monitor = &*monitor_;
    }

    template <typename Work>
    Result<void> run(const std::string& who, Work&& work) {
        ++side_.case_number;
        if (monitor_) return work(side_);
        return in_fresh_process(who, side_.control.stop(), side_.log, [&]() -> Result<void> {
            // A forked process does not inherit the memory lock.
            if (auto tuned = apply(side_.options.tuning); !tuned) return tuned;
            Monitor monitor{side_.peers(), side_.placement, side_.limit()};
            Side of_case = side_;
            of_case.monitor = &monitor;
            return work(of_case);
        });
    }

private:
    Side side_;
    std::optional<Monitor> monitor_;
};

}  // namespace

Result<void> run_publisher(const Side& given) {
    Side side = given;
    if (auto tuned = apply(side.options.tuning); !tuned) return tuned;
    if (sleeps(side.options.waiting)) wake_on_time();
    auto placement = exchange_affinity(side);
    if (!placement) return placement.error();
    side.placement = std::move(*placement);
    tell_placement(side, "");
    if (auto alike = compare_clocks(side); !alike) return alike;
    if (auto told = tell_run(side); !told) return told;
    CaseProcess process{side};
    for (const Case& measured : cases(side.options)) {
        const auto done =
            process.run("the publisher", [&](const Side& of_case) { return publish_case(of_case, measured); });
        if (!done) return done;
        if (side.log == nullptr) continue;
        if (auto written = side.log->written(); !written) return written;
    }
    if (auto sent = side.tell_all({FrameKind::bye}); !sent) return sent;
    const auto bye = side.expect_all(FrameKind::bye);
    return bye ? Result<void>{} : bye.error();
}

Result<void> run_subscriber(const Side& given) {
    Side side = given;
    if (auto tuned = apply(side.options.tuning); !tuned) return tuned;
    if (sleeps(side.options.waiting)) wake_on_time();
    auto placement = pin_subscriber(side);
    if (!placement) return placement.error();
    side.placement = std::move(*placement);
    tell_placement(side, "");
    if (side.options.basis == Basis::one_way) {
        if (auto told = side.control.send({FrameKind::clock, {}, clock_identity()}); !told) return told;
    }
    if (auto heard = hear_of_run(side); !heard) return heard;
    CaseProcess process{side};
    side.control.limit_work(to_nanoseconds(side.longest_phase_s()));
    // The other subscribers may connect later. The publisher waits for them as long as it waited for this one.
    Patience patience = side.options.audience.subscribers > 1 ? 2 * side.limit() : side.limit();
    while (true) {
        auto next = side.control.receive(std::exchange(patience, side.limit()));
        if (!next) return next.error();
        if (next->kind == FrameKind::alive) continue;
        if (next->kind == FrameKind::bye) return side.control.send({FrameKind::bye});
        if (next->kind == FrameKind::abort) return side.control.gave_up(*next);
        if (next->kind != FrameKind::open) return Error{"control channel: the peer is out of step with this side"};
        if (!agreed(side, *next)) return Error{"control channel: the peer opens a case that was not agreed on"};
        const auto done =
            process.run("the subscriber", [&](const Side& of_case) { return subscribe_case(of_case, *next); });
        if (!done) return done;
    }
}

}  // namespace tacholog
