#include "transports/stream.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "transports/local_socket.hpp"
#include "transports/udp_socket.hpp"

namespace tacholog {
namespace {

// One receive can return many small messages. The block is small enough for a cache near the core.
constexpr std::size_t block_bytes = std::size_t{64} * 1024;

// The largest message for which the byte that ends the message may stay in the socket. For a larger message, the kernel
// would then not tell the sender that there is space, although the sender waits for space. At 1 MiB, this wait took a
// third of the whole time. At 64 KiB, reading the byte is no faster, because the acknowledgements cost as much (a
// virtual machine with 2 CPUs, 2026-11-22).
constexpr std::size_t largest_left = std::size_t{256} * 1024;

// The offset of a message that is alone in the buffer. It is chosen so that the payload, which follows the header, is
// aligned.
constexpr std::size_t front_at = 16 - header_bytes;

bool would_block() {
    return errno == EAGAIN || errno == EINTR;
}

bool hung_up_error() {
    return errno == EPIPE || errno == ECONNRESET;
}

}  // namespace

StreamPublisher::StreamPublisher(const Topic& topic)
    : Publisher(topic.max_bytes),
      wait_(topic.waiting, SocketWait::For::sending),
      batch_messages_(topic.batch_messages),
      buffer_(topic.batch_messages * (header_bytes + topic.max_bytes)) {}

Result<void> StreamPublisher::add(Fd socket, std::string name, std::uint64_t token) {
    const StreamHello hello{hello_magic, token, max_bytes()};
    std::array<std::byte, sizeof hello + frame_at> greeting{};
    std::memcpy(greeting.data(), &hello, sizeof hello);
    const auto sent = ::send(socket.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(greeting.size())) return os_error("greet " + name);
    connections_.push_back({std::move(socket), std::move(name)});
    return {};
}

Facts StreamPublisher::facts() const {
    return socket_facts(connections_.front().socket);
}

Result<std::span<std::byte>> StreamPublisher::acquire(std::size_t bytes) {
    if (cut_) return Error{"loan on " + connections_.front().name + ": an earlier message was given up halfway"};
    const StreamFrame frame{frame_magic, static_cast<std::uint32_t>(bytes)};
    std::memcpy(buffer_.data() + held_bytes_, &frame, sizeof frame);
    total_ = held_bytes_ + sizeof frame + bytes + frame_at;
    return std::span{buffer_}.subspan(held_bytes_ + sizeof frame, bytes);
}

// All calls are inlined here ("flatten"), as in receive(). The reason is that the processor mispredicts the returns
// from functions after a system call. Each of these returns costs some 5 ns, while a small message takes only 500 ns
// (an AMD EPYC under a hypervisor, 2026-11-23).
[[gnu::flatten]] Result<Done> StreamPublisher::commit(Patience patience) {
    if (held_ + 1 == batch_messages_) return send_all(patience);
    ++held_;
    held_bytes_ = total_;
    return Done::yes;
}

Result<Done> StreamPublisher::flush(Patience patience) {
    if (held_ == 0) return Done::yes;
    total_ = held_bytes_;
    return send_all(patience);
}

// Continues after `not_yet` where the last call stopped, even if more messages have been added. No byte is sent twice.
Result<Done> StreamPublisher::send_all(Patience patience) {
    const auto sent = connections_.size() == 1 ? send_to_one(patience) : send_to_several(patience);
    if (!is_done(sent)) return sent;
    for (Connection& connection : connections_) connection.sent = 0;
    held_ = held_bytes_ = 0;
    return Done::yes;
}

Result<Done> StreamPublisher::send_to_one(Patience patience) {
    Connection& to = connections_.front();
    wait_.begin(to.socket, patience);
    while (to.sent != total_) {
        const auto took = send_some(to);
        if (!took.has_value()) return took.error();
        if (*took == Done::not_yet && !wait_.again()) return Done::not_yet;
    }
    return Done::yes;
}

Result<Done> StreamPublisher::send_to_several(Patience patience) {
    // Tries the sockets in turn, so that no subscriber delays the others for longer than a nap.
    constexpr Patience nap{1};
    wait_.begin(connections_.front().socket, patience, nap);
    while (!all_sent()) {
        const auto moved = send_round();
        if (!moved.has_value()) return moved.error();
        if (*moved == Done::not_yet && !wait_.again()) return Done::not_yet;
    }
    return Done::yes;
}

bool StreamPublisher::all_sent() const {
    return std::all_of(connections_.begin(), connections_.end(),
                       [this](const Connection& connection) { return connection.sent == total_; });
}

Result<Done> StreamPublisher::send_round() {
    Done moved = Done::not_yet;
    for (Connection& connection : connections_) {
        if (connection.sent == total_) continue;
        const auto took = send_some(connection);
        if (!took.has_value()) return took.error();
        if (*took == Done::not_yet) wait_.turn_to(connection.socket);
        if (*took == Done::yes) moved = Done::yes;
    }
    return moved;
}

Result<Done> StreamPublisher::send_some(Connection& to) {
    const auto sent =
        send_bytes(to.socket.get(), buffer_.data() + to.sent, total_ - to.sent, MSG_NOSIGNAL | wait_.flags());
    if (sent >= 0) {
        to.sent += static_cast<std::size_t>(sent);
        return Done::yes;
    }
    if (would_block()) return Done::not_yet;
    if (hung_up_error()) return Error{"publish on " + to.name + ": the subscriber is gone"};
    return os_error("publish on " + to.name);
}

void StreamPublisher::abandon() noexcept {
    cut_ = std::any_of(connections_.begin(), connections_.end(),
                       [this](const Connection& connection) { return connection.sent > held_bytes_; });
}

StreamSubscriber::StreamSubscriber(Fd listener, std::uint64_t token, const Topic& topic, std::string endpoint,
                                   Prepare prepare, SenderJoins joins)
    : listener_(std::move(listener)),
      wait_(topic.waiting, SocketWait::For::receiving),
      token_(token),
      max_bytes_(topic.max_bytes),
      endpoint_(std::move(endpoint)),
      prepare_(prepare),
      joins_(joins),
      buffer_(front_at + header_bytes + topic.max_bytes + block_bytes),
      begin_(front_at),
      end_(front_at) {}

StreamSubscriber::StreamSubscriber(std::unique_ptr<LocalAcceptor> acceptor, std::uint64_t token, const Topic& topic)
    : StreamSubscriber(Fd{}, token, topic, acceptor->endpoint(), [](const Fd&) {}) {
    acceptor_ = std::move(acceptor);
}

Facts StreamSubscriber::facts() const {
    return socket_ ? socket_facts(socket_) : Facts{};
}

// A connection that does not send the right greeting is closed, and the wait continues.
Result<Done> StreamSubscriber::match(Patience patience) {
    constexpr Patience longest_greeting{1000};
    const Deadline deadline{patience};
    for (bool is_first = true; !socket_; is_first = false) {
        // The time limit holds even if more wrong connections are waiting.
        if (!is_first && deadline.passed()) return Done::not_yet;
        auto socket = next_connection(deadline);
        if (!socket) return socket.error();
        if (!*socket) return Done::not_yet;
        if (!greeted(*socket, std::min(deadline.left(), longest_greeting))) continue;
        prepare_(*socket);
        socket_ = std::move(*socket);
    }
    return Done::yes;
}

/// Returns an invalid descriptor if there was no connection in time.
Result<Fd> StreamSubscriber::next_connection(const Deadline& deadline) {
    if (acceptor_) return acceptor_->wait(deadline.left());
    if (!readable(listener_, deadline)) return Fd{};
    Fd socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (!socket) return os_error("accept on " + endpoint_);
    return socket;
}

bool StreamSubscriber::greeted(const Fd& socket, Patience patience) const {
    StreamHello hello{};
    if (!readable(socket, Deadline{patience})) return false;
    const auto received = ::recv(socket.get(), &hello, sizeof hello, MSG_DONTWAIT);
    if (received != static_cast<ssize_t>(sizeof hello)) return false;
    return hello.magic == hello_magic && hello.token == token_ && hello.max_bytes == max_bytes_;
}

[[gnu::flatten]] Result<std::span<const std::byte>> StreamSubscriber::receive(Patience patience) {
    if (!socket_) return Error{"take from " + endpoint_ + ": no publisher has joined yet"};
    wait_.begin(socket_, patience);
    bool came = false;
    while (true) {
        const auto message = front();
        if (!message || message->data() != nullptr) {
            if (message) lent_ = header_bytes + message->size();
            return message;
        }
        if (came && !wait_.goes_on()) return std::span<const std::byte>{};  // only parts of a message arrived
        const auto filled = fill();
        if (!filled.has_value()) return filled.error();
        came = *filled == Done::yes;
        if (!came && !wait_.again()) return std::span<const std::byte>{};
    }
}

Result<std::span<const std::byte>> StreamSubscriber::front() const {
    const std::size_t there = end_ - begin_;
    if (there < header_bytes) return std::span<const std::byte>{};
    StreamFrame frame{};
    std::memcpy(&frame, buffer_.data() + begin_ + frame_at, sizeof frame);
    if (frame.magic != frame_magic) return Error{"take from " + endpoint_ + ": the stream is not one of messages"};
    if (frame.bytes > max_bytes_) {
        return Error{"take from " + endpoint_ + ": a message of " + std::to_string(frame.bytes) +
                     " bytes is announced, " + std::to_string(max_bytes_) + " are agreed"};
    }
    if (there < header_bytes + frame.bytes) return std::span<const std::byte>{};
    return std::span{buffer_}.subspan(begin_ + header_bytes, frame.bytes);
}

// Returns the number of bytes to request. Usually this is exactly one message, so that the byte that ends it stays in
// the socket. The next message then starts at the front of the buffer, so it need not be moved and the cache is warm.
// More is requested in two cases.
//
// The first case is a large message. The second case is that more data has already arrived: the sender then does not
// wait for an answer, and one receive can return several small messages.
//
// The second case does not apply if the kernel of the sender joins messages while data is in flight (Nagle's
// algorithm). Such a kernel sends its next packet when it gets an acknowledgement, and a socket sends an
// acknowledgement when it is read empty. A receiver that reads everything at once therefore gets small packets. They
// cost both sides more than the receiver saves by receiving less often. If the receiver reads one message at a time,
// packets grow to 64 KiB, and twice as many messages of 64 bytes are transferred (a virtual machine with 2 CPUs,
// 2026-11-23).
std::size_t StreamSubscriber::wanted() const {
    StreamFrame frame{0, static_cast<std::uint32_t>(max_bytes_)};
    const std::size_t there = end_ - begin_;
    if (there >= header_bytes) std::memcpy(&frame, buffer_.data() + begin_ + frame_at, sizeof frame);
    const std::size_t rest = header_bytes + frame.bytes - there;
    if (frame.bytes > largest_left) return rest + header_bytes;
    return more_ && joins_ == SenderJoins::no ? std::max(block_bytes, rest) : rest;
}

Result<Done> StreamSubscriber::fill() {
    if (begin_ > front_at) {
        std::memmove(buffer_.data() + front_at, buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_ - front_at;
        begin_ = front_at;
    }
    const std::size_t room = std::min(wanted(), buffer_.size() - end_);
    const auto received = receive_bytes(socket_.get(), buffer_.data() + end_, room, wait_.flags());
    if (received > 0) {
        end_ += static_cast<std::size_t>(received);
        more_ = static_cast<std::size_t>(received) == room;
        return Done::yes;
    }
    if (received < 0 && would_block()) return Done::not_yet;
    if (received == 0 || hung_up_error()) return Error{"take from " + endpoint_ + ": the publisher is gone"};
    return os_error("take from " + endpoint_);
}

void StreamSubscriber::release() noexcept {
    begin_ += lent_;
    lent_ = 0;
    if (begin_ == end_) begin_ = end_ = front_at;
}

}  // namespace tacholog
