#include "machine/measuring_cpus.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <thread>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "machine/environment.hpp"

namespace tacholog {
namespace {

std::string first_word(const std::string& path) {
    std::ifstream file{path};
    std::string word;
    file >> word;
    return word;
}

/// Returns nothing if the file has no list of CPUs.
std::optional<bool> lists(const std::string& path, int cpu) {
    const std::string list = first_word(path);
    const auto cpus = parse_cpus(list);
    if (list.empty() || !cpus) return std::nullopt;
    return std::find(cpus->begin(), cpus->end(), cpu) != cpus->end();
}

int node_of(const std::string& nodes, int cpu) {
    const auto online = parse_cpus(first_word(nodes + "online"));
    if (!online) return -1;
    for (const int node : *online) {
        if (lists(nodes + "node" + std::to_string(node) + "/cpulist", cpu).value_or(false)) return node;
    }
    return -1;
}

/// The level of the smallest cache that this CPU shares with the other one. The kernel lists small caches first.
int shared_cache_level(const std::string& caches, int other) {
    for (int index = 0;; ++index) {
        const std::string cache = caches + "index" + std::to_string(index) + "/";
        const auto is_shared = lists(cache + "shared_cpu_list", other);
        if (!is_shared) return index == 0 ? -1 : 0;
        if (*is_shared && first_word(cache + "type") != "Instruction")
            return to_number<int>(first_word(cache + "level")).value_or(-1);
    }
}

CpuRelation relation_of(std::optional<bool> are_siblings, const MeasuringCpus& cpus) {
    if (are_siblings.value_or(false)) return CpuRelation::siblings;
    if (!are_siblings) return CpuRelation::unknown;
    if (cpus.cache_level > 0) return CpuRelation::shared_cache;
    if (cpus.publisher_node < 0 || cpus.subscriber_node < 0) return CpuRelation::unknown;
    if (cpus.publisher_node != cpus.subscriber_node) return CpuRelation::two_nodes;
    return cpus.cache_level == 0 ? CpuRelation::one_node : CpuRelation::unknown;
}

constexpr std::uint32_t end_of_turns = UINT32_MAX;

struct alignas(64) Turn {
    std::atomic<std::uint32_t> number{0};

    /// Waits without a pause instruction: on some CPUs, this instruction takes longer than the transfer of a cache
    /// line. Returns false at the deadline, or after the peer has ended the measurement.
    bool wait(std::uint32_t wanted, Nanoseconds deadline_ns) const {
        constexpr int turns_a_look = 1024;
        for (int turns = 1;; ++turns) {
            const std::uint32_t current = number.load(std::memory_order_acquire);
            if (current == wanted) return true;
            if (current == end_of_turns || (turns % turns_a_look == 0 && now_ns() > deadline_ns)) return false;
        }
    }
};

MeasuringCpus compare(const SideCpus& publisher, const SideCpus& subscriber) {
    const auto only = [](CpuRelation relation) { return MeasuringCpus{.relation = relation}; };
    if (publisher.host != subscriber.host) return only(CpuRelation::two_hosts);
    if (publisher.achieved.size() != 1 || subscriber.achieved.size() != 1) return only(CpuRelation::unpinned);
    return compare_cpus(publisher.achieved.front(), subscriber.achieved.front());
}

}  // namespace

MeasuringCpus compare_cpus(int publisher, int subscriber, const std::string& root) {
    const std::string cpu = root + "/sys/devices/system/cpu/cpu" + std::to_string(publisher);
    const std::string nodes = root + "/sys/devices/system/node/";
    MeasuringCpus cpus;
    cpus.publisher_node = node_of(nodes, publisher);
    cpus.subscriber_node = node_of(nodes, subscriber);
    if (publisher == subscriber) {
        cpus.relation = CpuRelation::one_cpu;
        return cpus;
    }
    cpus.cache_level = shared_cache_level(cpu + "/cache/", subscriber);
    cpus.relation = relation_of(lists(cpu + "/topology/thread_siblings_list", subscriber), cpus);
    return cpus;
}

std::optional<std::int64_t> measure_cache_line_ps(int cpu) {
    constexpr Nanoseconds duration_ns = 10'000'000;
    constexpr Nanoseconds longest_ns = 1'000'000'000;
    constexpr std::uint32_t turns_a_sample = 64;
    const Nanoseconds deadline_ns = now_ns() + longest_ns;
    Turn there;
    Turn back;
    std::thread peer{[&] {
        if (!pin("peer", {cpu})) return back.number.store(end_of_turns);
        for (std::uint32_t turn = 1; there.wait(turn, deadline_ns); ++turn)
            back.number.store(turn, std::memory_order_release);
    }};
    std::vector<Nanoseconds> samples;
    std::uint32_t turn = 0;
    const auto round_trips = [&](std::uint32_t count) {
        for (; count > 0; --count) {
            there.number.store(++turn, std::memory_order_release);
            if (!back.wait(turn, deadline_ns)) return false;
        }
        return true;
    };
    if (round_trips(1)) {  // from here on, the peer runs on its CPU
        const Nanoseconds end_ns = now_ns() + duration_ns;
        for (Nanoseconds start_ns = now_ns(); start_ns < end_ns && round_trips(turns_a_sample);) {
            const Nanoseconds now = now_ns();
            samples.push_back(now - start_ns);
            start_ns = now;
        }
    }
    there.number.store(end_of_turns, std::memory_order_release);
    peer.join();
    if (samples.empty()) return std::nullopt;
    const auto median = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::nth_element(samples.begin(), median, samples.end());
    return *median * 1000 / (2 * turns_a_sample);
}

MeasuringCpus find_measuring_cpus(const SideCpus& publisher, const std::vector<SideCpus>& subscribers) {
    MeasuringCpus cpus = compare(publisher, subscribers.front());
    for (const SideCpus& subscriber : subscribers) {
        if (compare(publisher, subscriber).relation != cpus.relation) return {.relation = CpuRelation::mixed};
    }
    const bool is_pair = cpus.relation != CpuRelation::unpinned && cpus.relation != CpuRelation::one_cpu &&
                         cpus.relation != CpuRelation::two_hosts;
    if (is_pair) cpus.cache_line_ps = measure_cache_line_ps(subscribers.front().achieved.front()).value_or(-1);
    return cpus;
}

std::string_view to_text(CpuRelation relation) {
    static constexpr std::array<std::string_view, 9> words{
        "unknown", "unpinned", "one-cpu", "siblings", "shared-cache", "one-node", "two-nodes", "two-hosts", "mixed"};
    const auto index = static_cast<std::size_t>(relation);
    return words[index < words.size() ? index : 0];
}

}  // namespace tacholog
