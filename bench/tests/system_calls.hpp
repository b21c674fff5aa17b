// Runs the real perftest under ptrace, and records the times of the system calls of each of its threads.
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace tacholog {

/// The system calls of one thread, as the tracer sees them. The tracer reads the clock while the thread is stopped. So
/// all work of the thread between two calls happens between the times of these calls.
struct ThreadCalls {
    struct Call {
        long number = 0;
        Nanoseconds time_ns = 0;
        bool returned = false;  ///< true at the return of a call, false at its entry
    };
    std::string name;
    std::vector<Call> calls;

    /// The longest time from the return of one call to the entry of the next.
    Nanoseconds longest_quiet_ns() const {
        Nanoseconds longest = 0;
        for (std::size_t at = 1; at < calls.size(); ++at) {
            if (!calls[at - 1].returned || calls[at].returned) continue;  // the thread is in a call, perhaps asleep
            longest = std::max(longest, calls[at].time_ns - calls[at - 1].time_ns);
        }
        return longest;
    }

    std::string list() const {
        std::map<long, int> counts;
        for (const Call& call : calls) counts[call.number] += call.returned ? 0 : 1;
        std::string text;
        for (const auto& [number, count] : counts) text += " " + std::to_string(number) + "x" + std::to_string(count);
        return text;
    }
};

class TracedProgram {
public:
    explicit TracedProgram(const std::string& line) {
        folder_ = std::filesystem::temp_directory_path() / "perftest-trace-XXXXXX";
        EXPECT_NE(::mkdtemp(folder_.data()), nullptr) << folder_;
        start(line);
        trace();
    }
    TracedProgram(const TracedProgram&) = delete;
    TracedProgram& operator=(const TracedProgram&) = delete;
    ~TracedProgram() { std::filesystem::remove_all(folder_); }

    int status() const { return status_; }
    std::string out() const {
        const std::ifstream file{folder_ + "/out"};
        std::ostringstream content;
        content << file.rdbuf();
        return content.str();
    }

    const std::map<pid_t, ThreadCalls>& threads() const { return threads_; }

private:
    void start(const std::string& line) {
        std::istringstream words{line};
        std::vector<std::string> arguments{PERFTEST};
        for (std::string word; words >> word;) arguments.push_back(word);
        std::vector<char*> pointers;
        for (auto& argument : arguments) pointers.push_back(argument.data());
        pointers.push_back(nullptr);
        const std::string out = folder_ + "/out";
        pid_ = ::fork();
        if (pid_ == 0) {
            ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
            ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
            ::raise(SIGSTOP);
            ::execv(PERFTEST, pointers.data());
            ::_exit(127);
        }
        int stopped = 0;
        ASSERT_EQ(::waitpid(pid_, &stopped, 0), pid_);
        constexpr long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                                 PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
        ASSERT_EQ(::ptrace(PTRACE_SETOPTIONS, pid_, nullptr, options), 0);
        ::ptrace(PTRACE_SYSCALL, pid_, nullptr, nullptr);
    }

    void trace() {
        constexpr int system_call = SIGTRAP | 0x80;
        std::set<pid_t> met{pid_};
        // This process may have other children that continue to run: programs that other tests have started. So the
        // loop ends when all traced threads have ended. The tracer knows a new thread or process before the thread that
        // created it continues.
        std::set<pid_t> alive{pid_}, gone;
        while (!alive.empty()) {
            int stopped = 0;
            const pid_t thread = ::waitpid(-1, &stopped, __WALL);
            if (thread < 0) return;
            if (WIFEXITED(stopped) || WIFSIGNALED(stopped)) {
                if (thread == pid_) status_ = WIFEXITED(stopped) ? WEXITSTATUS(stopped) : 128 + WTERMSIG(stopped);
                alive.erase(thread);
                gone.insert(thread);
                continue;
            }
            unsigned long made = 0;
            const int event = stopped >> 16;
            if ((event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) &&
                ::ptrace(PTRACE_GETEVENTMSG, thread, nullptr, &made) == 0 && gone.count(static_cast<pid_t>(made)) == 0)
                alive.insert(static_cast<pid_t>(made));
            int signal = WSTOPSIG(stopped);
            if (signal == system_call) {
                note(thread);
                signal = 0;
            } else if (signal == SIGTRAP || (signal == SIGSTOP && met.insert(thread).second)) {
                signal = 0;  // sent by ptrace itself
            }
            ::ptrace(PTRACE_SYSCALL, thread, nullptr, signal);
        }
    }

    void note(pid_t thread) {
        __ptrace_syscall_info call{};
        if (::ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof call, &call) <= 0) return;
        ThreadCalls& of = threads_[thread];
        if (call.op == PTRACE_SYSCALL_INFO_ENTRY) numbers_[thread] = static_cast<long>(call.entry.nr);
        const long number = numbers_[thread];
        // Two calls do not count: transports yield the CPU while they poll, and on some kernels the clock can be read
        // only by a system call.
        if (number == SYS_sched_yield || number == SYS_clock_gettime) return;
        if (of.name.empty() || number == SYS_prctl) of.name = name_of(thread);
        of.calls.push_back({number, now_ns(), call.op == PTRACE_SYSCALL_INFO_EXIT});
    }

    static std::string name_of(pid_t thread) {
        std::ifstream file{"/proc/" + std::to_string(thread) + "/comm"};
        std::string name;
        std::getline(file, name);
        return name;
    }

    pid_t pid_ = -1;
    int status_ = -1;
    std::string folder_;
    std::map<pid_t, ThreadCalls> threads_;
    std::map<pid_t, long> numbers_;  ///< for each thread, the number of the call that it is in
};

}  // namespace tacholog
