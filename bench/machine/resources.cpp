#include "machine/resources.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

#include "base/text.hpp"

namespace tacholog {
namespace {

Nanoseconds nanoseconds_of(const timeval& time) {
    return time.tv_sec * nanoseconds_per_second + time.tv_usec * 1000;
}

Resources read_usage(UsageOf whose) {
    rusage usage{};
    ::getrusage(whose == UsageOf::thread ? RUSAGE_THREAD : RUSAGE_SELF, &usage);
    Resources found;
    found.user_ns = nanoseconds_of(usage.ru_utime);
    found.system_ns = nanoseconds_of(usage.ru_stime);
    found.voluntary_switches = static_cast<std::uint64_t>(usage.ru_nvcsw);
    found.involuntary_switches = static_cast<std::uint64_t>(usage.ru_nivcsw);
    found.peak_memory_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    return found;
}

struct Counter {
    std::string_view protocol;
    std::string_view kernel_name;
    const char* key;
};

constexpr std::array<Counter, 19> counters{{{"Udp:", "InDatagrams", "udp_in_datagrams"},
                                            {"Udp:", "OutDatagrams", "udp_out_datagrams"},
                                            {"Udp:", "InErrors", "udp_in_errors"},
                                            {"Udp:", "NoPorts", "udp_no_ports"},
                                            {"Udp:", "RcvbufErrors", "udp_rcvbuf_errors"},
                                            {"Udp:", "SndbufErrors", "udp_sndbuf_errors"},
                                            {"Udp6", "InDatagrams", "udp6_in_datagrams"},
                                            {"Udp6", "OutDatagrams", "udp6_out_datagrams"},
                                            {"Udp6", "InErrors", "udp6_in_errors"},
                                            {"Udp6", "NoPorts", "udp6_no_ports"},
                                            {"Udp6", "RcvbufErrors", "udp6_rcvbuf_errors"},
                                            {"Udp6", "SndbufErrors", "udp6_sndbuf_errors"},
                                            {"Tcp:", "InSegs", "tcp_in_segs"},
                                            {"Tcp:", "OutSegs", "tcp_out_segs"},
                                            {"Tcp:", "RetransSegs", "tcp_retrans_segs"},
                                            {"IpExt:", "InOctets", "ip_in_octets"},
                                            {"IpExt:", "OutOctets", "ip_out_octets"},
                                            {"Ip6", "InOctets", "ip6_in_octets"},
                                            {"Ip6", "OutOctets", "ip6_out_octets"}}};

void add(PathCounters& found, std::string_view protocol, std::string_view name, std::string_view value) {
    const auto* wanted = std::find_if(counters.begin(), counters.end(), [&](const Counter& counter) {
        return counter.protocol == protocol && counter.kernel_name == name;
    });
    const auto count = to_number<std::uint64_t>(value);
    if (wanted != counters.end() && count) found.push_back({wanted->key, *count});
}

/// The counters of IPv4 (IP and UDP), and of TCP over both IPv4 and IPv6. The file has pairs of lines: "Udp:
/// InDatagrams NoPorts ..." and "Udp: 17 3 ...".
void add_pairs_of_lines(PathCounters& found, const char* path) {
    std::ifstream file{path};
    std::string names_line;
    std::string values_line;
    while (std::getline(file, names_line) && std::getline(file, values_line)) {
        std::istringstream names{names_line};
        std::istringstream values{values_line};
        std::string protocol;
        std::string name;
        std::string value;
        names >> protocol;
        values >> value;
        while (names >> name && values >> value) add(found, protocol, name, value);
    }
}

/// The counters of IPv6, in lines such as "Udp6InDatagrams 17". There are none if IPv6 is switched off.
void add_lines(PathCounters& found) {
    std::ifstream file{"/proc/self/net/snmp6"};
    std::string name;
    std::string value;
    while (file >> name >> value) {
        for (const std::string_view protocol : {"Udp6", "Ip6"}) {
            if (name.starts_with(protocol)) add(found, protocol, name.substr(protocol.size()), value);
        }
    }
}

}  // namespace

// ru_maxrss is not used, because the kernel carries it over from the program that started this one: a run that was
// started by a large interpreter would seem to use as much memory as that interpreter.
std::optional<std::uint64_t> peak_memory_bytes() {
    std::ifstream file{"/proc/self/status"};
    std::string word;
    while (file >> word) {
        std::uint64_t kib = 0;
        if (word == "VmHWM:") return file >> kib ? std::optional{kib * 1024} : std::nullopt;
    }
    return std::nullopt;
}

Usage::Usage(UsageOf whose) : whose_(whose), start_ns_(now_ns()), before_(read_usage(whose)) {}

Resources Usage::so_far() const {
    Resources used = read_usage(whose_);
    used.duration_ns = now_ns() - start_ns_;
    used.user_ns -= before_.user_ns;
    used.system_ns -= before_.system_ns;
    used.voluntary_switches -= before_.voluntary_switches;
    used.involuntary_switches -= before_.involuntary_switches;
    return used;
}

std::optional<Nanoseconds> processor_time_of(pid_t program) {
    if (program <= 0) return std::nullopt;
    std::ifstream file{"/proc/" + std::to_string(program) + "/stat"};
    std::string text{std::istreambuf_iterator<char>{file}, {}};
    // The name of the program may contain blanks and brackets. The fields are therefore counted after the last bracket.
    std::istringstream words{text.substr(text.rfind(')') == std::string::npos ? text.size() : text.rfind(')') + 1)};
    std::string skipped;
    constexpr int before_times = 11;
    for (int at = 0; at < before_times; ++at) words >> skipped;
    std::int64_t user = 0;
    std::int64_t system = 0;
    if (!(words >> user >> system)) return std::nullopt;
    return (user + system) * (nanoseconds_per_second / ::sysconf(_SC_CLK_TCK));
}

PathCounters read_path_counters() {
    PathCounters found;
    add_pairs_of_lines(found, "/proc/self/net/snmp");
    add_pairs_of_lines(found, "/proc/self/net/netstat");
    add_lines(found);
    return found;
}

Path path_between(const PathCounters& before, const PathCounters& after) {
    Path path;
    for (const auto& now : after) {
        const auto then =
            std::find_if(before.begin(), before.end(), [&](const auto& one) { return one.key == now.key; });
        // A counter that has decreased was reset in between, so it is left out.
        if (then != before.end() && then->count <= now.count)
            path.counters.push_back({now.key, now.count - then->count});
    }
    return path;
}

}  // namespace tacholog
