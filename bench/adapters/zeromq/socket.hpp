// The library's objects: the context with its threads, a message, and a socket that polls or sleeps as the rig
// requires.
#pragma once

#include <zmq.h>

#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "adapters/attempts.hpp"
#include "transports/transport.hpp"

namespace tacholog::zeromq {

inline Error zmq_error(const std::string& operation) {
    return Error{operation + ": " + ::zmq_strerror(::zmq_errno())};
}

inline bool would_wait() {
    return ::zmq_errno() == EAGAIN || ::zmq_errno() == EINTR;
}

class Context {
public:
    explicit Context(int io_threads) : context_(::zmq_ctx_new()) {
        ::zmq_ctx_set(context_, ZMQ_IO_THREADS, io_threads);
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    ~Context() { ::zmq_ctx_term(context_); }

    void* get() const { return context_; }

private:
    void* context_;
};

/// Returns the context that all sockets in this process share, because inproc only connects sockets of one context. The
/// context exists as long as a socket uses it. The context is created as late as possible, so that the threads of the
/// library run on the CPUs that this side is pinned to.
inline std::shared_ptr<Context> context_for(const Topic& topic) {
    static std::mutex mutex;
    static std::weak_ptr<Context> shared;
    const std::lock_guard lock{mutex};
    auto context = shared.lock();
    if (context == nullptr) {
        context = std::make_shared<Context>(static_cast<int>(number_of(topic.settings, "io-threads")));
        shared = context;
    }
    return context;
}

/// A socket, and how a side waits for it.
class Socket {
public:
    Socket(const Topic& topic, int type)
        : context_(context_for(topic)), socket_(::zmq_socket(context_->get(), type)), waiting_(topic.waiting) {
        constexpr int longest_farewell_ms = 200;  // a peer that has left receives nothing, so this is limited
        const int queue = static_cast<int>(number_of(topic.settings, "high-water-mark"));
        set(ZMQ_SNDHWM, queue);
        set(ZMQ_RCVHWM, queue);
        set(ZMQ_LINGER, longest_farewell_ms);
        set(ZMQ_IPV6, parse_address(topic.local_address, 0).value_or(Address{}).family() == AF_INET6 ? 1 : 0);
        std::size_t size = sizeof descriptor_;
        ::zmq_getsockopt(socket_, ZMQ_FD, &descriptor_, &size);
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket() { ::zmq_close(socket_); }

    void* get() const { return socket_; }
    void set(int option, int value) const { ::zmq_setsockopt(socket_, option, &value, sizeof value); }

    /// Repeats the attempt until it succeeds or fails. Returns not_yet if neither happens within `patience`.
    template <typename Attempt>
    Result<Done> wait(short event, Patience patience, Attempt&& attempt) const {
        return try_for(patience, waiting_, attempt, [this, event](Nanoseconds time_ns) { sleep(event, time_ns); });
    }

private:
    /// Sleeps until the state of the socket may have changed. The events are read first, because the descriptor signals
    /// only later changes.
    void sleep(short event, Nanoseconds time_ns) const {
        int events = 0;
        std::size_t size = sizeof events;
        ::zmq_getsockopt(socket_, ZMQ_EVENTS, &events, &size);
        if ((events & event) != 0) return;
        sleep_until_ready(descriptor_, POLLIN, time_ns);
    }

    std::shared_ptr<Context> context_;
    void* socket_;
    int descriptor_ = -1;
    Waiting waiting_;
};

/// A message of the library. The destructor closes the message.
class Message {
public:
    Message() { ::zmq_msg_init(&message_); }
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;
    ~Message() { ::zmq_msg_close(&message_); }

    bool resize(std::size_t bytes) {
        ::zmq_msg_close(&message_);
        if (::zmq_msg_init_size(&message_, bytes) == 0) return true;
        ::zmq_msg_init(&message_);
        return false;
    }
    void clear() {
        ::zmq_msg_close(&message_);
        ::zmq_msg_init(&message_);
    }

    zmq_msg_t* get() { return &message_; }
    std::span<std::byte> bytes() {
        return {static_cast<std::byte*>(::zmq_msg_data(&message_)), ::zmq_msg_size(&message_)};
    }

private:
    zmq_msg_t message_{};
};

}  // namespace tacholog::zeromq
