#include "core/stop.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>

#include <csignal>

namespace tacholog {

Result<Stop> Stop::watch() {
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGINT);
    ::sigaddset(&signals, SIGTERM);
    if (const int code = ::pthread_sigmask(SIG_BLOCK, &signals, nullptr); code != 0)
        return os_error("block SIGINT", code);
    Fd fd{::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)};
    if (!fd) return os_error("watch for SIGINT and SIGTERM");
    return Stop{std::move(fd)};
}

// The signal is left unread, so that every watcher sees it.
bool Stop::requested() const {
    pollfd waiting{fd_.get(), POLLIN, 0};
    return ::poll(&waiting, 1, 0) > 0;
}

}  // namespace tacholog
