// The receiving side of reliable UDP. Packets are received where they will most likely belong, so that most are never
// moved; a message is lent in place when it is whole and its turn has come. Everything happens in take.
#pragma once

#include <functional>
#include <vector>

#include "base/address.hpp"
#include "base/fd.hpp"
#include "transports/reliable_wire.hpp"
#include "transports/socket_wait.hpp"
#include "transports/transport.hpp"

namespace tacholog::reliable {

/// The packets that are here out of turn.
class Present {
public:
    void resize(std::size_t packets) { bits_.assign(packets, false); }
    std::size_t size() const { return bits_.size(); }
    bool has(std::uint64_t packet) const { return bits_[packet % bits_.size()]; }
    void set(std::uint64_t packet, bool here) { bits_[packet % bits_.size()] = here; }

private:
    std::vector<bool> bits_;
};

/// Goes to where an invitation says that the stream is; returns the socket that receives it.
using Join = std::function<Result<Fd>(const Invitation&)>;

class ReliableSubscriber final : public Subscriber {
public:
    /// For a stream that the publisher sends to many: an invitation says where.
    ReliableSubscriber(Fd socket, std::uint64_t token, const Topic& topic, std::string endpoint, Join join);
    /// `doors` is where the publisher may be waiting to hear from us first; none if it knows where we are.
    ReliableSubscriber(Fd socket, std::uint64_t stream, const Topic& topic, std::string endpoint,
                       std::vector<Address> doors = {});
    ~ReliableSubscriber() override;

    std::string endpoint() const override { return endpoint_; }
    Result<Done> match(Patience patience) override;
    Facts facts() const override;

private:
    struct Slot {
        std::uint32_t total_bytes = 0;  ///< 0: nothing of it is here
        std::size_t missing = 0;
    };

    Result<std::span<const std::byte>> receive(Patience patience) override;
    void release() noexcept override;

    Slot& slot(std::uint64_t message) { return slots_[message % slots_.size()]; }
    std::byte* memory_of(std::uint64_t message, std::size_t fragment) {
        return memory_.data() + message % slots_.size() * slot_bytes_ + fragment * piece_bytes_;
    }
    bool whole() { return !slots_.empty() && slot(released_).total_bytes > 0 && slot(released_).missing == 0; }

    /// Whether there is a message to lend. One that was to be skipped is, unless all of it is here.
    bool ready();
    /// Where the publisher's datagrams come.
    const Fd& incoming() const { return group_ ? group_ : socket_; }
    /// False if nothing was there.
    Result<Done> receive_datagram();
    ssize_t receive_whole(PacketHeader& header, std::span<std::byte> payload, Address& from) const;
    ssize_t receive_parts(PacketHeader& header, std::span<std::byte> payload, Address& from) const;
    bool is_invitation(const PacketHeader& header, std::size_t payload_bytes) const;
    Result<Done> follow(const PacketHeader& header, std::span<const std::byte> payload);
    bool joined() const { return piece_bytes_ > 0 && (welcome_ || !join_); }
    void skip_to(const PacketHeader& header);
    void move_on(std::uint64_t packet);
    std::span<std::byte> expected();
    /// Whether a datagram is of our stream and makes sense.
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
    Join join_;  ///< if the stream comes elsewhere than to socket_
    Fd group_;   ///< once it does
    std::uint64_t token_;
    std::uint64_t stream_;
    std::size_t max_bytes_;
    std::string endpoint_;
    std::vector<Address> doors_;
    Address publisher_;

    std::size_t piece_bytes_ = 0;  ///< 0: the publisher has not been heard
    std::size_t slot_bytes_ = 0;
    std::uint32_t window_ = 0;
    std::vector<std::byte> memory_;
    std::vector<std::byte> scratch_;
    std::vector<Slot> slots_;
    Present present_;

    std::uint64_t next_packet_ = 0;       ///< all before it are here
    std::uint64_t known_packets_ = 0;     ///< as far as the publisher is known to have sent
    std::uint64_t released_ = 0;          ///< messages, given back or skipped
    std::uint64_t skip_before_ = 0;       ///< messages
    std::uint64_t skipped_ = 0;           ///< messages
    std::uint64_t expected_packet_ = 0;   ///< after the last of those that came
    std::uint64_t expected_message_ = 0;  ///< where it belongs
    std::size_t expected_fragment_ = 0;
    std::uint64_t unanswered_ = 0;         ///< packets since the last answer
    std::uint64_t answered_released_ = 0;  ///< as last said
    std::uint32_t stamp_us_ = 0;
    Nanoseconds stamp_came_ns_ = 0;
    Nanoseconds last_heard_ns_ = 0;
    Nanoseconds last_said_ns_ = 0;
    bool welcome_ = false;  ///< the publisher has heard us, if it had to invite us
    bool leaving_ = false;
};

}  // namespace tacholog::reliable
