// Starts a program that a run needs beside its two sides, such as a broker or a daemon: in a private folder, on a port
// of its own, and only as long as the run lasts. What the program prints is kept, so that an error can quote it.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace tacholog {

/// A new folder that only this user can enter, with a name that nobody else has; removed with all that is in it.
class PrivateFolder {
public:
    static Result<PrivateFolder> make();

    PrivateFolder(PrivateFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    PrivateFolder& operator=(PrivateFolder&&) = delete;
    ~PrivateFolder();

    const std::string& path() const { return path_; }

    /// Writes a file into it, such as the program's configuration. Returns its path.
    Result<std::string> write(const std::string& name, const std::string& text) const;

private:
    explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
    std::string path_;
};

/// A file that is in memory alone, for programs that this process starts: it has a path as long as this lives.
class MemoryFile {
public:
    static Result<MemoryFile> make(const std::string& text);

    std::string path() const;

private:
    explicit MemoryFile(Fd file) : file_(std::move(file)) {}
    Fd file_;
};

/// A TCP port of this address that nobody uses now.
Result<int> free_port(const std::string& address);

/// Whether somebody accepts TCP connections there.
bool accepts_connections(const std::string& address, int port);

/// The path of a program: in the folders of PATH, and in those of administrators (Debian has brokers in /usr/sbin). The
/// error says what to install: "mosquitto: no such program: install mosquitto".
Result<std::string> find_program(const std::string& name, const std::string& package);

/// The first line that this command prints, to whichever stream, for a version; empty if it prints nothing.
std::string first_line_of(const std::vector<std::string>& words);

/// A running program. It ends with this object: by SIGTERM, and by SIGKILL if that does not help. If this process dies,
/// the kernel kills the program.
class HelperProgram {
public:
    struct Order {
        std::vector<std::string> words;             ///< the program's path (see find_program), and its arguments
        std::vector<std::string> environment = {};  ///< "NAME=value", besides what this process has
        Patience patience{10'000};                  ///< how long it may take to become ready
    };

    /// Starts the program in this folder, and waits until `is_ready`, which is asked every few milliseconds, gives
    /// true.
    static Result<std::unique_ptr<HelperProgram>> start(const Order& order, const PrivateFolder& folder,
                                                        const std::function<bool(const HelperProgram&)>& is_ready);

    /// The same for a program that writes no files: it runs in the folder /, and nothing is left behind even if this
    /// process is killed meanwhile.
    static Result<std::unique_ptr<HelperProgram>> start(const Order& order,
                                                        const std::function<bool(const HelperProgram&)>& is_ready);

    HelperProgram(const HelperProgram&) = delete;
    HelperProgram& operator=(const HelperProgram&) = delete;
    ~HelperProgram();

    pid_t pid() const { return pid_; }

    /// What it has printed so far, to either stream.
    std::string output() const;

    /// Nothing as long as it runs; else that it has ended, and what it printed last.
    std::optional<std::string> trouble() const;

    const std::vector<std::string>& words() const { return words_; }

    /// As it was given, for the log.
    std::string command() const;

private:
    /// How it ended; nothing as long as it runs.
    std::optional<siginfo_t> end() const;

    static Result<std::unique_ptr<HelperProgram>> start_in(const std::string& folder, Fd output, const Order& order,
                                                           const std::function<bool(const HelperProgram&)>& is_ready);

    HelperProgram(pid_t pid, std::vector<std::string> words, Fd output)
        : pid_(pid), words_(std::move(words)), output_(std::move(output)) {}

    pid_t pid_;
    std::vector<std::string> words_;
    Fd output_;  ///< what it prints; there also if its folder has been removed
};

}  // namespace tacholog
