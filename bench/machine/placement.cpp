#include "machine/placement.hpp"

#include <algorithm>
#include <fstream>
#include <set>

#include "base/text.hpp"
#include "machine/environment.hpp"

namespace tacholog {
namespace {

using Cpus = std::set<int>;

Cpus set_of(const std::vector<int>& cpus) {
    return {cpus.begin(), cpus.end()};
}

bool is_within(const Cpus& some, const Cpus& others) {
    return std::includes(others.begin(), others.end(), some.begin(), some.end());
}

void remove(Cpus& from, const Cpus& some) {
    for (const int cpu : some) from.erase(cpu);
}

/// Returns true if there are at least as many measuring threads as CPUs in `cpus`. A thread counts only if all CPUs
/// that it may use are in `cpus`.
bool is_full(const Cpus& cpus, const std::vector<SideCpus>& sides) {
    std::size_t threads = 0;
    for (const SideCpus& side : sides) {
        if (is_within(set_of(side.achieved), cpus)) threads += side.threads;
    }
    return threads >= cpus.size();
}

}  // namespace

Placement choose_placement(const SideCpus& own, const std::vector<SideCpus>& all) {
    std::vector<SideCpus> here;
    std::copy_if(all.begin(), all.end(), std::back_inserter(here),
                 [&](const SideCpus& side) { return side.host == own.host; });
    Cpus measuring;
    std::size_t threads = 0;
    for (const SideCpus& side : here) {
        measuring.merge(set_of(side.achieved));
        threads += side.threads;
    }
    Placement placement;
    placement.shared = measuring.size() < threads;
    // The best choice is a CPU that no measuring thread may use. The second best is a group of CPUs with fewer
    // measuring threads than CPUs, because at least one CPU of this group is free at any time.
    Cpus free = set_of(own.allowed);
    remove(free, measuring);
    if (free.empty() && measuring.size() > threads) {
        free = set_of(own.allowed);
        for (const SideCpus& side : here) {
            if (is_full(set_of(side.achieved), here)) remove(free, set_of(side.achieved));
        }
    }
    placement.live = !free.empty();
    placement.reporting.assign(free.begin(), free.end());
    return placement;
}

std::string to_text(const SideCpus& cpus) {
    return comma_separated(cpus.allowed) + "/" + comma_separated(cpus.achieved) + "/" + std::to_string(cpus.threads) +
           "/" + cpus.host;
}

Result<SideCpus> parse_side_cpus(std::string_view text) {
    const auto parts = split(text, '/');
    if (parts.size() != 4) return Error{"control channel: the peer is out of step with this side"};
    const auto allowed = parse_cpus(parts[0]);
    const auto achieved = parse_cpus(parts[1]);
    const auto threads = to_number<std::size_t>(parts[2]);
    constexpr std::size_t most_threads = 1024;
    if (!allowed || !achieved || !threads || *threads > most_threads)
        return Error{"control channel: the peer is out of step with this side"};
    return SideCpus{std::string{parts[3]}, *allowed, *achieved, *threads};
}

std::string boot_identity() {
    std::ifstream file{"/proc/sys/kernel/random/boot_id"};
    std::string boot;
    std::getline(file, boot);
    return boot;
}

}  // namespace tacholog
