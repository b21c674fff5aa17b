#include "control/fresh_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

#include "base/fd.hpp"
#include "control/child.hpp"

namespace tacholog {
namespace {

/// The last output of the process: the counts of its log, and whether it has succeeded. If not, the text of its error
/// follows.
struct Verdict {
    Log::Counts counts;
    bool failed = false;
    Code code = Code::other;
    int channel = -1;  ///< the same number in both processes, because the new process inherits the descriptors
};

void write_all(int descriptor, const void* from, std::size_t bytes) {
    const char* at = static_cast<const char*>(from);
    while (bytes > 0) {
        const ssize_t wrote = ::write(descriptor, at, bytes);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return;  // the parent has died, and the kernel will end this process too
        at += wrote;
        bytes -= static_cast<std::size_t>(wrote);
    }
}

void work_and_tell(int descriptor, Log* log, const std::function<Result<void>()>& work) {
    const auto done = without_exceptions(work);
    Verdict verdict;
    verdict.failed = !done;
    if (!done) {
        verdict.code = done.error().code;
        verdict.channel = done.error().channel;
    }
    if (log != nullptr) {
        log->flush();
        verdict.counts = log->counts();
    }
    write_all(descriptor, &verdict, sizeof verdict);
    if (!done) write_all(descriptor, done.error().text.data(), done.error().text.size());
}

/// A signal that asks this process to stop is passed on to the child.
std::string read_to_end(int descriptor, const Stop& stop, pid_t child) {
    std::string text;
    bool asked = false;
    while (true) {
        std::array<pollfd, 2> watched{{{descriptor, POLLIN, 0}, {asked ? -1 : stop.descriptor(), POLLIN, 0}}};
        if (::poll(watched.data(), watched.size(), -1) < 0) {
            if (errno == EINTR) continue;
            return text;
        }
        if (watched[1].revents != 0) {
            ::kill(child, SIGTERM);
            asked = true;
        }
        if (watched[0].revents == 0) continue;
        std::array<char, 4096> piece{};
        const ssize_t bytes = ::read(descriptor, piece.data(), piece.size());
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes <= 0) return text;
        text.append(piece.data(), static_cast<std::size_t>(bytes));
    }
}

}  // namespace

Result<void> in_fresh_process(const std::string& who, const Stop& stop, Log* log,
                              const std::function<Result<void>()>& work) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os_error("open a pipe to " + who);
    const Fd from_child{ends[0]};
    Fd to_parent{ends[1]};
    if (log != nullptr) log->flush();
    auto child = Child::start(who + " process", [&] {
        work_and_tell(to_parent.get(), log, work);
        return 0;
    });
    if (!child) return child.error();
    to_parent = Fd{};  // closes this process's copy
    const std::string told = read_to_end(from_child.get(), stop, child->pid());
    const std::string fate = child->reap();
    Verdict verdict;
    if (told.size() < sizeof verdict) return Error{fate.empty() ? who + " process ended too early" : fate};
    std::memcpy(&verdict, told.data(), sizeof verdict);
    if (log != nullptr) log->set(verdict.counts);
    if (!verdict.failed) return {};
    return Error{told.substr(sizeof verdict), verdict.code, verdict.channel};
}

}  // namespace tacholog
