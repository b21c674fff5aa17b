#include "machine/environment.hpp"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/text.hpp"

namespace tacholog {
namespace {

std::string trimmed(std::string text) {
    const auto first = text.find_first_not_of(" \t\"");
    const auto last = text.find_last_not_of(" \t\"\n");
    return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

std::string first_line(const std::string& path) {
    std::ifstream file{path};
    std::string line;
    std::getline(file, line);
    return trimmed(line);
}

std::string value_of(const std::string& path, const std::string& key, char separator) {
    std::ifstream file{path};
    for (std::string line; std::getline(file, line);) {
        const auto at = line.find(separator);
        if (at != std::string::npos && trimmed(line.substr(0, at)) == key) return trimmed(line.substr(at + 1));
    }
    return "";
}

bool has_word(const std::string& text, const std::string& wanted) {
    std::istringstream words{text};
    for (std::string word; words >> word;) {
        if (word == wanted) return true;
    }
    return false;
}

/// Counts the siblings of a core in a list such as "0-3" or "0,2".
std::optional<long> threads_per_core() {
    const auto list = first_line("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list");
    if (list.empty()) return std::nullopt;
    const auto cpus = parse_cpus(list);
    if (!cpus) return std::nullopt;
    return static_cast<long>(cpus->size());
}

std::string virtualisation() {
    if (!has_word(value_of("/proc/cpuinfo", "flags", ':'), "hypervisor")) {
        // Only x86 has this flag. On other processors, its absence means nothing.
        return value_of("/proc/cpuinfo", "flags", ':').empty() ? "" : "none";
    }
    const std::string vendor = first_line("/sys/class/dmi/id/sys_vendor");
    return vendor.empty() ? "hypervisor" : vendor;
}

std::optional<std::uint64_t> memory_bytes() {
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long page_bytes = ::sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page_bytes <= 0) return std::nullopt;
    return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
}

/// Reads the first line "key number" that has the wanted key.
std::optional<std::uint64_t> number_in(const std::string& path, std::string_view wanted) {
    std::ifstream file{path};
    std::string key;
    std::uint64_t number = 0;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words{line};
        if (words >> key >> number && key == wanted) return number;
    }
    return std::nullopt;
}

struct ControlGroup {
    std::string groups;  ///< where the hierarchy of the group is mounted
    std::string path;    ///< within this hierarchy
};

/// The control group that limits the memory of this process. The file has lines of the form "number:controllers:path".
/// The kernel has control groups of version 1 and of version 2, but only one version has the memory controller. So the
/// group of version 2 is returned only if no group of version 1 has this controller.
ControlGroup group_of_memory(const std::string& file_name) {
    ControlGroup found{"/sys/fs/cgroup", ""};
    std::ifstream file{file_name};
    for (std::string line; std::getline(file, line);) {
        const auto begin = std::min(line.find(':'), line.size() - 1) + 1;
        const auto end = std::min(line.find(':', begin), line.size());
        const std::string controllers = "," + line.substr(begin, end - begin) + ",";
        const std::string path = line.substr(std::min(end + 1, line.size()));
        if (controllers.find(",memory,") != std::string::npos) return {"/sys/fs/cgroup/memory", path};
        if (line.starts_with("0::")) found.path = path;
    }
    return found;
}

/// A file in which the kernel describes all processors.
std::string cpu_file(std::string_view name) {
    std::string path = "/sys/devices/system/cpu/";
    path.append(name);
    return path;
}

/// The list may be empty; then no CPU is isolated. If the file is missing, the answer is unknown.
std::string isolated_cpus() {
    const std::string path = cpu_file("isolated");
    if (!std::ifstream{path}) return "";
    const std::string list = first_line(path);
    return list.empty() ? "none" : list;
}

/// The states of CPU 0: state0, state1, and so on.
std::string idle_states() {
    std::string states;
    for (int state = 0;; ++state) {
        const std::string folder = cpu_file("cpu0/cpuidle/state") + std::to_string(state) + "/";
        const std::string name = first_line(folder + "name");
        if (name.empty()) return states;
        states += (states.empty() ? "" : ", ") + name + (first_line(folder + "disable") == "1" ? " (off)" : "");
    }
}

std::string turbo() {
    const std::string not_allowed = first_line(cpu_file("intel_pstate/no_turbo"));
    if (!not_allowed.empty()) return not_allowed == "0" ? "on" : "off";
    const std::string boost = first_line(cpu_file("cpufreq/boost"));
    if (boost.empty()) return "";
    return boost == "1" ? "on" : "off";
}

/// The kernel puts the choice in brackets: "always [madvise] never".
std::string choice_of_huge_pages(const std::string& file) {
    const std::string choices = first_line("/sys/kernel/mm/transparent_hugepage/" + file);
    const auto begin = choices.find('[');
    const auto end = choices.find(']');
    if (begin == std::string::npos || end == std::string::npos) return "";
    return choices.substr(begin + 1, end - begin - 1);
}

/// Returns how long threads with a real-time priority may run in each period. After this time, the kernel stops them
/// until the end of the period. Since kernel 6.12, they are stopped only while other threads starve.
std::string realtime_throttling() {
    const std::string runtime_us = first_line("/proc/sys/kernel/sched_rt_runtime_us");
    const std::string period_us = first_line("/proc/sys/kernel/sched_rt_period_us");
    if (runtime_us == "-1") return "none";
    return runtime_us.empty() || period_us.empty() ? "" : runtime_us + " of " + period_us + " us";
}

}  // namespace

Result<std::vector<int>> parse_cpus(std::string_view text) {
    constexpr int most_cpus = 1024;
    std::vector<int> cpus;
    std::bitset<most_cpus> is_listed;
    for (const auto item : split(text, ',')) {
        const auto dash = item.find('-');
        const auto first = to_number<int>(item.substr(0, dash));
        const auto last = dash == std::string_view::npos ? first : to_number<int>(item.substr(dash + 1));
        if (!first || !last || *first < 0 || *first > *last || *last >= most_cpus) {
            return Error{quoted(text) + " is not a list of CPUs (like 0 or 2,4-7)"};
        }
        for (int cpu = *first; cpu <= *last; ++cpu) {
            if (is_listed[static_cast<std::size_t>(cpu)])
                return Error{quoted(text) + " is not a list of CPUs: " + std::to_string(cpu) + " is there twice"};
            is_listed.set(static_cast<std::size_t>(cpu));
            cpus.push_back(cpu);
        }
    }
    return cpus;
}

std::optional<std::uint64_t> memory_left_in_group(const std::string& folder) {
    const bool is_second = std::ifstream{folder + "/memory.current"}.good();
    const auto number = [&folder](const char* name) { return to_number<std::uint64_t>(first_line(folder + name)); };
    const auto most = number(is_second ? "/memory.max" : "/memory.limit_in_bytes");
    const auto used = number(is_second ? "/memory.current" : "/memory.usage_in_bytes");
    if (!most || !used) return std::nullopt;
    // In version 1, the usage includes the groups below this one. Of the entries in memory.stat, only those that begin
    // with "total_" include them too.
    const std::string statistics = folder + "/memory.stat";
    const auto cache = [&](const std::string& name) {
        return number_in(statistics, (is_second ? "" : "total_") + name).value_or(0);
    };
    const std::uint64_t kept = *used - std::min(*used, cache("inactive_file") + cache("active_file"));
    return *most - std::min(*most, kept);
}

std::optional<std::uint64_t> available_memory_bytes(const std::string& root) {
    auto left = number_in(root + "/proc/meminfo", "MemAvailable:");
    if (left) *left *= 1024;
    auto [groups, group] = group_of_memory(root + "/proc/self/cgroup");
    groups.insert(0, root);
    while (true) {
        const auto here = memory_left_in_group(groups + (group == "/" ? "" : group));
        if (here) left = std::min(left.value_or(*here), *here);
        const auto slash = group.find_last_of('/');
        if (slash == std::string::npos || group.size() <= 1) return left;
        group.resize(std::max<std::size_t>(slash, 1));
    }
}

std::optional<SharedMemoryInUse> shared_memory_in_use(const std::string& root) {
    // The resident set does not include the pages of hugetlbfs, which the kernel counts separately.
    const auto resident_kib = number_in(root + "/proc/self/status", "RssShmem:");
    const auto transparent_kib = number_in(root + "/proc/self/smaps_rollup", "ShmemPmdMapped:");
    const auto reserved_kib = number_in(root + "/proc/self/smaps_rollup", "Shared_Hugetlb:");
    if (!resident_kib || !transparent_kib || !reserved_kib || *resident_kib + *reserved_kib == 0) return std::nullopt;
    return SharedMemoryInUse{1024 * (*resident_kib + *reserved_kib), 1024 * (*transparent_kib + *reserved_kib)};
}

std::vector<int> allowed_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cpus;
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
    }
    return cpus;
}

Host read_host() {
    Host host;
    utsname names{};
    if (::uname(&names) == 0) {
        host.name = names.nodename;
        host.kernel = names.release;
    }
    host.distribution = value_of("/etc/os-release", "PRETTY_NAME", '=');
    host.cpu_model = value_of("/proc/cpuinfo", "model name", ':');
    if (const long online = ::sysconf(_SC_NPROCESSORS_ONLN); online > 0) host.cpus_online = online;
    host.threads_per_core = threads_per_core();
    host.memory_bytes = memory_bytes();
    host.governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    host.isolated_cpus = isolated_cpus();
    host.idle_driver = first_line(cpu_file("cpuidle/current_driver"));
    host.idle_states = idle_states();
    host.turbo = turbo();
    host.transparent_huge_pages = choice_of_huge_pages("enabled");
    host.shared_memory_huge_pages = choice_of_huge_pages("shmem_enabled");
    host.realtime_throttling = realtime_throttling();
    host.virtualisation = virtualisation();
    host.clocksource = first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    const std::string kernel_command = first_line("/proc/cmdline");
    if (!kernel_command.empty()) host.mitigations_off = has_word(kernel_command, "mitigations=off");
    return host;
}

Load read_load(bool at_end) {
    std::array<double, 3> averages{};
    ::getloadavg(averages.data(), static_cast<int>(averages.size()));
    return {at_end, averages[0], averages[1], averages[2]};
}

Result<void> can_pin(const std::string& role, const std::vector<int>& cpus) {
    cpu_set_t before;
    CPU_ZERO(&before);
    if (cpus.empty() || ::sched_getaffinity(0, sizeof before, &before) != 0) return {};
    const auto pinned = pin(role, cpus);
    ::sched_setaffinity(0, sizeof before, &before);
    return pinned ? Result<void>{} : pinned.error();
}

Result<Affinity> pin(const std::string& role, const std::vector<int>& cpus) {
    if (!cpus.empty()) {
        cpu_set_t set;
        CPU_ZERO(&set);
        for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
        if (::sched_setaffinity(0, sizeof set, &set) != 0) {
            return os_error("pin the " + role + " side to CPUs " + comma_separated(cpus));
        }
    }
    return Affinity{role, comma_separated(cpus), comma_separated(allowed_cpus())};
}

}  // namespace tacholog
