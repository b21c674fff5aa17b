#include "machine/tuning.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/mempolicy.h>

#include <array>
#include <climits>
#include <cstdint>
#include <cstring>
#include <fstream>

namespace tacholog {
namespace {

// Uses system calls directly: libnuma would be one more library to install, for only two calls.
constexpr std::size_t bits_a_word = sizeof(unsigned long) * CHAR_BIT;
constexpr std::size_t most_nodes = 1024;
using Nodes = std::array<unsigned long, most_nodes / bits_a_word>;

struct MemoryPolicy {
    int mode = MPOL_DEFAULT;
    Nodes nodes{};
};

// One bit more than needed is passed, because the kernel ignores the last one.
Result<void> set_policy(const MemoryPolicy& policy, const std::string& operation) {
    const bool is_default = policy.mode == MPOL_DEFAULT;
    const unsigned long* nodes = is_default ? nullptr : policy.nodes.data();
    if (::syscall(SYS_set_mempolicy, policy.mode, nodes, is_default ? 0 : most_nodes + 1) == 0) return {};
    if (errno != EINVAL) return os_error(operation);
    std::ifstream file{"/sys/devices/system/node/has_memory"};
    std::string there;
    std::getline(file, there);
    return Error{operation + ": no such node with memory" + (there.empty() ? "" : "; this machine has " + there)};
}

std::optional<MemoryPolicy> current_policy() {
    MemoryPolicy policy;
    if (::syscall(SYS_get_mempolicy, &policy.mode, policy.nodes.data(), most_nodes, nullptr, 0) != 0)
        return std::nullopt;
    return policy;
}

Result<void> bind_memory(int node) {
    const std::string operation = "--numa " + std::to_string(node);
    const auto index = static_cast<std::size_t>(node);
    if (index >= most_nodes) return Error{operation + ": no such node"};
    MemoryPolicy policy{MPOL_BIND, {}};
    policy.nodes[index / bits_a_word] |= 1UL << index % bits_a_word;
    return set_policy(policy, operation);
}

Result<void> set_priority(int priority, const std::string& operation) {
    const sched_param parameters{priority};
    if (::sched_setscheduler(0, SCHED_FIFO, &parameters) == 0) return {};
    if (errno != EPERM) return os_error(operation);
    return Error{operation + ": not permitted: it needs root, the capability CAP_SYS_NICE, or a limit of at least " +
                 std::to_string(priority + 1) + " (ulimit -r)"};
}

/// Also checks the next higher priority, which the monitor's thread uses.
Result<void> can_be_realtime(int priority) {
    const int policy = ::sched_getscheduler(0);
    sched_param before{};
    ::sched_getparam(0, &before);
    const std::string operation = "--realtime " + std::to_string(priority);
    if (const auto fine = set_priority(priority, operation); !fine) return fine;
    const sched_param above{priority + 1};
    const bool may_be_above = ::sched_setscheduler(0, SCHED_FIFO, &above) == 0;
    ::sched_setscheduler(0, policy, &before);
    if (may_be_above) return {};
    return Error{operation +
                 ": not permitted: the limit must be one above it, for the thread that reports (ulimit -r)"};
}

bool has_capability(unsigned capability) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
    if (::syscall(SYS_capget, &header, sets.data()) != 0) return false;
    return (sets[capability / 32].effective >> capability % 32 & 1U) != 0;
}

/// Any limit is an error, even one that is high enough now: it may be too low for a later payload size, and the run
/// would fail in the middle.
Result<void> can_lock_memory() {
    rlimit limit{};
    ::getrlimit(RLIMIT_MEMLOCK, &limit);
    if (limit.rlim_cur == RLIM_INFINITY || has_capability(CAP_IPC_LOCK)) return {};
    return Error{
        "--lock-memory: not permitted: it needs root, the capability CAP_IPC_LOCK, or no limit of locked "
        "memory, which is " +
        std::to_string(limit.rlim_cur / 1024) + " KiB (ulimit -l)"};
}

Result<void> can_bind_memory(int node) {
    const auto before = current_policy();
    if (!before) return os_error("--numa " + std::to_string(node));
    const auto bound = bind_memory(node);
    if (!bound) return bound;
    return set_policy(*before, "--numa " + std::to_string(node));
}

}  // namespace

std::string Tuning::text() const {
    std::string text;
    const auto add = [&](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
    if (realtime) add("real-time priority " + std::to_string(*realtime));
    if (lock_memory) add("locked memory");
    if (numa_node) add("memory of NUMA node " + std::to_string(*numa_node));
    return text.empty() ? "none" : text;
}

Result<void> can_apply(const Tuning& tuning) {
    if (tuning.realtime) {
        if (const auto fine = can_be_realtime(*tuning.realtime); !fine) return fine;
    }
    if (tuning.lock_memory) {
        if (const auto fine = can_lock_memory(); !fine) return fine;
    }
    return tuning.numa_node ? can_bind_memory(*tuning.numa_node) : Result<void>{};
}

// Memory is locked after the NUMA node was set, because locking allocates all pages, and these must be on that node.
Result<void> apply(const Tuning& tuning) {
    if (tuning.numa_node) {
        if (const auto bound = bind_memory(*tuning.numa_node); !bound) return bound;
    }
    if (tuning.lock_memory && ::mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return os_error("--lock-memory");
    if (!tuning.realtime) return {};
    return set_priority(*tuning.realtime, "--realtime " + std::to_string(*tuning.realtime));
}

}  // namespace tacholog
