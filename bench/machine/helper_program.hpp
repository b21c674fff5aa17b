// Starts a program that a run needs beside its two sides, such as a broker or a daemon: in a private folder, on a free
// port, and only while the run lasts. The output of the program is stored, so that an error can quote it.
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

/// A folder with a unique name that only this user can enter. The destructor removes the folder and everything in it.
class PrivateFolder {
public:
    static Result<PrivateFolder> make();

    PrivateFolder(PrivateFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    PrivateFolder& operator=(PrivateFolder&&) = delete;
    ~PrivateFolder();

    const std::string& path() const { return path_; }

    /// Writes a file such as the configuration of the program. Returns the path of the file.
    Result<std::string> write(const std::string& name, const std::string& text) const;

private:
    explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
    std::string path_;
};

/// A file in memory, for programs that this process starts. Its path is valid as long as this object exists.
class MemoryFile {
public:
    static Result<MemoryFile> make(const std::string& text);

    std::string path() const;

private:
    explicit MemoryFile(Fd file) : file_(std::move(file)) {}
    Fd file_;
};

Result<int> free_port(const std::string& address);

bool accepts_connections(const std::string& address, int port);

/// Searches in the folders of PATH and in those for administrators (Debian installs brokers in /usr/sbin). The error
/// says what to install: "mosquitto: no such program: install mosquitto".
Result<std::string> find_program(const std::string& name, const std::string& package);

/// The first line of standard output or standard error, from which the version of a program is read; empty if the
/// command prints nothing.
std::string first_line_of(const std::vector<std::string>& words);

/// The destructor ends the program with SIGTERM, and with SIGKILL if it does not end. If this process dies, the kernel
/// kills the program.
class HelperProgram {
public:
    struct Order {
        std::vector<std::string> words;  ///< the path of the program (see find_program), then its arguments
        /// Entries "NAME=value", in addition to the environment of this process.
        std::vector<std::string> environment = {};
        Patience patience{10'000};  ///< the time within which it must become ready
    };

    /// Starts a program in this folder, and calls `is_ready` every few milliseconds until `is_ready` returns true.
    /// Returns an error if the program ends first, or if it is not ready in time.
    static Result<std::unique_ptr<HelperProgram>> start(const Order& order, const PrivateFolder& folder,
                                                        const std::function<bool(const HelperProgram&)>& is_ready);

    /// Starts a program that writes no files, in the folder /. So nothing is left behind even if this process is
    /// killed.
    static Result<std::unique_ptr<HelperProgram>> start(const Order& order,
                                                        const std::function<bool(const HelperProgram&)>& is_ready);

    HelperProgram(const HelperProgram&) = delete;
    HelperProgram& operator=(const HelperProgram&) = delete;
    ~HelperProgram();

    pid_t pid() const { return pid_; }

    /// The output so far, from standard output and standard error.
    std::string output() const;

    /// Returns an error text with the last output if the program has ended, and nothing while it runs.
    std::optional<std::string> trouble() const;

    const std::vector<std::string>& words() const { return words_; }

    std::string command() const;

private:
    /// Returns nothing while the program runs.
    std::optional<siginfo_t> end() const;

    static Result<std::unique_ptr<HelperProgram>> start_in(const std::string& folder, Fd output, const Order& order,
                                                           const std::function<bool(const HelperProgram&)>& is_ready);

    HelperProgram(pid_t pid, std::vector<std::string> words, Fd output)
        : pid_(pid), words_(std::move(words)), output_(std::move(output)) {}

    pid_t pid_;
    std::vector<std::string> words_;
    Fd output_;  ///< stays readable after the folder was removed
};

}  // namespace tacholog
