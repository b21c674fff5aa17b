// The receiving side of reliable UDP. Packets are received where they will most likely belong, so that most are never
// moved; a message is lent in place when it is whole and its turn has come. Everything happens in take.
#pragma once

#include <netinet/in.h>

#include <vector>

#include "core/fd.hpp"
#include "transports/reliable_wire.hpp"
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

class ReliableSubscriber final : public Subscriber {
public:
    /// `doors` is where the publisher may be waiting to hear from us first; none if it knows where we are.
    ReliableSubscriber(Fd socket, std::uint64_t stream, std::size_t max_bytes, std::string endpoint,
                       std::vector<sockaddr_in> doors = {});
    ~ReliableSubscriber() override;

    std::string endpoint() const override { return endpoint_; }
    Result<bool> match(Patience patience) override;
    std::optional<SocketBuffers> buffers() const override;

private:
    struct Slot {
        std::uint32_t total_bytes = 0;  ///< 0: nothing of it is here
        std::size_t missing = 0;
    };

    Result<std::span<const std::byte>> receive(Patience patience) override;
    void release() noexcept override;

    Slot& slot(std::uint64_t message) { return slots_[message % slots_.size()]; }
    std::byte* place(std::uint64_t message, std::size_t fragment) {
        return memory_.data() + message % slots_.size() * slot_bytes_ + fragment * piece_bytes_;
    }
    bool whole() { return !slots_.empty() && slot(released_).total_bytes > 0 && slot(released_).missing == 0; }

    /// False if nothing was there.
    Result<bool> receive_datagram();
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
    std::uint64_t stream_;
    std::size_t max_bytes_;
    std::string endpoint_;
    std::vector<sockaddr_in> doors_;
    sockaddr_in publisher_{};

    std::size_t piece_bytes_ = 0;  ///< 0: the publisher has not been heard
    std::size_t slot_bytes_ = 0;
    std::uint32_t window_ = 0;
    std::vector<std::byte> memory_;
    std::vector<std::byte> scratch_;
    std::vector<Slot> slots_;
    Present present_;

    std::uint64_t next_packet_ = 0;       ///< all before it are here
    std::uint64_t known_packets_ = 0;     ///< as far as the publisher is known to have sent
    std::uint64_t released_ = 0;          ///< messages
    std::uint64_t expected_packet_ = 0;   ///< after the last of those that came
    std::uint64_t expected_message_ = 0;  ///< where it belongs
    std::size_t expected_fragment_ = 0;
    std::uint64_t unanswered_ = 0;         ///< packets since the last answer
    std::uint64_t answered_released_ = 0;  ///< as last said
    std::uint32_t stamp_us_ = 0;
    Nanoseconds stamp_came_ns_ = 0;
    Nanoseconds last_heard_ns_ = 0;
    Nanoseconds last_said_ns_ = 0;
    bool leaving_ = false;
};

}  // namespace tacholog::reliable
