// Starts the real perftest as a user would, and collects its output.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "base/address.hpp"
#include "base/fd.hpp"
#include "control/control.hpp"
#include "tests/depth.hpp"
#include "tests/patience.hpp"

namespace tacholog {

/// The options of a run whose duration does not matter.
inline const std::string briefly = tries(" --duration 0.05 --warmup 0.01 ", " --duration 0.3 --warmup 0.05 ");
/// The options of a run that the test stops.
inline const std::string endlessly = " --duration 600 --warmup 0.01 ";

class Program {
public:
    explicit Program(const std::string& line, const char* program = PERFTEST,
                     const std::function<bool()>& before = nullptr) {
        folder_ = std::filesystem::temp_directory_path() / "perftest-test-XXXXXX";  // TMPDIR can name the folder
        EXPECT_NE(::mkdtemp(folder_.data()), nullptr) << folder_;
        line_ = line;
        // The time limit of the run is long, so that a busy machine does not reach the limit. Tests of the time limit
        // state a limit of their own.
        if (line.find("--test ") != line.npos && line.find("--timeout ") == line.npos) line_ += " --timeout 120";
        std::istringstream words{line_};
        std::vector<std::string> arguments{program};
        for (std::string word; words >> word;) arguments.push_back(word);
        std::vector<char*> pointers;
        for (auto& argument : arguments) pointers.push_back(argument.data());
        pointers.push_back(nullptr);
        pid_ = ::fork();
        if (pid_ == 0) {
            redirect("out", STDOUT_FILENO);
            redirect("err", STDERR_FILENO);
            if (before && !before()) ::_exit(126);
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

    /// Returns the exit status, or 128 + signal if the program was killed.
    int wait() {
        const Deadline deadline{plenty};
        int status = 0;
        while (::waitpid(pid_, &status, WNOHANG) == 0) {
            if (deadline.passed()) {
                ADD_FAILURE() << "waited " << plenty.count() / 1000 << " s for the end of: perftest " << line_;
                return -1;
            }
            pause();
        }
        pid_ = -1;
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }

    /// Waits until the log of the program contains this text, and returns true. Returns false if the program ends
    /// without this text in its log.
    bool says(const std::string& wanted) const {
        const Deadline deadline{plenty};
        for (bool over = false; out().find(wanted) == std::string::npos; over = has_ended()) {
            if (deadline.passed())
                ADD_FAILURE() << "waited " << plenty.count() / 1000 << " s for '" << wanted << "' in: perftest "
                              << line_;
            if (over || deadline.passed()) return false;
            pause();
        }
        return true;
    }

    /// The processes that are still running: sides of the run, and programs that the run needs.
    std::vector<pid_t> children() const {
        const std::string pid = std::to_string(pid_);
        std::ifstream file{"/proc/" + pid + "/task/" + pid + "/children"};
        std::vector<pid_t> found;
        for (pid_t child = 0; file >> child;) found.push_back(child);
        return found;
    }

    /// Returns the process of a side; 0 if there is none. A side is recognised by its program, which is also the
    /// program of its parent. Other forked processes run this program for a short time, but these processes start
    /// before the log begins.
    pid_t child() const {
        if (out().empty()) return 0;
        for (const pid_t child : children()) {
            if (program_of(child) == program_of(pid_)) return child;
        }
        return 0;
    }

    /// The process of a program that the run needs, such as a broker; 0 if there is none.
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

    /// Returns whether the process has ended. A test can still call wait() after has_ended().
    bool has_ended() const {
        siginfo_t who{};
        return ::waitid(P_PID, static_cast<id_t>(pid_), &who, WEXITED | WNOHANG | WNOWAIT) != 0 || who.si_pid != 0;
    }

private:
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
    std::string line_;
    std::string folder_;
};

/// The port is for sides that are started separately. The system has assigned it to a socket of this process, which
/// stays open, so nobody else on this machine gets it. A program that sets SO_REUSEADDR, like a publisher, may still
/// listen at this port.
inline int free_port() {
    static std::vector<Fd> kept;
    const int yes = 1;
    const auto anywhere = parse_address("127.0.0.1", 0);
    kept.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::setsockopt(kept.back().get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    EXPECT_EQ(::bind(kept.back().get(), anywhere->get(), anywhere->length()), 0);
    return local_address(kept.back()).port();
}

/// Only this process uses the address. It is for tests of a port with a fixed number.
inline std::string own_loopback_address(unsigned which) {
    const auto pid = static_cast<unsigned>(::getpid());  // below 2^22
    return "127." + std::to_string(128 + which % 2 * 64 + (pid >> 16 & 63)) + "." + std::to_string(pid >> 8 & 255) +
           "." + std::to_string(pid & 255);
}

/// Calls `attempt` with a time limit, to test what a run does at this limit. `attempt` returns false if a busy machine
/// has reached the limit before the test has done its part. It is then called again with a longer limit.
template <typename Attempt>
bool within_some_limit(Attempt&& attempt) {
    for (const std::string limit : {" --timeout 0.5 ", " --timeout 2 ", " --timeout 10 ", " --timeout 60 "}) {
        if (attempt(limit) || testing::Test::HasFailure()) return true;
    }
    return false;
}

/// Returns the value of a key in the first line of this kind. Returns "" if there is no such line, or if the line does
/// not contain the key.
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

/// Reads the first line of this kind, which must exist. The value must be a number.
inline std::uint64_t number(const std::string& log, const std::string& kind, const std::string& key) {
    const auto text = value(log, kind, key);
    EXPECT_NE(text, "") << kind << " " << key << "\n" << log;
    return text.empty() ? 0 : std::stoull(text);
}

inline std::uint64_t sum_of(const std::string& log, const std::string& kind, const std::string& key) {
    std::istringstream lines{log};
    std::uint64_t sum = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(kind + " ")) sum += number(line, kind, key);
    }
    return sum;
}

inline std::uint64_t messages_of(const std::string& log) {
    const std::string sent =
        value(log, "sending", "sent") + value(log, "throughput", "sent") + value(log, "demand", "sent");
    if (!sent.empty()) return std::stoull(sent);
    return number(log, "latency", "samples") + number(log, "latency", "lost");
}

/// Tries longer and longer runs until a run has sent at least this many messages. Returns the log of this run. On a
/// busy machine, a longer run is needed for the same number of messages.
inline std::string log_of_run(const std::string& options, std::uint64_t messages) {
    // A number of messages that is no multiple of ten, so that faults of every tenth message do not hit the last one.
    for (const std::string duration : {"0.1025", "1.0025", "10.0025", "100.0025"}) {
        Program perftest{options + " --duration " + duration};
        EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
        const auto log = perftest.out();
        if (testing::Test::HasFailure() || messages_of(log) >= messages) return log;
    }
    ADD_FAILURE() << "100 s were too short for " << messages << " messages: perftest " << options;
    return "";
}

/// The sides do not agree. The subscriber ends. The publisher waits for another subscriber, and notes why it rejected
/// this one. Returns the note.
inline std::string expect_refusal(const std::string& common, const std::string& of_publisher,
                                  const std::string& of_subscriber, const std::string& reason) {
    const std::string port = " --port " + std::to_string(free_port());
    Program publisher{common + port + " --role pub" + of_publisher};
    Program subscriber{common + port + " --role sub" + of_subscriber};
    EXPECT_EQ(subscriber.wait(), 1);
    EXPECT_NE(subscriber.err().find("the peer refused"), std::string::npos) << subscriber.err();
    ::kill(publisher.pid(), SIGTERM);

    EXPECT_EQ(publisher.wait(), 1);
    std::string note;
    const auto at = publisher.out().find("note text=\"control port: 1 connection was no subscriber's");
    EXPECT_NE(at, std::string::npos) << publisher.out();
    if (at != std::string::npos) note = publisher.out().substr(at, publisher.out().find('\n', at) - at);
    EXPECT_NE(note.find(reason), std::string::npos) << note;
    return note;
}

}  // namespace tacholog
