// Messages over a connected stream socket (TCP or Unix). Each message follows a frame of eight bytes that states its
// length. This is the common part of the transports over stream sockets, which differ only in how the two sides
// connect. It supports sockets, not pipes, because it uses flags that only sockets have (MSG_NOSIGNAL, MSG_DONTWAIT),
// and reads the socket buffer sizes for the log.
//
// A message is sent as soon as it is published, because it would be delayed if it waited for a second message to share
// a system call. Batches are used only if requested: the messages of a batch are collected in a buffer, and sent with
// one call when the batch is full or flushed. Received data is read in blocks, so small messages share a receive.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "transports/local_endpoint.hpp"
#include "transports/socket_wait.hpp"
#include "transports/transport.hpp"

namespace tacholog {

/// The first bytes that a publisher sends. Without them, the subscriber could take the bytes of another program for
/// messages.
struct StreamHello {
    std::uint64_t magic;
    std::uint64_t token;  ///< a random number that the subscriber has chosen
    std::uint64_t max_bytes;
};

struct StreamFrame {
    std::uint32_t magic;
    std::uint32_t bytes;
};

/// In the stream, one byte comes before each frame. It ends the previous message or the greeting. The subscriber leaves
/// the byte that ends a message in the socket, because a TCP socket that is read empty sends an acknowledgement
/// immediately. In a ping-pong with one connection per direction, this acknowledgement needs a packet of its own. It
/// cost 1 us per message, a third of the whole time (an AMD EPYC, loopback). The byte is read and acknowledged with the
/// next message.
inline constexpr std::size_t frame_at = 1;
inline constexpr std::size_t header_bytes = frame_at + sizeof(StreamFrame);

/// The size does not depend on the buffer size of the socket.
inline constexpr std::size_t most_stream_batch_bytes = std::size_t{1024} * 1024;

inline constexpr std::uint64_t hello_magic = 0x32304B4C41544354;
inline constexpr std::uint32_t frame_magic = 0x4D434C54;

class StreamPublisher final : public Publisher {
public:
    explicit StreamPublisher(const Topic& topic);

    /// Sends the greeting to a connected socket. `name` is used in error messages. The socket must be new, so that its
    /// buffer can hold the greeting.
    Result<void> add(Fd socket, std::string name, std::uint64_t token);

    Result<Done> flush(Patience patience) override;
    std::string_view batched_by() const override { return batch_messages_ > 1 ? "send" : ""; }
    Facts facts() const override;

private:
    Result<std::span<std::byte>> acquire(std::size_t bytes) override;
    Result<Done> commit(Patience patience) override;
    void abandon() noexcept override;

    struct Connection {
        Fd socket;
        std::string name;
        std::size_t sent = 0;  ///< bytes of the buffer that have been sent
    };

    Result<Done> send_all(Patience patience);
    Result<Done> send_to_one(Patience patience);
    Result<Done> send_to_several(Patience patience);
    /// Returns not_yet if the socket accepts no byte.
    Result<Done> send_some(Connection& to);
    /// Sends to each connection as much as it accepts. Returns not_yet if none accepts anything.
    Result<Done> send_round();
    bool all_sent() const;

    std::vector<Connection> connections_;
    SocketWait wait_;
    std::size_t batch_messages_;
    std::vector<std::byte> buffer_;  ///< for each message: its frame, its payload, and the byte that ends it
    std::size_t held_ = 0;           ///< messages collected for the batch
    std::size_t held_bytes_ = 0;     ///< the size of these messages with their frames
    std::size_t total_ = 0;          ///< held_bytes_, plus the size of the loaned message with its frame
    bool cut_ = false;               ///< a message was sent only in part, so that nothing can follow it
};

/// Whether the sender's kernel delays small messages to join them while data is in flight (Nagle's algorithm).
enum class SenderJoins { no, yes };

class StreamSubscriber final : public Subscriber {
public:
    using Prepare = void (*)(const Fd& socket);

    /// `listener` must be listening. `prepare` sets the socket options of an accepted connection. `joins` tells whether
    /// the sender's kernel joins small messages; the number of bytes to request at once depends on it (see wanted()).
    StreamSubscriber(Fd listener, std::uint64_t token, const Topic& topic, std::string endpoint, Prepare prepare,
                     SenderJoins joins = SenderJoins::no);

    /// `acceptor` accepts only the connection of the true publisher.
    StreamSubscriber(std::unique_ptr<LocalAcceptor> acceptor, std::uint64_t token, const Topic& topic);

    std::string endpoint() const override { return endpoint_; }
    Result<Done> match(Patience patience) override;
    Facts facts() const override;

private:
    Result<std::span<const std::byte>> receive(Patience patience) override;
    void release() noexcept override;

    Result<Fd> next_connection(const Deadline& deadline);
    bool greeted(const Fd& socket, Patience patience) const;
    /// Returns the payload of the first message in the buffer; a span without data if this message is not complete.
    Result<std::span<const std::byte>> front() const;
    std::size_t wanted() const;
    /// Receives bytes into the buffer. Returns not_yet if no bytes have arrived.
    Result<Done> fill();

    Fd listener_;
    std::unique_ptr<LocalAcceptor> acceptor_;
    Fd socket_;
    SocketWait wait_;
    std::uint64_t token_;
    std::size_t max_bytes_;
    std::string endpoint_;
    Prepare prepare_;
    SenderJoins joins_;
    std::vector<std::byte> buffer_;
    std::size_t begin_;     ///< start of the bytes that were received and not released yet
    std::size_t end_;       ///< end of the bytes that were received
    std::size_t lent_ = 0;  ///< of the lent message, with its header
    bool more_ = false;     ///< the last receive filled its buffer, so that more data may be waiting
};

}  // namespace tacholog
