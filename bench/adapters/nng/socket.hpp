// The library's sockets: how a side waits for a socket, and how a socket is closed without losing messages that are on
// their way.
#pragma once

#include <nng/nng.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TACHOLOG_FINDS_LEAKS
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define TACHOLOG_FINDS_LEAKS
#endif
#ifdef TACHOLOG_FINDS_LEAKS
#include <sanitizer/lsan_interface.h>
#endif

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/waiting.hpp"
#include "transports/transport.hpp"

namespace tacholog::nng {

inline Error nng_error(const std::string& operation, int code) {
    return Error{operation + ": " + ::nng_strerror(code)};
}

/// Sends a message. If it succeeds, the library owns the message.
///
/// nng 1.5.2 never frees a message that is sent at the moment when the connection closes: pub0_pipe_close() first stops
/// sending, and only then removes the connection from the list of receivers. This is not our leak, so the leak
/// sanitizer ignores messages that were passed to the library.
inline int send_message(nng_socket socket, nng_msg* message, int flags) {
#ifdef TACHOLOG_FINDS_LEAKS
    ::__lsan_ignore_object(message);
#endif
    return ::nng_sendmsg(socket, message, flags);
}

/// An open socket, its connected peers, and how a side waits for it.
class Socket {
public:
    Socket(nng_socket socket, Waiting waiting) : socket_(socket), waiting_(waiting) {
        const auto came = [](nng_pipe pipe, nng_pipe_ev, void* self) { static_cast<Socket*>(self)->add(pipe); };
        const auto went = [](nng_pipe pipe, nng_pipe_ev, void* self) { static_cast<Socket*>(self)->remove(pipe); };
        ::nng_pipe_notify(socket_, NNG_PIPE_EV_ADD_POST, came, this);
        ::nng_pipe_notify(socket_, NNG_PIPE_EV_REM_POST, went, this);
        ::nng_socket_set_size(socket_, NNG_OPT_RECVMAXSZ, 0);
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket() { ::nng_close(socket_); }

    nng_socket get() const { return socket_; }

    int peers() const { return peer_count_; }

    /// Returns not_yet if `patience` is used up, or if `enough` returns true because more attempts are useless. An
    /// attempt that gets the flag 0 may block, but only until the timeout of the socket, which is set with
    /// `timeout_option`.
    template <typename Attempt, typename Enough>
    Result<Done> wait(const char* timeout_option, Patience patience, Attempt&& attempt, Enough&& enough) {
        auto done = attempt(NNG_FLAG_NONBLOCK);
        for (BusyPoll poll{patience, waiting_}; is_not_yet_done(done) && !enough() && poll.wait();)
            done = attempt(NNG_FLAG_NONBLOCK);
        if (!is_not_yet_done(done) || !sleeps(waiting_)) return done;
        const Nanoseconds deadline = now_ns() + to_nanoseconds(patience);
        for (Nanoseconds left = to_nanoseconds(patience); is_not_yet_done(done) && left > 0 && !enough();
             left = deadline - now_ns()) {
            done = attempt(sleeps_in_the_call(timeout_option, left));
        }
        return done;
    }

private:
    void add(nng_pipe pipe) {
        const std::lock_guard lock{mutex_};
        peers_.push_back(::nng_pipe_id(pipe));
        peer_count_ = static_cast<int>(peers_.size());
    }

    /// The library also calls this for a connection that was rejected and therefore never added, for example from
    /// another kind of socket.
    void remove(nng_pipe pipe) {
        {
            const std::lock_guard lock{mutex_};
            if (std::erase(peers_, ::nng_pipe_id(pipe)) == 0) return;
            peer_count_ = static_cast<int>(peers_.size());
        }
        // Without this, a publisher whose subscriber has left would dial again, and might reach another program that
        // listens there by then.
        if (const nng_dialer dialer = ::nng_pipe_dialer(pipe); ::nng_dialer_id(dialer) > 0) ::nng_dialer_close(dialer);
    }

    static constexpr Nanoseconds one_ms = 1'000'000;
    static constexpr int longest_sleep_ms = 50;

    /// Returns the flags for a call of the library that blocks for at most this time. The library counts in whole
    /// milliseconds. For less than a millisecond, this function itself takes a nap, and the call does not block.
    int sleeps_in_the_call(const char* timeout_option, Nanoseconds left_ns) {
        constexpr Nanoseconds nap_ns = 50'000;
        if (left_ns < one_ms) {
            sleep_until(now_ns() + std::min(nap_ns, left_ns));
            return NNG_FLAG_NONBLOCK;
        }
        const int timeout_ms = static_cast<int>(std::min<Nanoseconds>(left_ns / one_ms, longest_sleep_ms));
        if (timeout_ms != timeout_ms_) ::nng_socket_set_ms(socket_, timeout_option, timeout_ms);
        timeout_ms_ = timeout_ms;
        return 0;
    }

    nng_socket socket_;
    Waiting waiting_;
    std::mutex mutex_;
    std::vector<int> peers_;          ///< the ids of the connections; threads of the library call `add` and `remove`
    std::atomic<int> peer_count_{0};  ///< the size of peers_, so that a polling loop can read it without a lock
    int timeout_ms_ = -1;
};

/// The sockets of publishers that have left. Closing a socket discards messages that are still in the library's
/// threads. So each socket stays open until its subscriber has closed the other end, or until a timeout.
class Leaving {
public:
    static Leaving& instance() {
        static Leaving all;
        return all;
    }

    void add(std::unique_ptr<Socket> socket) {
        const std::lock_guard lock{mutex_};
        sockets_.push_back({std::move(socket), now_ns()});
    }

    void clear() {
        constexpr Nanoseconds longest_ns = nanoseconds_per_second;
        const std::lock_guard lock{mutex_};
        std::erase_if(sockets_, [now = now_ns()](const Left& left) {
            return left.socket->peers() == 0 || now - left.since_ns > longest_ns;
        });
    }

private:
    struct Left {
        std::unique_ptr<Socket> socket;
        Nanoseconds since_ns;
    };
    std::mutex mutex_;
    std::vector<Left> sockets_;
};

using Open = int (*)(nng_socket*);

inline Result<std::unique_ptr<Socket>> open_socket(const Topic& topic, Open open, std::string_view queue_setting,
                                                   const char* queue_option) {
    Leaving::instance().clear();
    nng_socket socket{};
    if (const int code = open(&socket); code != 0) return nng_error("open an nng socket", code);
    auto opened = std::make_unique<Socket>(socket, topic.waiting);
    if (value_of(topic.settings, queue_setting) == "library") return opened;
    const int messages = static_cast<int>(number_of(topic.settings, queue_setting));
    if (const int code = ::nng_socket_set_int(socket, queue_option, messages); code != 0)
        return nng_error("set " + std::string{queue_setting} + " of this nng socket", code);
    return opened;
}

}  // namespace tacholog::nng
