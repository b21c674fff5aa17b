// How a transport waits for its socket. There are three ways: repeated non-blocking calls, a blocking system call, or
// the first for a while and then the second. In all cases, a message costs one system call, because there is no poll()
// before it.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.hpp"
#include "base/waiting.hpp"

namespace tacholog {

// send() and recv() without the thread cancellation support of the C library. That support costs two locked
// instructions in a program with several threads, and our threads are never cancelled.

inline ssize_t send_bytes(int socket, const void* bytes, std::size_t count, int flags) {
    return ::syscall(SYS_sendto, socket, bytes, count, flags, nullptr, 0);
}

inline ssize_t receive_bytes(int socket, void* bytes, std::size_t count, int flags) {
    return ::syscall(SYS_recvfrom, socket, bytes, count, flags, nullptr, nullptr);
}

class SocketWait {
public:
    enum class For { receiving, sending };

    SocketWait(Waiting waiting, For what) : waiting_(waiting), what_(what) {}

    /// Each sleep lasts at most `nap`, so that the caller can do other work in between. The socket must be the same
    /// each time.
    void begin(int socket, Patience patience, Patience nap) {
        socket_ = socket;
        patience_ = patience;
        nap_ = std::min(nap, patience);
        poll_ = BusyPoll{patience, waiting_};
        asleep_ = false;
        fruitless_ = 0;
        others_end_ns_ = 0;
        deadline_ns_ = sleeps(waiting_) && nap < patience ? now_ns() + to_nanoseconds(patience) : 0;
        if (waiting_ == Waiting::block && nap_ >= shortest_sleep) sleep_next();
    }
    void begin(const Fd& socket, Patience patience, Patience nap) { begin(socket.get(), patience, nap); }
    void begin(const Fd& socket, Patience patience) { begin(socket, patience, patience); }

    void turn_to(const Fd& socket) {
        socket_ = socket.get();
        if (asleep_) sleep_next();
    }

    int flags() const { return asleep_ ? 0 : MSG_DONTWAIT; }

    /// Call this after a system call that received nothing. Waits, unless that call was blocking. Returns false when
    /// the patience is used up.
    bool again() {
        if (poll_.wait()) return true;
        if (!sleeps(waiting_) || patience_.count() <= 0) return false;
        if (asleep_) return now_ns() < deadline_ns_;
        if (nap_ < shortest_sleep) return watch() || now_ns() < deadline_ns_;
        sleep_next();
        return true;
    }

    /// Call this after a system call that received something, but no complete message. Returns false when the patience
    /// is used up. Otherwise data without a complete message could keep the caller waiting for ever. The clock is read
    /// only in every 64th call, or in each call if the system calls are blocking.
    bool goes_on() {
        constexpr unsigned calls_a_look = 64;
        if (!asleep_ && ++fruitless_ % calls_a_look != 0) return true;
        const Nanoseconds now = now_ns();
        if (others_end_ns_ == 0) others_end_ns_ = now + to_nanoseconds(patience_);
        return now < others_end_ns_;
    }

private:
    /// The timeout of a socket counts in ticks of the kernel, which last up to 10 ms. Shorter sleeps need ppoll().
    static constexpr Patience shortest_sleep{10};

    void sleep_next() {
        asleep_ = true;
        if (told_ == socket_ && limit_ == nap_) return;
        told_ = socket_;
        limit_ = nap_;
        ::fcntl(socket_, F_SETFL, ::fcntl(socket_, F_GETFL) & ~O_NONBLOCK);
        const Nanoseconds time_ns = to_nanoseconds(nap_);
        const timeval time{time_ns / nanoseconds_per_second, time_ns % nanoseconds_per_second / 1000};
        ::setsockopt(socket_, SOL_SOCKET, what_ == For::receiving ? SO_RCVTIMEO : SO_SNDTIMEO, &time, sizeof time);
    }

    /// Sleeps for a time that is too short for a socket's timeout. Returns true if the socket is ready.
    bool watch() {
        const Nanoseconds time_ns = to_nanoseconds(nap_);
        const timespec time{time_ns / nanoseconds_per_second, time_ns % nanoseconds_per_second};
        pollfd waiting{socket_, static_cast<short>(what_ == For::receiving ? POLLIN : POLLOUT), 0};
        return ::ppoll(&waiting, 1, &time, nullptr) > 0;
    }

    Waiting waiting_;
    For what_;
    int socket_ = -1;
    Patience patience_{0};
    Patience nap_{0};
    int told_ = -1;      ///< the socket whose timeout was set last
    Patience limit_{0};  ///< the timeout that was set last
    BusyPoll poll_{Patience{0}};
    Nanoseconds deadline_ns_ = 0;  ///< 0: the wait has only one sleep, so no deadline is needed
    bool asleep_ = false;
    unsigned fruitless_ = 0;         ///< calls that brought no message
    Nanoseconds others_end_ns_ = 0;  ///< when the patience in goes_on() ends; 0: not computed yet
};

}  // namespace tacholog
