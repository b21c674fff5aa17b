// Messages over a connected byte stream (TCP, Unix): each behind a frame of eight bytes that says how long it is. What
// the transports over streams have in common; they differ only in how the two sides meet.
//
// A message is sent as soon as it is published: one that waits for a second to share its system call is late, and
// nobody would send the last one. What has come is received by the block, so small messages share a receive.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/fd.hpp"
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

inline constexpr std::uint64_t hello_magic = 0x31304B4C41544354;
inline constexpr std::uint32_t frame_magic = 0x4D434C54;

class StreamPublisher final : public Publisher {
public:
    /// `socket` is connected and non-blocking.
    StreamPublisher(Fd socket, std::size_t max_bytes, std::string name);

    std::optional<SocketBuffers> buffers() const override;

    /// Says who we are. The socket is new: its buffer holds it.
    Result<void> greet(std::uint64_t token);

private:
    Result<std::span<std::byte>> acquire(std::size_t bytes) override;
    Result<bool> commit(Patience patience) override;
    void abandon() noexcept override;

    /// Sends what the socket takes. False if it takes nothing now.
    Result<bool> send_some();

    Fd socket_;
    std::string name_;
    std::vector<std::byte> buffer_;  ///< the frame and the message
    std::size_t sent_ = 0;
    std::size_t total_ = 0;
    bool cut_ = false;  ///< a message was given up halfway, and nothing can follow it
};

class StreamSubscriber final : public Subscriber {
public:
    using Prepare = void (*)(const Fd& socket);

    /// `listener` listens; `prepare` sets what a connection needs.
    StreamSubscriber(Fd listener, std::uint64_t token, std::size_t max_bytes, std::string endpoint, Prepare prepare);

    std::string endpoint() const override { return endpoint_; }
    Result<bool> match(Patience patience) override;
    std::optional<SocketBuffers> buffers() const override;

private:
    Result<std::span<const std::byte>> receive(Patience patience) override;
    void release() noexcept override;

    bool greeted(const Fd& socket, Patience patience) const;
    /// The message at the front, if all of it is there.
    Result<std::span<const std::byte>> front() const;
    /// How much of the stream is wanted next.
    std::size_t wanted() const;
    /// Receives what has come. False if nothing has.
    Result<bool> fill();

    Fd listener_;
    Fd socket_;
    std::uint64_t token_;
    std::size_t max_bytes_;
    std::string endpoint_;
    Prepare prepare_;
    std::vector<std::byte> buffer_;
    std::size_t begin_ = 0;  ///< what has been received and not been released lies from here...
    std::size_t end_ = 0;    ///< ...to here
    std::size_t lent_ = 0;   ///< the frame and message that are lent now
};

}  // namespace tacholog
