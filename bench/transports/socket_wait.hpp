// How a transport waits for its socket: by non-blocking calls again and again, by a system call that sleeps until
// something has come, or the one for a while and then the other. Either way a message costs one system call: there is
// no poll() before it.
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

// send() and recv() without what the C library adds in a program of several threads: two locked instructions, so that
// somebody could cancel the thread meanwhile. Nobody cancels ours.

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

    /// Begins to wait for so long. It never sleeps longer than `nap` at once: a caller that has more to do gives one.
    /// The socket is the same one each time.
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

    /// From here on it waits for this socket.
    void turn_to(const Fd& socket) {
        socket_ = socket.get();
        if (asleep_) sleep_next();
    }

    /// The flags for the system call that comes next.
    int flags() const { return asleep_ ? 0 : MSG_DONTWAIT; }

    /// To be called after a call that found nothing: waits, unless the call has slept itself. False once the patience
    /// is used up.
    bool again() {
        if (poll_.wait()) return true;
        if (!sleeps(waiting_) || patience_.count() <= 0) return false;
        if (asleep_) return now_ns() < deadline_ns_;
        if (nap_ < shortest_sleep) return watch() || now_ns() < deadline_ns_;
        sleep_next();
        return true;
    }

    /// To be called after a call that brought something, but no message: false once the patience is used up, so that
    /// whoever sends such things keeps nobody waiting for ever. The clock is asked now and then; where each call may
    /// have slept, after each.
    bool goes_on() {
        constexpr unsigned calls_a_look = 64;
        if (!asleep_ && ++fruitless_ % calls_a_look != 0) return true;
        const Nanoseconds now = now_ns();
        if (others_end_ns_ == 0) others_end_ns_ = now + to_nanoseconds(patience_);
        return now < others_end_ns_;
    }

private:
    /// A socket counts the time that it sleeps in ticks of the kernel, which last up to 10 ms.
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

    /// Sleeps for a time that a socket does not know. True if something has come.
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
    int told_ = -1;      ///< the socket that was told...
    Patience limit_{0};  ///< ...that it may sleep for so long
    BusyPoll poll_{Patience{0}};
    Nanoseconds deadline_ns_ = 0;  ///< 0: the first sleep is the only one
    bool asleep_ = false;
    unsigned fruitless_ = 0;         ///< calls that brought no message
    Nanoseconds others_end_ns_ = 0;  ///< when the patience with them is used up; 0: not looked at yet
};

}  // namespace tacholog
