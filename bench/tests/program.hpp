// Starts the real perftest as a user would, and collects what it says.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/control.hpp"
#include "tests/patience.hpp"

namespace tacholog {

class Program {
public:
    explicit Program(const std::string& line, const char* program = PERFTEST) {
        folder_ = std::filesystem::temp_directory_path() / "perftest-test-XXXXXX";  // as TMPDIR says
        EXPECT_NE(::mkdtemp(folder_.data()), nullptr) << folder_;
        std::istringstream words{line};
        std::vector<std::string> arguments{program};
        for (std::string word; words >> word;) arguments.push_back(word);
        std::vector<char*> pointers;
        for (auto& argument : arguments) pointers.push_back(argument.data());
        pointers.push_back(nullptr);
        pid_ = ::fork();
        if (pid_ == 0) {
            redirect("out", STDOUT_FILENO);
            redirect("err", STDERR_FILENO);
            ::execv(program, pointers.data());
            ::_exit(127);
        }
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
        std::filesystem::remove_all(folder_);
    }

    pid_t pid() const { return pid_; }
    std::string out() const { return text("out"); }
    std::string err() const { return text("err"); }

    /// The exit status; -1 if it did not end in time, 128 + signal if it was killed.
    int wait(Patience patience = plenty) {
        const Deadline deadline{patience};
        int status = 0;
        while (::waitpid(pid_, &status, WNOHANG) == 0) {
            if (deadline.passed()) return -1;
            pause();
        }
        pid_ = -1;
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }

    /// Waits until the log says this. False if it has ended without saying so.
    bool says(const std::string& wanted) const {
        const Deadline deadline{plenty};
        for (bool over = false; out().find(wanted) == std::string::npos; over = ended()) {
            if (over || deadline.passed()) return false;
            pause();
        }
        return true;
    }

    /// All processes that it has started and that have not ended: sides of the run, and programs that those need.
    std::vector<pid_t> children() const {
        const std::string pid = std::to_string(pid_);
        std::ifstream file{"/proc/" + pid + "/task/" + pid + "/children"};
        std::vector<pid_t> found;
        for (pid_t child = 0; file >> child;) found.push_back(child);
        return found;
    }

    /// The side that it started, or 0. A side runs the same program; so does, for a moment, each other process that was
    /// forked, but those are started before the log begins.
    pid_t child() const {
        if (out().empty()) return 0;
        for (const pid_t child : children()) {
            if (program_of(child) == program_of(pid_)) return child;
        }
        return 0;
    }

    /// A program that the run needs, such as a broker, or 0.
    pid_t companion() const {
        for (const pid_t child : children()) {
            if (program_of(child) != program_of(pid_)) return child;
        }
        return 0;
    }

    static void pause() {
        const timespec time{0, 10'000'000};
        ::nanosleep(&time, nullptr);
    }

private:
    /// It can still be waited for.
    bool ended() const {
        siginfo_t who{};
        return ::waitid(P_PID, static_cast<id_t>(pid_), &who, WEXITED | WNOHANG | WNOWAIT) != 0 || who.si_pid != 0;
    }

    static std::string program_of(pid_t pid) {
        std::error_code ignored;
        return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", ignored);
    }

    std::string path(const char* name) const { return folder_ + "/" + name; }

    void redirect(const char* name, int descriptor) const {
        ::dup2(::open(path(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), descriptor);
    }

    std::string text(const char* name) const {
        const std::ifstream file{path(name)};
        std::ostringstream content;
        content << file.rdbuf();
        return content.str();
    }

    pid_t pid_ = -1;
    std::string folder_;
};

/// A port for the publisher of two programs that meet. Not one that the system gave and took back: it may give it to a
/// test beside this one, so these lie below those that it gives, for each test some of its own.
inline int free_port() {
    static int next = 10'000 + ::getpid() % 1000 * 20;
    while (!Listener::open("127.0.0.1", next)) ++next;
    return next++;
}

/// The value of `key` in the first line of this kind, "" if there is none.
inline std::string value(const std::string& log, const std::string& kind, const std::string& key) {
    std::istringstream lines{log};
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(kind + " ")) continue;
        const auto at = line.find(" " + key + "=");
        if (at == std::string::npos) return "";
        const auto start = at + key.size() + 2;
        return line.substr(start, line.find(' ', start) - start);
    }
    return "";
}

/// The same where it must be there and is a number.
inline std::uint64_t number(const std::string& log, const std::string& kind, const std::string& key) {
    const auto text = value(log, kind, key);
    EXPECT_NE(text, "") << kind << " " << key << "\n" << log;
    return text.empty() ? 0 : std::stoull(text);
}

}  // namespace tacholog
