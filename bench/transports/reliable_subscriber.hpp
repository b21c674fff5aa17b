// The receiving side of reliable UDP. Each packet is received directly into the place where it most likely belongs, so
// most packets are never copied. A complete message is lent in place when its turn comes. Everything happens in take().
#pragma once

#include <functional>
#include <vector>

#include "base/address.hpp"
#include "base/fd.hpp"
#include "transports/reliable_wire.hpp"
#include "transports/socket_wait.hpp"
#include "transports/transport.hpp"

namespace tacholog::reliable {

/// The packets that were received out of order.
class Present {
public:
    void resize(std::size_t packets) { bits_.assign(packets, false); }
    std::size_t size() const { return bits_.size(); }
    bool has(std::uint64_t packet) const { return bits_[packet % bits_.size()]; }
    void set(std::uint64_t packet, bool here) { bits_[packet % bits_.size()] = here; }

private:
    std::vector<bool> bits_;
};

/// Returns a socket that receives from the group of the invitation.
using Join = std::function<Result<Fd>(const Invitation&)>;

class ReliableSubscriber final : public Subscriber {
public:
    /// This constructor is for a stream to several subscribers. An invitation names a group, and `join` returns a
    /// socket that receives from this group.
    ReliableSubscriber(Fd socket, std::uint64_t token, const Topic& topic, std::string endpoint, Join join);
    /// `doors` holds the addresses at which the publisher may receive our first answer. It is empty if the publisher
    /// already knows our address.
    ReliableSubscriber(Fd socket, std::uint64_t stream, const Topic& topic, std::string endpoint,
                       std::vector<Address> doors = {});
    ~ReliableSubscriber() override;

    std::string endpoint() const override { return endpoint_; }
    Result<Done> match(Patience patience) override;
    Facts facts() const override;

private:
    struct Slot {
        std::uint32_t total_bytes = 0;  ///< the size of the message; 0: no packet of it has been received
        std::size_t missing = 0;
    };

    Result<std::span<const std::byte>> receive(Patience patience) override;
    void release() noexcept override;

    Slot& slot(std::uint64_t message) { return slots_[message % slots_.size()]; }
    std::byte* memory_of(std::uint64_t message, std::size_t fragment) {
        return memory_.data() + message % slots_.size() * slot_bytes_ + fragment * piece_bytes_;
    }
    bool whole() { return !slots_.empty() && slot(released_).total_bytes > 0 && slot(released_).missing == 0; }

    /// Whether a message can be lent now. Drops incomplete messages that the publisher no longer sends.
    bool ready();
    /// The socket for the datagrams of the publisher.
    const Fd& incoming() const { return group_ ? group_ : socket_; }
    /// Receives one datagram and processes it. Returns not_yet if no datagram has arrived.
    Result<Done> receive_datagram();
    ssize_t receive_whole(PacketHeader& header, std::span<std::byte> payload, Address& from) const;
    ssize_t receive_parts(PacketHeader& header, std::span<std::byte> payload, Address& from) const;
    bool is_invitation(const PacketHeader& header, std::size_t payload_bytes) const;
    Result<Done> follow(const PacketHeader& header, std::span<const std::byte> payload);
    bool joined() const { return piece_bytes_ > 0 && (welcome_ || !join_); }
    void skip_to(const PacketHeader& header);
    void move_on(std::uint64_t packet);
    std::span<std::byte> expected();
    bool believable(const PacketHeader& header, std::size_t payload_bytes) const;
    bool agreeable(std::size_t piece_bytes) const;
    void agree_on(std::size_t piece_bytes);
    void accept(const PacketHeader& header, std::span<const std::byte> payload);
    bool wanted(const PacketHeader& header) const;
    void expect_after(const PacketHeader& header);
    void add(const PacketHeader& header, std::span<const std::byte> payload);
    void answer_if_due(Nanoseconds quiet);
    void answer(Kind kind);
    void list_missing(Answer& answer) const;
    void knock();
    bool publisher_gone(Nanoseconds quiet, bool patience_over) const;

    Fd socket_;
    SocketWait wait_;
    Join join_;  ///< set if the stream arrives on another socket than socket_
    Fd group_;   ///< valid once the group has been joined
    std::uint64_t token_;
    std::uint64_t stream_;
    std::size_t max_bytes_;
    std::string endpoint_;
    std::vector<Address> doors_;
    Address publisher_;

    std::size_t piece_bytes_ = 0;  ///< of every fragment except the last; 0: not known yet
    std::size_t slot_bytes_ = 0;
    std::uint32_t window_ = 0;
    std::vector<std::byte> memory_;
    std::vector<std::byte> scratch_;
    std::vector<Slot> slots_;
    Present present_;

    std::uint64_t next_packet_ = 0;    ///< all packets before this one have been received or skipped
    std::uint64_t known_packets_ = 0;  ///< packets that the publisher has sent, as far as is known
    std::uint64_t released_ = 0;       ///< messages that were released or skipped
    std::uint64_t skip_before_ = 0;    ///< messages with a smaller sequence number are skipped
    std::uint64_t skipped_ = 0;
    std::uint64_t expected_packet_ = 0;   ///< the sequence number after the last received packet
    std::uint64_t expected_message_ = 0;  ///< the message of the expected packet
    std::size_t expected_fragment_ = 0;
    std::uint64_t unanswered_ = 0;         ///< packets since the last answer
    std::uint64_t answered_released_ = 0;  ///< released_ in the last answer
    std::uint32_t stamp_us_ = 0;
    Nanoseconds stamp_came_ns_ = 0;
    Nanoseconds last_heard_ns_ = 0;
    Nanoseconds last_said_ns_ = 0;
    bool welcome_ = false;  ///< the publisher has confirmed our answer to its invitation
    bool leaving_ = false;
};

}  // namespace tacholog::reliable
