#include "base/stop.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>

#include <csignal>

namespace tacholog {

namespace {

bool is_ignored(int signal) {
    struct sigaction action{};
    return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t watched_signals() {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM}) ::sigaddset(&signals, signal);
    for (const int signal : {SIGHUP, SIGQUIT}) {
        if (!is_ignored(signal)) ::sigaddset(&signals, signal);
    }
    return signals;
}

}  // namespace

Result<Stop> Stop::watch() {
    const sigset_t signals = watched_signals();
    if (const int code = ::pthread_sigmask(SIG_BLOCK, &signals, nullptr); code != 0)
        return os_error("block signals", code);
    Fd fd{::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)};
    if (!fd) return os_error("watch for signals");
    return Stop{std::move(fd)};
}

bool Stop::is_pending() {
    sigset_t pending;
    if (::sigpending(&pending) != 0) return false;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        if (::sigismember(&pending, signal) == 1 && !is_ignored(signal)) return true;
    }
    return false;
}

// The signal is not read from the descriptor, so that every watcher sees it.
bool Stop::requested() const {
    pollfd waiting{fd_.get(), POLLIN, 0};
    return ::poll(&waiting, 1, 0) > 0;
}

}  // namespace tacholog
