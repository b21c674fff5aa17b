#include "core/side.hpp"

#include <unistd.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "core/environment.hpp"
#include "core/one_way.hpp"
#include "core/resources.hpp"
#include "core/text.hpp"

namespace tacholog {
namespace {

/// A name that no other run on this host has: its process and 64 random bits.
/// Faults are injected on the way to the subscriber alone: what is injected is then what a round trip shows. Only a
/// corrupted answer is asked for by itself.
Topic new_topic(const Side& side, std::size_t payload_bytes, std::string_view direction) {
    std::random_device random;
    const std::uint64_t salt = std::uint64_t{random()} << 32 | random();
    Topic topic{"tacholog-" + std::to_string(::getpid()) + "-" + std::to_string(salt) + "-" + std::string{direction},
                payload_bytes, side.control.local_host(), side.options.address};
    topic.waiting = side.options.waiting;
    topic.congestion = side.options.congestion;
    if (direction == "ping") {
        topic.injection = side.options.injection;
        topic.audience = side.options.audience;
        topic.batch_messages = messages_a_batch(side.options, payload_bytes);
    } else {
        topic.injection.corrupt = side.options.injection.corrupt_answer;
    }
    return topic;
}

Result<void> join(const Side& side, Channels& channels, std::string_view direction,
                  const std::vector<std::string>& endpoints, std::size_t payload_bytes) {
    const Topic topic = new_topic(side, payload_bytes, direction);
    auto publisher = endpoints.size() == 1 ? side.transport.advertise(topic, endpoints.front())
                                           : side.transport.advertise_to_all(topic, endpoints);
    if (!publisher) return publisher.error();
    channels.publisher = std::move(*publisher);
    return {};
}

/// The endpoint that the peer names, if it may: whoever can speak to the control port could else have us send to hosts
/// that never asked for it.
Result<std::string> vetted(const Side& side, const Control& peer, const std::string& endpoint) {
    if (side.transport.endpoint_at == nullptr || side.options.any_endpoint) return endpoint;
    const Address host = peer.remote_address();
    const auto found = side.transport.endpoint_at(endpoint, host);
    if (found) return *found;
    return Error{"advertise to '" + endpoint + "': " + peer.peer() + " is at " + host_of(host) +
                 ", and may name no other address (unless --any-endpoint is given here)"};
}

/// The endpoints that one subscriber has for several publishers, one a line.
std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream{text};
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// Several publishers join one subscriber, each where it listens for that one.
Result<void> join_all(const Side& side, Channels& channels, const std::string& endpoints, std::size_t payload_bytes) {
    auto lines = lines_of(endpoints);
    if (lines.size() != side.options.publishers)
        return Error{"control channel: the peer is out of step with this side"};
    for (std::string& line : lines) {
        auto endpoint = vetted(side, side.control, line);
        if (!endpoint) return endpoint.error();
        line = std::move(*endpoint);
    }
    if (auto joined = join(side, channels, "ping", {lines.front()}, payload_bytes); !joined) return joined;
    for (auto line = lines.begin() + 1; line != lines.end(); ++line) {
        auto publisher = side.transport.advertise(new_topic(side, payload_bytes, "ping"), *line);
        if (!publisher) return publisher.error();
        channels.more_publishers.push_back(std::move(*publisher));
    }
    return {};
}

/// Joins the subscribers that have answered.
Result<void> join_those(const Side& side, Channels& channels, const std::vector<Frame>& replies,
                        std::size_t payload_bytes) {
    if (side.options.publishers > 1) return join_all(side, channels, replies.front().text, payload_bytes);
    std::vector<std::string> endpoints;
    for (std::size_t at = 0; at < replies.size(); ++at) {
        auto endpoint = vetted(side, side.subscribers[at], replies[at].text);
        if (!endpoint) return endpoint.error();
        endpoints.push_back(std::move(*endpoint));
    }
    return join(side, channels, "ping", endpoints, payload_bytes);
}

Result<void> match(const Side& side, Subscriber& subscriber) {
    const auto matched = subscriber.match(side.limit());
    if (!matched) return matched.error();
    if (!*matched) return Error{"join: the peer's publisher has not come within the time limit"};
    return {};
}

/// Waits until the peer's publishers have joined our subscribers, if we have any.
Result<void> match(const Side& side, const Channels& channels) {
    if (!channels.subscriber) return {};
    if (auto matched = match(side, *channels.subscriber); !matched) return matched;
    for (const auto& subscriber : channels.more_subscribers) {
        if (auto matched = match(side, *subscriber); !matched) return matched;
    }
    return {};
}

/// Where one subscriber waits for its publishers, each at an endpoint of its own. They travel as lines of one text.
Result<std::string> subscribe_to_all(const Side& side, Channels& channels, std::size_t payload_bytes) {
    std::string endpoints;
    for (std::size_t count = 0; count < side.options.publishers; ++count) {
        auto pings = side.transport.subscribe(new_topic(side, payload_bytes, "ping"));
        if (!pings) return pings.error();
        if (count > 0) endpoints += '\n';
        endpoints += (*pings)->endpoint();
        if (count == 0) {
            channels.subscriber = std::move(*pings);
        } else {
            channels.more_subscribers.push_back(std::move(*pings));
        }
    }
    return endpoints;
}

/// Both sides have matched, and know it of each other.
Result<void> exchange_ready(const Side& side) {
    if (const auto sent = side.control.send({FrameKind::ready}); !sent) return sent.error();
    const auto ready = side.control.expect(FrameKind::ready, side.limit());
    return ready ? Result<void>{} : ready.error();
}

std::optional<SocketBuffers> buffers(const Channels& channels) {
    if (channels.subscriber && channels.subscriber->buffers()) return channels.subscriber->buffers();
    return channels.publisher ? channels.publisher->buffers() : std::nullopt;
}

Frame sockets_frame(const Channels& channels) {
    Frame frame{FrameKind::sockets};
    if (const auto found = buffers(channels)) {
        frame.numbers = {static_cast<std::uint64_t>(found->receive_bytes),
                         static_cast<std::uint64_t>(found->send_bytes)};
        frame.text = found->congestion;
    }
    return frame;
}

Frame open_frame(const Case& measured, const std::string& endpoint) {
    Frame frame{FrameKind::open, {measured.payload_bytes}, endpoint};
    if (measured.demand) {
        frame.numbers.push_back(measured.demand->messages);
        frame.numbers.push_back(static_cast<std::uint64_t>(measured.demand->recovery_ns));
    }
    return frame;
}

/// Whether this is where a run begins: what holds for all of it is told there.
bool is_first(const Side& side, const Case& measured) {
    return measured == cases(side.options).front();
}

void tell_sockets(const Side& side, const std::string& role, const std::string& participant, const Frame& frame) {
    if (!frame.numbers.empty()) side.tell(Sockets{role, frame.number(0), frame.number(1), participant, frame.text});
}

}  // namespace

Case case_of(const Frame& open) {
    Case measured{open.number(0), std::nullopt};
    if (open.number(1) > 0) {
        measured.demand = Demand{static_cast<std::uint32_t>(open.number(1)), static_cast<Nanoseconds>(open.number(2))};
    }
    return measured;
}

Result<Channels> open_channels_as_publisher(const Side& side, const Case& measured) {
    Channels channels;
    const std::size_t payload_bytes = measured.payload_bytes;
    std::string answers_at;
    const bool round_trips = side.options.test == Test::latency && side.options.basis == Basis::round_trip;
    if (round_trips || side.options.probe_every > 0) {
        auto answers = side.transport.subscribe(new_topic(side, payload_bytes, "pong"));
        if (!answers) return answers.error();
        channels.subscriber = std::move(*answers);
        answers_at = channels.subscriber->endpoint();
    }
    if (const auto sent = side.tell_all(open_frame(measured, answers_at)); !sent) return sent.error();
    const auto replies = side.expect_all(FrameKind::open);
    if (!replies) return replies.error();
    const auto joined = join_those(side, channels, *replies, payload_bytes);
    if (!joined) return joined.error();
    if (const auto matched = match(side, channels); !matched) return matched.error();
    if (const auto sent = side.tell_all({FrameKind::ready}); !sent) return sent.error();
    if (const auto ready = side.expect_all(FrameKind::ready); !ready) return ready.error();
    const auto theirs = side.expect_all(FrameKind::sockets);
    if (!theirs) return theirs.error();
    if (!is_first(side, measured)) return channels;
    tell_sockets(side, "pub", "", sockets_frame(channels));
    for (std::size_t at = 0; at < theirs->size(); ++at) tell_sockets(side, "sub", side.participant(at), (*theirs)[at]);
    return channels;
}

Result<Channels> open_channels_as_subscriber(const Side& side, const Frame& open) {
    Channels channels;
    const Case measured = case_of(open);
    const std::size_t payload_bytes = measured.payload_bytes;
    const auto endpoints = subscribe_to_all(side, channels, payload_bytes);
    if (!endpoints) return endpoints.error();
    const auto reply = side.control.send(open_frame(measured, *endpoints));
    if (!reply) return reply.error();
    if (!open.text.empty()) {
        const auto endpoint = vetted(side, side.control, open.text);
        if (!endpoint) return endpoint.error();
        const auto joined = join(side, channels, "pong", {*endpoint}, payload_bytes);
        if (!joined) return joined.error();
    }
    if (const auto matched = match(side, channels); !matched) return matched.error();
    if (const auto ready = exchange_ready(side); !ready) return ready.error();
    const Frame sockets = sockets_frame(channels);
    if (const auto sent = side.control.send(sockets); !sent) return sent.error();
    if (is_first(side, measured)) tell_sockets(side, "sub", side.name, sockets);
    return channels;
}

namespace {

std::string demands(const Options& options) {
    if (options.test != Test::demand) return "";
    std::vector<Nanoseconds> recovery_ms;
    for (const auto time : options.recovery_ns) recovery_ms.push_back(time / 1'000'000);
    return " --demands=" + to_text(options.demand_table) + " --recovery=" + comma_separated(recovery_ms);
}

}  // namespace

std::string agreement(const Options& options) {
    const auto number = [](std::optional<double> value, const char* otherwise) {
        return value ? std::to_string(*value) : std::string{otherwise};
    };
    return "--test=" + std::string{to_text(options.test)} + " --transport=" + options.transport +
           " --sizes=" + comma_separated(options.sizes) + demands(options) +
           " --duration=" + std::to_string(options.duration_s) + " --warmup=" + number(options.warmup_s, "steady") +
           " --rate=" + number(options.rate_per_s, "max") + " --touch=" + std::string{to_text(options.handling.touch)} +
           " --verify=" + (options.handling.verify ? "yes" : "no") +
           " --wait=" + std::string{to_text(options.waiting)} + " --basis=" + std::string{to_text(options.basis)} +
           " --subscribers=" + std::to_string(options.audience.subscribers) +
           " --slow-subscriber=" + std::string{to_text(options.audience.slow)} +
           " --batch-bytes=" + std::to_string(options.batch_bytes) +
           " --probe-every=" + std::to_string(options.probe_every) +
           (options.interval_s == Options{}.interval_s ? ""
                                                       : " --interval-length=" + std::to_string(options.interval_s)) +
           (options.congestion.empty() ? "" : " --congestion=" + options.congestion) +
           (options.publishers > 1 ? " --publishers=" + std::to_string(options.publishers) : "") +
           (options.instances ? " --instances=" + std::to_string(*options.instances) : "");
}

namespace {

/// On one CPU, the sides of one host run by turns: what is measured is how the kernel lets them.
void tell_if_one_cpu(const Side& side, const std::string& own, const std::string& theirs) {
    const bool is_one = own.find_first_not_of("0123456789") == std::string::npos;
    if (side.options.role != Role::both || !is_one || own != theirs) return;
    side.tell(Note{"publisher and subscriber share CPU " + own + ": they run by turns, as the kernel lets them" +
                   (side.options.waiting == Waiting::block ? "" : "; who polls needs a CPU of its own")});
}

SideCpus cpus_of(std::vector<int> allowed, std::size_t threads) {
    return {boot_identity(), std::move(allowed), allowed_cpus(), threads};
}

/// A log says how its interval lines came about, wherever they were kept back.
void tell_placement(const Side& side, const std::string& where) {
    if (side.placement.live) return;
    side.tell(Note{"reporting" + where +
                   ": no CPU is free beside those that measure: intervals are kept, and written at the end of each "
                   "phase"});
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
    return Told{frame.text.substr(0, blank), std::move(*cpus)};
}

/// The publisher knows the CPUs of all, and tells each subscriber where the rig's own work goes there.
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
    Side of_subscriber = side;
    for (std::size_t at = 0; at < frames->size(); ++at) {
        of_subscriber.placement = place(all[at + 1], all);
        const auto& [live, shared, reporting] = of_subscriber.placement;
        const Frame answer{FrameKind::affinity, {live ? 1U : 0U, shared ? 1U : 0U}, comma_separated(reporting)};
        if (auto sent = side.subscribers[at].send(answer); !sent) return sent.error();
        if (all[at + 1].host != all.front().host) {
            const std::string who = side.participant(at);
            tell_placement(of_subscriber, " at the subscriber" + (who.empty() ? "" : " " + who));
        }
    }
    return place(all.front(), all);
}

Result<Placement> pin_subscriber(const Side& side) {
    auto allowed = allowed_cpus();
    auto own = pin("sub", side.options.cpu_sub);
    if (!own) return own.error();
    own->participant = side.name;
    side.tell(*own);
    const Frame told{FrameKind::affinity, {}, own->requested + " " + to_text(cpus_of(std::move(allowed), 1))};
    if (const auto sent = side.control.send(told); !sent) return sent.error();
    // The other subscribers may come later: the publisher waits for them as long as we waited for it.
    const auto answer = side.control.expect(FrameKind::affinity,
                                            side.options.audience.subscribers > 1 ? 2 * side.limit() : side.limit());
    if (!answer) return answer.error();
    Placement placement{answer->number(0) == 1, answer->number(1) == 1, {}};
    if (answer->text.empty()) return placement;
    auto reporting = parse_cpus(answer->text);
    if (!reporting) return Error{"control channel: the peer is out of step with this side"};
    placement.reporting = std::move(*reporting);
    return placement;
}

/// One-way latency is the difference of two readings: both sides must read the same clock.
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

/// Two sides in one process are told apart by their threads; a process may have threads of its transport.
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

/// What the rig's own work took is not the side's.
Resources without(Resources used, const Resources& before, const Resources& after) {
    const auto less = [](auto& from, auto earlier, auto later) { from -= std::min(from, later - earlier); };
    less(used.user_ns, before.user_ns, after.user_ns);
    less(used.system_ns, before.system_ns, after.system_ns);
    less(used.voluntary_switches, before.voluntary_switches, after.voluntary_switches);
    less(used.involuntary_switches, before.involuntary_switches, after.involuntary_switches);
    return used;
}

/// Runs a case, and finds out what it used.
template <typename Run>
Result<Resources> measure_usage(const Side& side, Run&& run) {
    const UsageOf counted = counted_for(side);
    const Usage usage{counted};
    const Resources before = side.monitor->used();
    if (const auto done = run(); !done) return side.monitor->explained(done.error());
    const Resources used = usage.so_far();
    return counted == UsageOf::thread ? used : without(used, before, side.monitor->used());
}

Result<void> exchange_resources(const Side& side, const Case& measured, const Resources& used) {
    // What one thread of several used is not what they all did.
    const bool several_threads = side.options.publishers > 1 && counted_for(side) == UsageOf::thread;
    if (!several_threads) tell_resources(side, "pub", "", measured, used);
    const auto theirs = side.expect_all(FrameKind::resources);
    if (!theirs) return theirs.error();
    for (std::size_t at = 0; at < theirs->size(); ++at) {
        const Frame& frame = (*theirs)[at];
        Resources other;
        other.duration_ns = static_cast<Nanoseconds>(frame.number(0));
        other.user_ns = static_cast<Nanoseconds>(frame.number(1));
        other.system_ns = static_cast<Nanoseconds>(frame.number(2));
        other.voluntary_switches = frame.number(3);
        other.involuntary_switches = frame.number(4);
        other.peak_memory_bytes = frame.number(5);
        tell_resources(side, "sub", side.participant(at), measured, other);
    }
    return {};
}

Result<void> report_resources(const Side& side, const Case& measured, const Resources& used) {
    tell_resources(side, "sub", side.name, measured, used);
    return side.control.send({FrameKind::resources,
                              {static_cast<std::uint64_t>(used.duration_ns), static_cast<std::uint64_t>(used.user_ns),
                               static_cast<std::uint64_t>(used.system_ns), used.voluntary_switches,
                               used.involuntary_switches, used.peak_memory_bytes}});
}

/// Whether this is one of the cases that both sides were told of: its size is about to be allocated.
bool agreed(const Side& side, const Frame& open) {
    const auto known = cases(side.options);
    return std::find(known.begin(), known.end(), case_of(open)) != known.end();
}

}  // namespace

Result<void> run_publisher(const Side& given) {
    Side side = given;
    if (sleeps(side.options.waiting)) wake_on_time();
    auto placement = exchange_affinity(side);
    if (!placement) return placement.error();
    side.placement = std::move(*placement);
    tell_placement(side, "");
    if (auto alike = compare_clocks(side); !alike) return alike;
    Monitor monitor{side.peers(), side.placement, side.limit()};
    side.monitor = &monitor;
    const auto run = side.options.test == Test::latency ? run_latency_publisher : run_throughput_publisher;
    for (const Case& measured : cases(side.options)) {
        const auto used = measure_usage(side, [&] { return run(side, measured); });
        if (!used) return used.error();
        if (auto told = exchange_resources(side, measured, *used); !told) return told;
        if (side.log == nullptr) continue;
        if (auto written = side.log->written(); !written) return written;
    }
    if (auto sent = side.tell_all({FrameKind::bye}); !sent) return sent;
    const auto bye = side.expect_all(FrameKind::bye);
    return bye ? Result<void>{} : bye.error();
}

Result<void> run_subscriber(const Side& given) {
    Side side = given;
    if (sleeps(side.options.waiting)) wake_on_time();
    auto placement = pin_subscriber(side);
    if (!placement) return placement.error();
    side.placement = std::move(*placement);
    tell_placement(side, "");
    if (side.options.basis == Basis::one_way) {
        if (auto told = side.control.send({FrameKind::clock, {}, clock_identity()}); !told) return told;
    }
    Monitor monitor{side.peers(), side.placement, side.limit()};
    side.monitor = &monitor;
    const auto run = side.options.test == Test::latency ? run_latency_subscriber : run_throughput_subscriber;
    // The other subscribers may come later: the publisher waits for them as long as we waited for it.
    Patience patience = side.options.audience.subscribers > 1 ? 2 * side.limit() : side.limit();
    while (true) {
        auto next = side.control.receive(std::exchange(patience, side.limit()));
        if (!next) return next.error();
        if (next->kind == FrameKind::bye) return side.control.send({FrameKind::bye});
        if (next->kind == FrameKind::abort) return Error{"the peer gave up: " + next->text};
        if (next->kind != FrameKind::open) return Error{"control channel: the peer is out of step with this side"};
        if (!agreed(side, *next)) return Error{"control channel: the peer opens a case that was not agreed on"};
        const auto used = measure_usage(side, [&] { return run(side, *next); });
        if (!used) return used.error();
        if (auto told = report_resources(side, case_of(*next), *used); !told) return told;
    }
}

}  // namespace tacholog
