#include "machine/helper_program.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/address.hpp"
#include "base/fd.hpp"
#include "base/stop.hpp"
#include "base/text.hpp"

namespace tacholog {
namespace {

void pause_briefly() {
    const timespec time{0, 2'000'000};
    ::nanosleep(&time, nullptr);
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
    std::vector<char*> pointers;
    for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

std::vector<std::string> own_environment() {
    std::vector<std::string> list;
    for (char** entry = environ; *entry != nullptr; ++entry) list.emplace_back(*entry);
    return list;
}

/// Runs in the new process: the signal settings of this program must not apply to the helper program.
void reset_signals() {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(number, SIG_DFL);
}

struct Start {
    const char* folder = nullptr;  ///< where the program starts; nullptr: in the current folder
    int input = -1;
    int output = -1;
    char* const* words = nullptr;
    char* const* environment = nullptr;
};

/// Runs in the new process, where only system calls are safe.
[[noreturn]] void become(const Start& start, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);  // the parent died before the prctl call took effect
    reset_signals();
    // In its own process group, the program does not receive a Ctrl-C from the terminal. perftest receives it, and ends
    // the program cleanly.
    ::setpgid(0, 0);
    ::dup2(start.input, STDIN_FILENO);
    ::dup2(start.output, STDOUT_FILENO);
    ::dup2(start.output, STDERR_FILENO);
    ::close_range(3, ~0U, 0);
    if (start.folder == nullptr || ::chdir(start.folder) == 0) ::execve(start.words[0], start.words, start.environment);
    ::_exit(127);
}

std::string last_line(const std::string& text) {
    const auto end = text.find_last_not_of(" \n\r\t");
    if (end == std::string::npos) return "";
    const auto begin = text.find_last_of('\n', end);
    return text.substr(begin == std::string::npos ? 0 : begin + 1,
                       end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

bool is_killed(const siginfo_t& end) {
    return end.si_code != CLD_EXITED;
}

std::string name_of(const std::vector<std::string>& words) {
    return std::filesystem::path{words.front()}.filename().string();
}

}  // namespace

Result<PrivateFolder> PrivateFolder::make() {
    std::error_code problem;
    const auto parent = std::filesystem::temp_directory_path(problem);  // TMPDIR can name this folder
    std::string path = (problem ? std::filesystem::path{"/tmp"} : parent) / "tacholog-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return os_error("make a folder like " + path);
    return PrivateFolder{std::move(path)};
}

PrivateFolder::~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Result<std::string> PrivateFolder::write(const std::string& name, const std::string& text) const {
    std::string path = path_ + "/" + name;
    std::ofstream file{path};
    file << text << std::flush;
    if (!file) return os_error("write " + path);
    return path;
}

Result<MemoryFile> MemoryFile::make(const std::string& text) {
    Fd file{::memfd_create("text", MFD_CLOEXEC)};
    if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return os_error("write a file in memory");
    return MemoryFile{std::move(file)};
}

std::string MemoryFile::path() const {
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_.get());
}

Result<int> free_port(const std::string& address) {
    const auto where = parse_address(address, 0);
    if (!where) return Error{"find a free port of " + address + ": not an IP address"};
    const Fd socket{::socket(where->family(), SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!socket || ::bind(socket.get(), where->get(), where->length()) != 0)
        return os_error("find a free port of " + address);
    return static_cast<int>(local_address(socket).port());
}

bool accepts_connections(const std::string& address, int port) {
    const auto where = parse_address(address, static_cast<std::uint16_t>(port));
    if (!where) return false;
    const Fd socket{::socket(where->family(), SOCK_STREAM | SOCK_CLOEXEC, 0)};
    return socket && ::connect(socket.get(), where->get(), where->length()) == 0;
}

Result<std::string> find_program(const std::string& name, const std::string& package) {
    const char* path = std::getenv("PATH");
    const std::string folders = std::string{path == nullptr ? "" : path} + ":/usr/local/sbin:/usr/sbin:/sbin";
    for (const auto folder : split(folders, ':')) {
        std::string candidate = std::string{folder} + "/" + name;
        if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    }
    return Error{name + ": no such program: install " + package};
}

std::string first_line_of(const std::vector<std::string>& words) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return "";
    const Fd from{ends[0]};
    Fd to{ends[1]};
    const Fd nothing{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    const auto pointers = pointers_to(words);
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return "";
    if (pid == 0) become({nullptr, nothing.get(), to.get(), pointers.data(), environ}, parent);
    to = Fd{};
    std::string text;
    std::array<char, 4096> piece{};
    constexpr std::size_t longest = 65536;
    for (ssize_t bytes = 1; bytes > 0 && text.size() < longest;) {
        bytes = ::read(from.get(), piece.data(), piece.size());
        if (bytes > 0) text.append(piece.data(), static_cast<std::size_t>(bytes));
    }
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    const auto begin = text.find_first_not_of(" \n\r\t");
    return begin == std::string::npos ? "" : text.substr(begin, text.find_first_of("\r\n", begin) - begin);
}

Result<std::unique_ptr<HelperProgram>> HelperProgram::start(const Order& order, const PrivateFolder& folder,
                                                            const std::function<bool(const HelperProgram&)>& is_ready) {
    const std::string output_path = folder.path() + "/" + name_of(order.words) + ".output";
    Fd output{::open(output_path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600)};
    if (!output) return os_error("open " + output_path);
    return start_in(folder.path(), std::move(output), order, is_ready);
}

Result<std::unique_ptr<HelperProgram>> HelperProgram::start(const Order& order,
                                                            const std::function<bool(const HelperProgram&)>& is_ready) {
    Fd output{::memfd_create("output", MFD_CLOEXEC)};
    if (!output) return os_error("keep what " + name_of(order.words) + " prints");
    ::fcntl(output.get(), F_SETFL, O_APPEND);
    return start_in("/", std::move(output), order, is_ready);
}

Result<std::unique_ptr<HelperProgram>> HelperProgram::start_in(
    const std::string& folder, Fd output, const Order& order,
    const std::function<bool(const HelperProgram&)>& is_ready) {
    const std::string name = name_of(order.words);
    const Fd nothing{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    if (!nothing) return os_error("open /dev/null");
    const auto words = pointers_to(order.words);
    // The entries of `order` come first, because getenv returns the first entry with a name.
    std::vector<std::string> environment = order.environment;
    for (std::string& entry : own_environment()) environment.push_back(std::move(entry));
    const auto entries = pointers_to(environment);
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return os_error("start " + name);
    if (pid == 0) become({folder.c_str(), nothing.get(), output.get(), words.data(), entries.data()}, parent);
    std::unique_ptr<HelperProgram> program{new HelperProgram{pid, order.words, std::move(output)}};
    const Deadline deadline{order.patience};
    while (!is_ready(*program)) {
        if (const auto trouble = program->trouble())
            return Error{*trouble, is_killed(*program->end()) ? Code::killed : Code::other};
        if (Stop::is_pending()) return Stop::error();
        if (deadline.passed()) {
            const std::string last = last_line(program->output());
            return Error{name + " is not ready after " + std::to_string(static_cast<long>(order.patience.count())) +
                         " ms" + (last.empty() ? "" : ": " + last)};
        }
        pause_briefly();
    }
    return program;
}

HelperProgram::~HelperProgram() {
    constexpr Patience grace{3000};
    const Deadline deadline{grace};
    ::kill(pid_, SIGTERM);
    while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
        if (deadline.passed()) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
            return;
        }
        pause_briefly();
    }
}

std::string HelperProgram::output() const {
    std::string text;
    std::array<char, 4096> piece{};
    for (ssize_t bytes = 1; bytes > 0;) {
        bytes = ::pread(output_.get(), piece.data(), piece.size(), static_cast<off_t>(text.size()));
        if (bytes > 0) text.append(piece.data(), static_cast<std::size_t>(bytes));
    }
    return text;
}

std::optional<siginfo_t> HelperProgram::end() const {
    siginfo_t facts{};
    const bool ended =
        ::waitid(P_PID, static_cast<id_t>(pid_), &facts, WEXITED | WNOHANG | WNOWAIT) == 0 && facts.si_pid == pid_;
    return ended ? std::optional{facts} : std::nullopt;
}

std::optional<std::string> HelperProgram::trouble() const {
    const auto facts = end();
    if (!facts) return std::nullopt;
    const std::string last = last_line(output());
    return name_of(words_) + (is_killed(*facts) ? " was killed by signal " : " has ended with exit status ") +
           std::to_string(facts->si_status) + (last.empty() ? "" : ": " + last);
}

std::string HelperProgram::command() const {
    std::string text;
    for (const std::string& word : words_) text += (text.empty() ? "" : " ") + word;
    return text;
}

}  // namespace tacholog
