// The sending side of reliable UDP, to one subscriber or to a group. Packets go out as far as the subscribers' windows
// allow, stay in memory until all have given their message back, and are sent again, to all, when one says that it
// lacks them: whoever else lacks the same is served by it. A subscriber that keeps a message waiting for long can be
// left behind: it is told what it will not get, and is repaired from what is still there. The publisher's thread does
// this whenever it publishes; a housekeeper wakes every few milliseconds for what remains when it does not.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/address.hpp"
#include "base/fd.hpp"
#include "transports/reliable_receivers.hpp"
#include "transports/reliable_wire.hpp"
#include "transports/socket_wait.hpp"
#include "transports/transport.hpp"

namespace tacholog::reliable {

struct Link {
    Fd socket;              ///< non-blocking; connected if the peer can never move
    bool connected = true;  ///< else each datagram goes to `peer`, which follows where answers come from
    Address peer;           ///< if not connected: where it is thought to be until it is heard
    std::uint64_t stream = 0;
    std::string name;                   ///< of the peer, for messages
    std::vector<Receiver> guests = {};  ///< to be invited to the group that `peer` is; none if it is a subscriber
    SlowSubscriber slow = SlowSubscriber::block;
};

/// What of a message goes into one datagram that the kernel needs not cut, on the way that a connected socket takes.
std::size_t piece_for(const Fd& socket);

class ReliablePublisher final : public Publisher {
public:
    ReliablePublisher(Link link, const Topic& topic, std::size_t piece_bytes);
    ~ReliablePublisher() override;

    Facts facts() const override;
    std::uint64_t dropped(std::size_t subscriber) const override;

private:
    struct Packet {
        std::uint64_t message = 0;
        std::uint32_t fragment = 0;
        std::uint32_t total_bytes = 0;
        Nanoseconds sent_ns = 0;
    };

    Result<std::span<std::byte>> acquire(std::size_t bytes) override;
    Result<Done> commit(Patience patience) override;
    void abandon() noexcept override {}

    std::byte* slot(std::uint64_t message) { return memory_.data() + message % (under_way_ + 1) * slot_bytes_; }
    Packet& packet(std::uint64_t number) { return packets_[number % packets_.size()]; }
    bool full() const { return message_ - receivers_.released() >= under_way_; }
    bool window_open() const { return sent_ < queued_ && sent_ < receivers_.limit(); }
    /// What is older may have been written over.
    std::uint64_t oldest_message() const { return message_ - std::min<std::uint64_t>(message_, under_way_); }
    std::uint64_t first_packet(std::uint64_t message) const {
        return message == message_ ? queued_ : first_packets_[message % first_packets_.size()];
    }

    void queue();
    /// Sends what the window allows. True if anything went.
    bool pump();
    void pump_all(Patience patience);
    bool send_packet(std::uint64_t number);
    bool send_datagram(const PacketHeader& header, std::span<const std::byte> payload);
    ssize_t send_whole(const PacketHeader& header, std::span<const std::byte> payload);
    ssize_t send_parts(const PacketHeader& header, std::span<const std::byte> payload);
    void send_heartbeat(Kind kind);
    void invite(const Receiver& guest);
    void welcome(const Receiver& guest);
    void send_skip(const Receiver& to);

    /// Reads the answers that have come, and looks at the clock.
    void serve();
    void read_answers();
    void handle(Receiver& from, const Answer& answer, Nanoseconds now);
    void learn(Receiver& from, const Answer& answer, Nanoseconds now);
    void send_again(const Receiver& to, const Answer& answer, Nanoseconds now);
    void leave_slow_behind();
    void look_at_clock(Nanoseconds now);
    void keep_house();
    void linger();

    Link link_;
    SocketWait wait_;  ///< for answers
    std::size_t piece_bytes_;
    std::size_t under_way_;  ///< messages
    std::size_t slot_bytes_;
    std::vector<std::byte> memory_;  ///< one slot more than can be under way: there is always one to loan
    std::vector<Packet> packets_;
    std::vector<std::uint64_t> first_packets_;  ///< of the messages under way
    std::size_t loaned_bytes_ = 0;

    mutable std::mutex mutex_;  ///< over all that follows
    Receivers receivers_;
    std::uint64_t message_ = 0;  ///< the next one's number
    std::uint64_t queued_ = 0;   ///< packets
    std::uint64_t sent_ = 0;     ///< packets
    Nanoseconds last_asked_ns_ = 0;
    Nanoseconds full_since_ns_ = 0;                 ///< 0: there is room
    Nanoseconds patience_ns_ = 2 * millisecond_ns;  ///< until the subscriber is asked again
    int since_served_ = 0;
    bool stalled_ = false;  ///< no answer since a message waited in vain

    std::mutex stop_mutex_;
    std::condition_variable stop_;
    bool stopping_ = false;
    std::thread housekeeper_;
};

}  // namespace tacholog::reliable
