// Messages over a connected stream socket (TCP, Unix): each behind a frame of eight bytes that says how long it is.
// What the transports over stream sockets have in common; they differ only in how the two sides meet. It is for
// sockets, not for pipes: it sends and receives with flags that only sockets have (MSG_NOSIGNAL, MSG_DONTWAIT), and
// reads their buffer sizes back for the log.
//
// A message is sent as soon as it is published: one that waits for a second to share its system call is late. Batches
// are made only if asked for: then so many messages lie one behind another, and go with one call once the last of them
// is there, or when they are flushed. What has come is received by the block, so small messages share a receive.
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

/// What a publisher says first, so that the subscriber never takes a stranger's bytes for messages.
struct StreamHello {
    std::uint64_t magic;
    std::uint64_t token;  ///< drawn by the subscriber
    std::uint64_t max_bytes;
};

struct StreamFrame {
    std::uint32_t magic;
    std::uint32_t bytes;
};

/// On the wire, a frame stands behind one byte that ends what was sent before it: the greeting, or the message before.
/// The subscriber leaves that byte in the socket when it takes a message. A TCP socket that is read empty acknowledges
/// at once, and in a ping-pong over one connection each way no message is on its way that could carry the
/// acknowledgement: it cost 1 us a message, a third of the whole time (an AMD EPYC, loopback). The byte is taken, and
/// acknowledged, when the subscriber looks for the next message.
inline constexpr std::size_t frame_at = 1;
inline constexpr std::size_t header_bytes = frame_at + sizeof(StreamFrame);

/// What a send may take at once, whatever the socket holds.
inline constexpr std::size_t most_stream_batch_bytes = std::size_t{1024} * 1024;

inline constexpr std::uint64_t hello_magic = 0x32304B4C41544354;
inline constexpr std::uint32_t frame_magic = 0x4D434C54;

class StreamPublisher final : public Publisher {
public:
    explicit StreamPublisher(const Topic& topic);

    /// Publishes over this socket too, which is connected, and says to the subscriber `name` who we are. The socket is
    /// new: its buffer holds that.
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
        std::size_t sent = 0;  ///< of what the buffer holds
    };

    /// Sends all that the buffer holds, and then takes it for empty.
    Result<Done> send_all(Patience patience);
    Result<Done> send_to_one(Patience patience);
    Result<Done> send_to_several(Patience patience);
    /// Sends what the socket takes. Not yet done if it takes nothing now.
    Result<Done> send_some(Connection& to);
    /// Sends each connection what it takes. Not yet done if none takes anything now.
    Result<Done> send_round();
    bool all_sent() const;

    std::vector<Connection> connections_;
    SocketWait wait_;
    std::size_t batch_messages_;
    std::vector<std::byte> buffer_;  ///< for each message its frame, itself, and the byte that ends it
    std::size_t held_ = 0;           ///< messages that are held back...
    std::size_t held_bytes_ = 0;     ///< ...with their frames
    std::size_t total_ = 0;          ///< the same with the one that is on loan
    bool cut_ = false;               ///< a message was given up halfway, and nothing can follow it
};

/// Whether the sender's kernel keeps small messages back, to join them, while data is on its way.
enum class SenderJoins { no, yes };

class StreamSubscriber final : public Subscriber {
public:
    using Prepare = void (*)(const Fd& socket);

    /// `listener` listens; `prepare` sets what a connection needs; `joins` tells how it receives (see wanted()).
    StreamSubscriber(Fd listener, std::uint64_t token, const Topic& topic, std::string endpoint, Prepare prepare,
                     SenderJoins joins = SenderJoins::no);

    /// The same with an acceptor, which accepts the true publisher alone.
    StreamSubscriber(std::unique_ptr<LocalAcceptor> acceptor, std::uint64_t token, const Topic& topic);

    std::string endpoint() const override { return endpoint_; }
    Result<Done> match(Patience patience) override;
    Facts facts() const override;

private:
    Result<std::span<const std::byte>> receive(Patience patience) override;
    void release() noexcept override;

    Result<Fd> next_connection(const Deadline& deadline);
    bool greeted(const Fd& socket, Patience patience) const;
    /// The message at the front, if all of it is there.
    Result<std::span<const std::byte>> front() const;
    /// How much of the stream is wanted next.
    std::size_t wanted() const;
    /// Receives what has come. Not yet done if nothing has.
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
    std::size_t begin_;     ///< what has been received and not been released lies from here...
    std::size_t end_;       ///< ...to here
    std::size_t lent_ = 0;  ///< the header and message that are lent now
    bool more_ = false;     ///< the last receive took all it asked for, and there may be more
};

}  // namespace tacholog
