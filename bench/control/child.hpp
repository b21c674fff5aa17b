// Runs a part of this program as a process of its own.
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace tacholog {

/// A forked process. It ends when this process ends.
class Child {
public:
    /// `name` is used in error messages: "the subscriber process".
    template <typename Work>
    static Result<Child> start(const std::string& name, Work&& work) {
        const pid_t parent = ::getpid();
        const pid_t pid = ::fork();
        if (pid < 0) return os_error("fork " + name);
        if (pid == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            // The parent may have died before the prctl call took effect.
            ::_exit(::getppid() == parent ? work() : 1);
        }
        return Child{pid, name};
    }

    Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)), name_(std::move(other.name_)) {}
    Child& operator=(Child&&) = delete;
    ~Child() {
        if (pid_ > 0) static_cast<void>(reap());
    }

    pid_t pid() const { return pid_; }

    /// Returns true if the process has ended. Does not remove the exit status, so reap() can still read it.
    bool ended() const {
        siginfo_t facts{};
        return pid_ > 0 && ::waitid(P_PID, static_cast<id_t>(pid_), &facts, WEXITED | WNOHANG | WNOWAIT) == 0 &&
               facts.si_pid == pid_;
    }

    /// Kills the process if its end takes too long. Returns an error text if another signal has killed it, otherwise an
    /// empty text.
    std::string reap() {
        constexpr Patience grace{2000};
        int status = 0;
        const Deadline deadline{grace};
        const pid_t child = std::exchange(pid_, -1);
        while (::waitpid(child, &status, WNOHANG) == 0) {
            if (deadline.passed()) {
                ::kill(child, SIGKILL);
                ::waitpid(child, &status, 0);
                return "";
            }
            const timespec pause{0, 1'000'000};
            ::nanosleep(&pause, nullptr);
        }
        if (WIFSIGNALED(status)) return name_ + " was killed by signal " + std::to_string(WTERMSIG(status));
        return "";
    }

private:
    Child(pid_t pid, std::string name) : pid_(pid), name_(std::move(name)) {}
    pid_t pid_;
    std::string name_;
};

}  // namespace tacholog
