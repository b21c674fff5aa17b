#include "transports/stream.hpp"

#include <algorithm>
#include <cstring>

#include "core/waiting.hpp"
#include "transports/local_socket.hpp"
#include "transports/udp_socket.hpp"

namespace tacholog {
namespace {

// Many small messages to a receive, and still in the first-level cache's neighbourhood.
constexpr std::size_t block_bytes = std::size_t{64} * 1024;

bool would_block() {
    return errno == EAGAIN || errno == EINTR;
}

bool hung_up_error() {
    return errno == EPIPE || errno == ECONNRESET;
}

}  // namespace

StreamPublisher::StreamPublisher(Fd socket, std::size_t max_bytes, std::string name)
    : socket_(std::move(socket)), name_(std::move(name)), buffer_(sizeof(StreamFrame) + max_bytes) {}

std::optional<SocketBuffers> StreamPublisher::buffers() const {
    return buffers_of(socket_);
}

Result<void> StreamPublisher::greet(std::uint64_t token) {
    const StreamHello hello{hello_magic, token, buffer_.size() - sizeof(StreamFrame)};
    const auto sent = ::send(socket_.get(), &hello, sizeof hello, MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(sizeof hello)) return {};
    return os_error("greet " + name_);
}

Result<std::span<std::byte>> StreamPublisher::acquire(std::size_t bytes) {
    if (cut_) return Error{"loan on " + name_ + ": an earlier message was given up halfway"};
    if (bytes > buffer_.size() - sizeof(StreamFrame)) {
        return Error{"loan " + std::to_string(bytes) + " bytes on " + name_ + ": too large"};
    }
    const StreamFrame frame{frame_magic, static_cast<std::uint32_t>(bytes)};
    std::memcpy(buffer_.data(), &frame, sizeof frame);
    sent_ = 0;
    total_ = sizeof frame + bytes;
    return std::span{buffer_}.subspan(sizeof frame, bytes);
}

// What was sent of a message stays sent: after a false, the next call goes on where this one stopped.
Result<bool> StreamPublisher::commit(Patience patience) {
    BusyPoll poll{patience};
    while (sent_ < total_) {
        const auto moved = send_some();
        if (!moved) return moved.error();
        if (!*moved && !poll.wait()) return false;
    }
    return true;
}

Result<bool> StreamPublisher::send_some() {
    const auto sent = ::send(socket_.get(), buffer_.data() + sent_, total_ - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
        sent_ += static_cast<std::size_t>(sent);
        return true;
    }
    if (would_block()) return false;
    if (hung_up_error()) return Error{"publish on " + name_ + ": the subscriber is gone"};
    return os_error("publish on " + name_);
}

void StreamPublisher::abandon() noexcept {
    cut_ = sent_ > 0;
}

StreamSubscriber::StreamSubscriber(Fd listener, std::uint64_t token, std::size_t max_bytes, std::string endpoint,
                                   Prepare prepare)
    : listener_(std::move(listener)),
      token_(token),
      max_bytes_(max_bytes),
      endpoint_(std::move(endpoint)),
      prepare_(prepare),
      buffer_(2 * sizeof(StreamFrame) + max_bytes + block_bytes) {}

std::optional<SocketBuffers> StreamSubscriber::buffers() const {
    if (!socket_) return std::nullopt;
    return buffers_of(socket_);
}

// A stranger who connects is let go, and the wait goes on.
Result<bool> StreamSubscriber::match(Patience patience) {
    constexpr Patience longest_greeting{1000};
    const Deadline deadline{patience};
    while (!socket_) {
        if (!readable(listener_, deadline)) return false;
        Fd socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
        if (!socket) return os_error("accept on " + endpoint_);
        if (!greeted(socket, std::min(deadline.left(), longest_greeting))) continue;
        prepare_(socket);
        socket_ = std::move(socket);
    }
    return true;
}

bool StreamSubscriber::greeted(const Fd& socket, Patience patience) const {
    StreamHello hello{};
    if (!readable(socket, Deadline{patience})) return false;
    const auto received = ::recv(socket.get(), &hello, sizeof hello, MSG_DONTWAIT);
    if (received != static_cast<ssize_t>(sizeof hello)) return false;
    return hello.magic == hello_magic && hello.token == token_ && hello.max_bytes == max_bytes_;
}

Result<std::span<const std::byte>> StreamSubscriber::receive(Patience patience) {
    if (!socket_) return Error{"take from " + endpoint_ + ": no publisher has joined yet"};
    BusyPoll poll{patience};
    while (true) {
        const auto message = front();
        if (!message || message->data() != nullptr) {
            if (message) lent_ = sizeof(StreamFrame) + message->size();
            return message;
        }
        const auto filled = fill();
        if (!filled) return filled.error();
        if (!*filled && !poll.wait()) return std::span<const std::byte>{};
    }
}

Result<std::span<const std::byte>> StreamSubscriber::front() const {
    const std::size_t there = end_ - begin_;
    StreamFrame frame{};
    if (there < sizeof frame) return std::span<const std::byte>{};
    std::memcpy(&frame, buffer_.data() + begin_, sizeof frame);
    if (frame.magic != frame_magic) return Error{"take from " + endpoint_ + ": the stream is not one of messages"};
    if (frame.bytes > max_bytes_) {
        return Error{"take from " + endpoint_ + ": a message of " + std::to_string(frame.bytes) +
                     " bytes is announced, " + std::to_string(max_bytes_) + " are agreed"};
    }
    if (there < sizeof frame + frame.bytes) return std::span<const std::byte>{};
    return std::span{buffer_}.subspan(begin_ + sizeof frame, frame.bytes);
}

// Of a large message exactly the rest and the next one's frame: then the next begins at the buffer's front again, where
// it needs not be moved and the cache is warm.
std::size_t StreamSubscriber::wanted() const {
    StreamFrame frame{};
    const std::size_t there = end_ - begin_;
    if (there < sizeof frame) return max_bytes_ > block_bytes ? 2 * sizeof frame + max_bytes_ - there : block_bytes;
    std::memcpy(&frame, buffer_.data() + begin_, sizeof frame);
    return std::max(block_bytes, 2 * sizeof frame + frame.bytes - there);
}

Result<bool> StreamSubscriber::fill() {
    if (begin_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    const std::size_t room = std::min(wanted(), buffer_.size() - end_);
    const auto received = ::recv(socket_.get(), buffer_.data() + end_, room, MSG_DONTWAIT);
    if (received > 0) {
        end_ += static_cast<std::size_t>(received);
        return true;
    }
    if (received < 0 && would_block()) return false;
    if (received == 0 || hung_up_error()) return Error{"take from " + endpoint_ + ": the publisher is gone"};
    return os_error("take from " + endpoint_);
}

void StreamSubscriber::release() noexcept {
    begin_ += lent_;
    lent_ = 0;
    if (begin_ == end_) begin_ = end_ = 0;
}

}  // namespace tacholog
