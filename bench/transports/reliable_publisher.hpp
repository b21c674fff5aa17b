// The sending side of reliable UDP. Packets go out as far as the subscriber's window allows, stay in memory until the
// subscriber has given their message back, and are sent again when it says that it lacks them. The publisher's thread
// does this whenever it publishes; a housekeeper wakes every few milliseconds for what remains when it does not.
#pragma once

#include <netinet/in.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "core/fd.hpp"
#include "transports/reliable_wire.hpp"
#include "transports/transport.hpp"

namespace tacholog::reliable {

struct Link {
    Fd socket;              ///< non-blocking; connected if the peer can never move
    bool connected = true;  ///< else each datagram goes to `peer`, which follows where answers come from
    sockaddr_in peer{};     ///< if not connected: where it is thought to be until it is heard
    std::uint64_t stream = 0;
    std::string name;  ///< of the peer, for messages
};

class ReliablePublisher final : public Publisher {
public:
    ReliablePublisher(Link link, std::size_t max_bytes, std::size_t piece_bytes);
    ~ReliablePublisher() override;

    std::optional<SocketBuffers> buffers() const override;

private:
    struct Packet {
        std::uint64_t message = 0;
        std::uint32_t fragment = 0;
        std::uint32_t total_bytes = 0;
        Nanoseconds sent_ns = 0;
    };

    Result<std::span<std::byte>> acquire(std::size_t bytes) override;
    Result<bool> commit(Patience patience) override;
    void abandon() noexcept override {}

    std::byte* slot(std::uint64_t message) { return memory_.data() + message % (under_way_ + 1) * slot_bytes_; }
    Packet& packet(std::uint64_t number) { return packets_[number % packets_.size()]; }
    bool full() const { return message_ - released_ >= under_way_; }
    bool window_open() const { return sent_ < queued_ && sent_ - acknowledged_ < window_; }

    void queue();
    /// Sends what the window allows. True if anything went.
    bool pump();
    void pump_all(Patience patience);
    bool send_packet(std::uint64_t number);
    bool send_datagram(const PacketHeader& header, std::span<const std::byte> payload);
    void send_heartbeat(Kind kind);

    /// Reads the answers that have come, and looks at the clock.
    void serve();
    void read_answers();
    void handle(const Answer& answer, Nanoseconds now);
    void send_again(const Answer& answer, Nanoseconds now);
    void look_at_clock(Nanoseconds now);
    void keep_house();
    void linger();

    Link link_;
    std::size_t max_bytes_;
    std::size_t piece_bytes_;
    std::size_t under_way_;  ///< messages
    std::size_t slot_bytes_;
    std::vector<std::byte> memory_;  ///< one slot more than can be under way: there is always one to loan
    std::vector<Packet> packets_;
    std::size_t loaned_bytes_ = 0;

    std::mutex mutex_;                ///< over all that follows
    std::uint64_t message_ = 0;       ///< the next one's number
    std::uint64_t queued_ = 0;        ///< packets
    std::uint64_t sent_ = 0;          ///< packets
    std::uint64_t acknowledged_ = 0;  ///< packets
    std::uint64_t released_ = 0;      ///< messages
    std::uint64_t window_ = 2;        ///< packets; the subscriber says how many
    Nanoseconds round_trip_ns_ = millisecond_ns;
    Nanoseconds last_heard_ns_ = 0;
    Nanoseconds last_asked_ns_ = 0;
    Nanoseconds patience_ns_ = 2 * millisecond_ns;  ///< until the subscriber is asked again
    int since_served_ = 0;
    bool heard_ = false;    ///< anything at all of the subscriber
    bool stalled_ = false;  ///< no answer since a message waited in vain
    bool gone_ = false;

    std::mutex stop_mutex_;
    std::condition_variable stop_;
    bool stopping_ = false;
    std::thread housekeeper_;
};

}  // namespace tacholog::reliable
