// The sending side of reliable UDP, to one subscriber or to a group. Packets are sent as far as the windows of the
// subscribers allow. They stay in memory until all subscribers have released their message. If one subscriber reports
// missing packets, they are sent again to all, so the others that miss them also receive them. A subscriber that delays
// a message for long can be left behind: it is told which messages it will not get, and gets repairs of those that are
// still stored. The thread of the publisher does this work whenever it publishes. A housekeeper thread wakes every few
// milliseconds and does the work that remains in between.
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
    Fd socket;              ///< a non-blocking socket; it is connected if the peer's address cannot change
    bool connected = true;  ///< if false, each datagram is sent to `peer`; the source of an answer becomes `peer`
    Address peer;           ///< if not connected: the expected address, until the first answer arrives
    std::uint64_t stream = 0;
    std::string name;                   ///< the peer's name, for error messages
    std::vector<Receiver> guests = {};  ///< the subscribers to invite, if `peer` is a group; otherwise empty
    SlowSubscriber slow = SlowSubscriber::block;
};

/// Returns the number of message bytes per datagram that avoids IP fragmentation on the route of a connected socket.
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
    /// The oldest message that is certainly still stored. Messages before it may have been overwritten.
    std::uint64_t oldest_message() const { return message_ - std::min<std::uint64_t>(message_, under_way_); }
    std::uint64_t first_packet(std::uint64_t message) const {
        return message == message_ ? queued_ : first_packets_[message % first_packets_.size()];
    }

    void queue();
    /// Sends the packets that the window allows. Returns true if any packet was sent.
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

    /// Reads the answers that have arrived, and does the work that is due at this time.
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
    SocketWait wait_;
    std::size_t piece_bytes_;
    std::size_t under_way_;  ///< the largest number of messages in flight
    std::size_t slot_bytes_;
    std::vector<std::byte> memory_;  ///< the slots: one more than messages in flight, so that one is always free
    std::vector<Packet> packets_;
    std::vector<std::uint64_t> first_packets_;  ///< of each message in flight
    std::size_t loaned_bytes_ = 0;

    mutable std::mutex mutex_;  ///< protects all members below, up to stop_mutex_
    Receivers receivers_;
    std::uint64_t message_ = 0;  ///< the sequence number of the next message
    std::uint64_t queued_ = 0;   ///< packets that are queued or sent
    std::uint64_t sent_ = 0;
    Nanoseconds last_asked_ns_ = 0;
    Nanoseconds full_since_ns_ = 0;                 ///< 0: not full
    Nanoseconds patience_ns_ = 2 * millisecond_ns;  ///< the time until the next heartbeat
    int since_served_ = 0;
    bool stalled_ = false;  ///< a message has timed out, and no answer has arrived since

    std::mutex stop_mutex_;
    std::condition_variable stop_;
    bool stopping_ = false;
    std::thread housekeeper_;
};

}  // namespace tacholog::reliable
