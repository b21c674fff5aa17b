// The native log: one fact per line, `kind key=value ...`, flushed as soon as it is known. The format is described in
// docs/native-log.md.
#include "reporters/native.hpp"

#include <algorithm>
#include <ostream>

#include "base/memory_facts.hpp"
#include "reporters/native_line.hpp"
#include "reporters/native_parts.hpp"
#include "reporters/native_search.hpp"

namespace tacholog::reporters {
namespace {

std::string_view to_text(Outcome outcome) {
    if (outcome == Outcome::fixed) return "fixed";
    return outcome == Outcome::steady ? "steady" : "not_steady";
}

Line line_of(std::string_view kind, std::size_t payload_bytes, const std::optional<Demand>& demand) {
    Line line{kind};
    line.add("payload_bytes", payload_bytes);
    if (demand) line.add("demand", demand->messages).add("recovery_time_ns", demand->recovery_ns);
    return line;
}

void add_instances(Line& line, const std::optional<Instances>& instances) {
    if (instances) line.add("instances", instances->written).add("instances_heard", instances->heard);
}

void add_batches(Line& line, const Batches& batches) {
    if (batches.messages > 0) line.add("batch_messages", batches.messages).add("batched_by", batches.by);
}

std::string_view kind_of(std::string_view key) {
    return is_of_socket(key) ? "socket" : is_of_memory(key) ? "memory" : "transport";
}

}  // namespace

void NativeLog::write(const Build& build) {
    put(Line{"perftest"}
            .add("version", build.version)
            .add("log", "native/1")
            .add("git", build.git)
            .add("build", build.type)
            .add("compiler", build.compiler)
            .add("flags", build.flags)
            .add("libc", build.libc));
}

void NativeLog::write(const Config& config) {
    const Options& options = config.options;
    test_ = to_text(options.test);
    basis_ = options.basis;
    Line line{"config"};
    line.add("test", to_text(options.test))
        .add("transport", options.transport)
        .add("reach", config.reach)
        .add("data_path", config.data_path)
        .add("reliability", config.reliability)
        .add("role", to_text(options.role))
        .add("sizes_bytes", options.sizes);
    if (options.test == Test::demand) {
        line.add("demands", to_text(options.demand_table)).add("recovery_times_ns", options.recovery_ns);
    }
    line.add_given("duration_s", options.duration_s)
        .add("warmup", options.warmup_s ? "fixed" : "steady")
        .add_given("warmup_s", options.warmup_s)
        .add_given("interval_s", options.interval_s)
        .add_given("rate_per_s", options.rate_per_s);
    if (options.test == Test::sustain) add_search(line, options.sustain);
    line.add("touch", to_text(options.handling.touch))
        .add("verify", options.handling.verify)
        .add("waiting", to_text(options.waiting));
    const char* unpaced = options.test == Test::latency ? "closed" : "max-rate";
    open_ = is_open_loop(options);
    if (options.probe_every > 0) probe_every_ = options.probe_every;
    line.add("load_mode", open_ ? "open" : unpaced)
        .add("publishers", options.publishers)
        .add("subscribers", options.audience.subscribers)
        .add("slow_subscriber", config.slow_subscriber)
        .add("instances", options.instances)
        .add("batch_bytes", options.batch_bytes)
        .add("probe_every", probe_every_)
        .add("cpu_pub", options.cpu_pub)
        .add("cpu_sub", options.cpu_sub)
        .add("tuning", options.tuning.text())
        .add_given("timeout_s", options.timeout_s)
        .add_given("answer_limit_s", options.answer_limit_s)
        .add("address", options.address)
        .add("endpoints", options.any_endpoint ? "any" : "")
        .add("command", options.command);
    put(line);
}

void NativeLog::write(const SettingsInEffect& in_effect) {
    Line line{"settings"};
    for (const auto& [name, value] : in_effect.settings) line.add(log_key(name), value);
    put(line);
}

void NativeLog::write(const Host& host) {
    put(Line{"host"}
            .add("name", host.name)
            .add("kernel", host.kernel)
            .add("distribution", host.distribution)
            .add("cpu_model", host.cpu_model)
            .add("cpus_online", host.cpus_online)
            .add("threads_per_core", host.threads_per_core)
            .add("memory_bytes", host.memory_bytes)
            .add("governor", host.governor)
            .add("isolated_cpus", host.isolated_cpus)
            .add("idle_driver", host.idle_driver)
            .add("idle_states", host.idle_states)
            .add("turbo", host.turbo)
            .add("transparent_huge_pages", host.transparent_huge_pages)
            .add("shared_memory_huge_pages", host.shared_memory_huge_pages)
            .add("realtime_throttling", host.realtime_throttling)
            .add("virtualisation", host.virtualisation)
            .add("clocksource", host.clocksource)
            .add("mitigations_off", host.mitigations_off));
}

void NativeLog::write(const ClockFacts& clock) {
    put(Line{"clock"}
            .add("name", "CLOCK_MONOTONIC")
            .add("resolution_ns", clock.resolution_ns)
            .add("overhead_ns", clock.overhead_ns, 1));
}

void NativeLog::write(const Load& load) {
    put(Line{"load"}
            .add("at", load.at_end ? "end" : "start")
            .add("load1", load.load1, 2)
            .add("load5", load.load5, 2)
            .add("load15", load.load15, 2));
}

void NativeLog::write(const Start& start) {
    put(Line{"start"}.add("time", start.time));
}

void NativeLog::write(const Affinity& affinity) {
    put(Line{"affinity"}
            .add("role", affinity.role)
            .add("participant", affinity.participant)
            .add("requested", affinity.requested)
            .add("achieved", affinity.achieved));
}

void NativeLog::write(const MeasuringCpus& cpus) {
    Line line{"placement"};
    line.add("relation", to_text(cpus.relation));
    if (cpus.cache_level >= 0)
        line.add("shared_cache", cpus.cache_level == 0 ? "none" : "L" + std::to_string(cpus.cache_level));
    if (cpus.publisher_node >= 0 && cpus.subscriber_node >= 0)
        line.add("numa_nodes", std::vector{cpus.publisher_node, cpus.subscriber_node});
    if (cpus.cache_line_ps >= 0) line.add("cache_line_ns", static_cast<double>(cpus.cache_line_ps) / 1000, 1);
    put(line);
}

void NativeLog::write(const TransportFacts& transport) {
    for (const char* kind : {"socket", "transport", "memory"}) write_facts(kind, transport);
}

void NativeLog::write(const CompanionFacts& companion) {
    Line line{"companion"};
    for (const Fact& fact : companion.facts) line.add(fact.key, fact.value);
    put(line);
}

void NativeLog::write(const WayTaken& way) {
    put(Line{"way"}
            .add("expected", way.expected)
            .add("carried_bytes", way.carried_bytes)
            .add("ip_bytes", way.ip_bytes)
            .add("agrees", way.agrees));
}

void NativeLog::write(const Warmup& warmup) {
    put(line_of("warmup", warmup.payload_bytes, warmup.demand)
            .add("messages", warmup.messages)
            .add("duration_ns", warmup.duration_ns)
            .add("outcome", to_text(warmup.outcome)));
}

void NativeLog::write(const LatencyInterval& interval) {
    const Histogram& histogram = *interval.histogram;
    Line line{"interval"};
    line.add("payload_bytes", interval.payload_bytes)
        .add("basis", basis_ == Basis::one_way ? to_text(basis_) : "")
        .add("from", from())
        .add("index", interval.index)
        .add("duration_ns", interval.duration_ns)
        .add("messages", histogram.count())
        .add("p50_ns", histogram.percentile_ns(500'000))
        .add("p99_ns", histogram.percentile_ns(990'000));
    if (histogram.count() > 0) line.add("max_ns", histogram.max_ns());
    put(line);
}

void NativeLog::write(const ThroughputInterval& interval) {
    put(line_of("interval", interval.payload_bytes, interval.demand)
            .add("participant", interval.participant)
            .add("index", interval.index)
            .add("duration_ns", interval.duration_ns)
            .add("received", interval.received)
            .add("lost", interval.lost));
}

void NativeLog::write(const LatencyResult& result) {
    const Histogram& histogram = *result.histogram;
    Line line{"latency"};
    line.add("payload_bytes", result.payload_bytes)
        .add("basis", to_text(basis_))
        .add("from", from())
        .add("probe_every", probe_every_)
        .add("samples", histogram.count());
    if (result.answer_limit) line.add("late", result.answer_limit->late);
    add_faults(line, result.faults);
    add_instances(line, result.instances);
    if (result.answer_limit) line.add("answer_limit_ns", result.answer_limit->limit_ns);
    line.add("overflow", histogram.overflow()).add("duration_ns", result.duration_ns);
    add_statistics(line, histogram, "");
    put(line);
    write_bins(result);
}

void NativeLog::write(const Sending& sending) {
    Line line{"sending"};
    line.add("payload_bytes", sending.payload_bytes)
        .add("basis", to_text(basis_))
        .add("planned", sending.planned)
        .add("sent", sending.sent)
        .add_given("target_rate_per_s", sending.target_rate_per_s);
    if (sending.offered_rate_per_s) line.add("offered_rate_per_s", *sending.offered_rate_per_s, 3);
    add_statistics(line, *sending.lateness, "lateness_");
    add_statistics(line, *sending.from_send, "from_send_");
    put(line);
}

void NativeLog::write(const Trial& trial) {
    put(tacholog::reporters::line_of(trial));
}

void NativeLog::write(const SustainResult& result) {
    put(tacholog::reporters::line_of(result));
}

void NativeLog::write(const ThroughputResult& result) {
    Line line{"throughput"};
    line.add("payload_bytes", result.payload_bytes)
        .add("participant", result.participant)
        .add("sent", result.sent)
        .add("received", result.received);
    add_faults(line, result.faults);
    add_instances(line, result.instances);
    add_batches(line, result.batches);
    line.add("duration_ns", result.duration_ns);
    if (const auto rate = result.rate_per_s()) {
        line.add("rate_per_s", *rate, 3)
            .add("goodput_bit_per_s", *rate * 8 * static_cast<double>(result.payload_bytes), 0);
    }
    if (result.offered_rate_per_s) line.add("offered_rate_per_s", *result.offered_rate_per_s, 3);
    put(line);
}

void NativeLog::write(const DemandResult& result) {
    Line line = line_of("demand", result.payload_bytes, result.demand);
    line.add("participant", result.participant).add("sent", result.sent).add("received", result.received);
    add_faults(line, result.faults);
    add_instances(line, result.instances);
    add_batches(line, result.batches);
    line.add("send_duration_ns", result.send_duration_ns).add("receive_duration_ns", result.receive_duration_ns);
    const double bits = 8 * static_cast<double>(result.payload_bytes);
    if (const auto rate = result.offered_rate_per_s()) {
        line.add("offered_rate_per_s", *rate, 3).add("offered_goodput_bit_per_s", *rate * bits, 0);
    }
    if (const auto rate = result.rate_per_s()) {
        line.add("rate_per_s", *rate, 3).add("goodput_bit_per_s", *rate * bits, 0);
    }
    put(line);
}

void NativeLog::write(const Aggregate& all) {
    Line line = line_of("aggregate", all.measured.payload_bytes, all.measured.demand);
    line.add("test", test_);
    if (all.publishers > 1) line.add("publishers", all.publishers);
    line.add("subscribers", all.subscribers).add("sent", all.sent).add("received", all.received);
    add_faults(line, all.faults);
    add_instances(line, all.instances);
    add_batches(line, all.batches);
    const double bits = 8 * static_cast<double>(all.measured.payload_bytes);
    if (all.slowest_rate_per_s) line.add("rate_min_per_s", *all.slowest_rate_per_s, 3);
    if (all.total_rate_per_s) line.add("rate_sum_per_s", *all.total_rate_per_s, 3);
    if (all.slowest_rate_per_s) line.add("goodput_min_bit_per_s", *all.slowest_rate_per_s * bits, 0);
    if (all.total_rate_per_s) line.add("goodput_sum_bit_per_s", *all.total_rate_per_s * bits, 0);
    if (all.offered_rate_per_s) line.add("offered_rate_per_s", *all.offered_rate_per_s, 3);
    put(line);
}

void NativeLog::write(const Resources& used) {
    put(line_of("resources", used.measured.payload_bytes, used.measured.demand)
            .add("test", test_)
            .add("role", used.role)
            .add("participant", used.participant)
            .add("duration_ns", used.duration_ns)
            .add("user_ns", used.user_ns)
            .add("system_ns", used.system_ns)
            .add("voluntary_switches", used.voluntary_switches)
            .add("involuntary_switches", used.involuntary_switches)
            .add("peak_memory_from", used.peak_is_own ? "VmHWM" : "")
            .add("peak_memory_bytes", used.peak_memory_bytes));
}

void NativeLog::write(const Cost& cost) {
    auto line = line_of("cost", cost.measured.payload_bytes, cost.measured.demand)
                    .add("test", test_)
                    .add("messages", cost.messages);
    if (cost.companion_ns) line.add("companion_ns", *cost.companion_ns);
    // Every line of this kind ends with this key. A line without it was truncated.
    put(line.add("sides_ns", cost.sides_ns));
}

void NativeLog::write(const Path& path) {
    Line line{"path"};
    for (const auto& [key, count] : path.counters) line.add(key, count);
    put(line);
}

void NativeLog::write(const Note& note) {
    put(Line{"note"}.add("text", note.text));
}

void NativeLog::write(const Failure& failure) {
    put(Line{"error"}.add("payload_bytes", failure.payload_bytes).add("text", failure.text));
}

void NativeLog::write(const End& end) {
    put(Line{"end"}
            .add("status", end.ok ? "ok" : "failed")
            .add("latency", end.latency)
            .add("throughput", end.throughput)
            .add("demand", end.demand)
            .add("sustain", end.sustain > 0 ? std::optional{end.sustain} : std::nullopt)
            .add("errors", end.errors)
            .add("time", end.time));
}

void NativeLog::put(const Line& line) {
    stream_ << line.text() << '\n';
    stream_.flush();
}

void NativeLog::write_facts(std::string_view kind, const TransportFacts& transport) {
    Line line{kind};
    line.add("role", transport.role).add("participant", transport.participant);
    const std::string head = line.text();
    for (const Fact& fact : transport.facts) {
        if (kind_of(fact.key) == kind) line.add(fact.key, fact.value);
    }
    if (line.text() != head) put(line);
}

std::string_view NativeLog::from() const {
    return open_ && !probe_every_ ? "schedule" : "";
}

void NativeLog::write_bins(const LatencyResult& result) {
    constexpr std::size_t bins_a_part = 500;
    const auto bins = result.histogram->bins();
    const std::size_t parts = (bins.size() + bins_a_part - 1) / bins_a_part;
    for (std::size_t part = 0; part < parts; ++part) {
        std::string list;
        const std::size_t last = std::min(bins.size(), (part + 1) * bins_a_part);
        for (std::size_t at = part * bins_a_part; at < last; ++at) {
            if (!list.empty()) list += ',';
            list += std::to_string(bins[at].lower_ns) + ":" + std::to_string(bins[at].upper_ns) + ":" +
                    std::to_string(bins[at].count);
        }
        put(Line{"histogram"}
                .add("payload_bytes", result.payload_bytes)
                .add("basis", to_text(basis_))
                .add("part", part)
                .add("parts", parts)
                .add("bins", list));
    }
}

}  // namespace tacholog::reporters
