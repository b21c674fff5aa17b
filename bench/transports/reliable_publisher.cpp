#include "transports/reliable_publisher.hpp"

#include <sys/socket.h>

#include <cstring>

#include "core/address.hpp"
#include "core/waiting.hpp"
#include "transports/udp_socket.hpp"

namespace tacholog::reliable {
namespace {

constexpr Patience tick{5};
constexpr Nanoseconds shortest_patience_ns = 2 * millisecond_ns;
constexpr Nanoseconds longest_patience_ns = 200 * millisecond_ns;
constexpr Nanoseconds keep_alive_ns = 500 * millisecond_ns;
constexpr int publications_unserved = 16;

}  // namespace

ReliablePublisher::ReliablePublisher(Link link, std::size_t max_bytes, std::size_t piece_bytes)
    : link_(std::move(link)),
      max_bytes_(max_bytes),
      piece_bytes_(std::min(piece_bytes, max_bytes)),
      under_way_(messages_under_way(max_bytes)),
      slot_bytes_((max_bytes + 63) / 64 * 64),
      memory_((under_way_ + 1) * slot_bytes_),
      packets_(under_way_ * pieces_of(max_bytes, piece_bytes_)) {
    last_heard_ns_ = now_ns();
    send_heartbeat(Kind::heartbeat);
    housekeeper_ = std::thread{[this] { keep_house(); }};
}

ReliablePublisher::~ReliablePublisher() {
    {
        const std::lock_guard lock{stop_mutex_};
        stopping_ = true;
    }
    stop_.notify_one();
    housekeeper_.join();
    linger();
}

std::optional<SocketBuffers> ReliablePublisher::buffers() const {
    return buffers_of(link_.socket);
}

Result<std::span<std::byte>> ReliablePublisher::acquire(std::size_t bytes) {
    if (bytes > max_bytes_) return Error{"loan " + std::to_string(bytes) + " bytes for " + link_.name + ": too large"};
    loaned_bytes_ = bytes;
    return std::span{slot(message_), bytes};
}

// A message is published once it has its place among those under way; the housekeeper sends what this leaves.
Result<bool> ReliablePublisher::commit(Patience patience) {
    const std::lock_guard lock{mutex_};
    for (BusyPoll poll{patience}; full() && !gone_;) {
        serve();
        pump();
        if (full() && !gone_ && !poll.wait()) return false;
    }
    if (gone_) return Error{"publish to " + link_.name + ": the subscriber is gone"};
    queue();
    pump_all(patience);
    // The answers are read when they matter, or now and then: each look is a system call.
    if (++since_served_ >= publications_unserved) serve();
    return true;
}

void ReliablePublisher::queue() {
    const auto total = static_cast<std::uint32_t>(loaned_bytes_);
    const auto pieces = static_cast<std::uint32_t>(pieces_of(total, piece_bytes_));
    for (std::uint32_t fragment = 0; fragment < pieces; ++fragment) {
        packet(queued_++) = {message_, fragment, total, 0};
    }
    ++message_;
}

bool ReliablePublisher::pump() {
    bool moved = false;
    while (window_open() && send_packet(sent_)) {
        ++sent_;
        moved = true;
    }
    return moved;
}

/// Waits at most `patience` for the window at a time. A subscriber that let one message wait so long is not waited for
/// with each of the next until it answers: they find their place or they do not.
void ReliablePublisher::pump_all(Patience patience) {
    BusyPoll poll{stalled_ ? Patience{0} : patience};
    while (sent_ < queued_ && !gone_) {
        if (pump()) {
            poll = BusyPoll{patience};
            continue;
        }
        serve();
        if (!poll.wait()) {
            stalled_ = true;
            return;
        }
    }
}

bool ReliablePublisher::send_packet(std::uint64_t number) {
    Packet& entry = packet(number);
    entry.sent_ns = now_ns();
    const std::size_t offset = entry.fragment * piece_bytes_;
    const std::size_t bytes = std::min(piece_bytes_, entry.total_bytes - offset);
    const PacketHeader header{link_.stream,
                              Kind::data,
                              stamp_of(entry.sent_ns),
                              number,
                              entry.message,
                              entry.fragment,
                              entry.total_bytes,
                              static_cast<std::uint32_t>(piece_bytes_),
                              0};
    return send_datagram(header, {slot(entry.message) + offset, bytes});
}

bool ReliablePublisher::send_datagram(const PacketHeader& header, std::span<const std::byte> payload) {
    std::array<iovec, 2> parts{iovec{const_cast<PacketHeader*>(&header), sizeof header},
                               iovec{const_cast<std::byte*>(payload.data()), payload.size()}};
    msghdr datagram{};
    datagram.msg_iov = parts.data();
    datagram.msg_iovlen = payload.empty() ? 1 : 2;
    if (!link_.connected) {
        datagram.msg_name = &link_.peer;
        datagram.msg_namelen = sizeof link_.peer;
    }
    if (::sendmsg(link_.socket.get(), &datagram, MSG_NOSIGNAL) >= 0) return true;
    if (errno == ECONNREFUSED && link_.connected) gone_ = true;
    return false;
}

void ReliablePublisher::send_heartbeat(Kind kind) {
    last_asked_ns_ = now_ns();
    const PacketHeader header{
        link_.stream, kind, stamp_of(last_asked_ns_), sent_, 0, 0, 0, static_cast<std::uint32_t>(piece_bytes_), 0};
    send_datagram(header, {});
}

void ReliablePublisher::serve() {
    since_served_ = 0;
    read_answers();
    look_at_clock(now_ns());
}

void ReliablePublisher::read_answers() {
    constexpr int most = 64;
    for (int count = 0; count < most; ++count) {
        Answer answer{};
        sockaddr_in from{};
        socklen_t length = sizeof from;
        const auto received = ::recvfrom(link_.socket.get(), &answer, sizeof answer, MSG_DONTWAIT,
                                         reinterpret_cast<sockaddr*>(&from), &length);
        if (received < 0) {
            if (errno == ECONNREFUSED && link_.connected) gone_ = true;
            return;
        }
        if (!answer.believable(static_cast<std::size_t>(received), link_.stream)) continue;
        link_.peer = from;
        handle(answer, now_ns());
    }
}

void ReliablePublisher::handle(const Answer& answer, Nanoseconds now) {
    heard_ = true;
    stalled_ = false;
    last_heard_ns_ = now;
    if (answer.kind == Kind::left) gone_ = true;
    if (answer.stamp_us == 0) send_heartbeat(Kind::heartbeat);  // it speaks first, and waits to hear from us
    acknowledged_ = std::max(acknowledged_, std::min(answer.next_packet, sent_));
    released_ = std::max(released_, std::min(answer.released, message_));
    window_ = std::clamp<std::uint64_t>(answer.window, 1, packets_.size());
    const auto sample_us = static_cast<std::int32_t>(stamp_of(now) - answer.stamp_us - answer.held_us);
    if (answer.stamp_us != 0 && sample_us >= 0) round_trip_ns_ += (Nanoseconds{sample_us} * 1000 - round_trip_ns_) / 8;
    // Only who does not answer is asked less and less often: one who does may lack the same packet again.
    patience_ns_ = std::clamp(2 * round_trip_ns_, shortest_patience_ns, longest_patience_ns);
    send_again(answer, now);
}

// What is missing may be on its way still: a packet is sent again once a round trip has passed. A burst that overran
// the subscriber's socket is not sent as a burst again.
void ReliablePublisher::send_again(const Answer& answer, Nanoseconds now) {
    constexpr Nanoseconds shortest_wait_ns = 300'000;
    const Nanoseconds wait = std::max(shortest_wait_ns, round_trip_ns_);
    std::uint64_t most = window_ / 4 + 1;
    for (std::uint64_t index = 0; index < answer.range_count; ++index) {
        const Range& range = answer.missing[index];
        const std::uint64_t end = std::min(sent_, range.first + std::min(range.count, window_));
        for (std::uint64_t number = std::max(range.first, acknowledged_); number < end; ++number) {
            if (now - packet(number).sent_ns < wait) continue;
            if (most-- == 0 || !send_packet(number)) return;
        }
    }
}

void ReliablePublisher::look_at_clock(Nanoseconds now) {
    const bool owed = acknowledged_ < sent_ || released_ < message_;
    const Nanoseconds quiet = now - std::max(last_asked_ns_, last_heard_ns_);
    if (heard_ && !owed) {
        if (now - last_asked_ns_ > keep_alive_ns) send_heartbeat(Kind::heartbeat);
        return;
    }
    // It must have been asked all the time: our own process may have slept.
    const bool asked = last_asked_ns_ > last_heard_ns_ + longest_silence_ns / 2;
    if (owed && asked && now - last_heard_ns_ > longest_silence_ns) gone_ = true;
    if (quiet < patience_ns_) return;
    send_heartbeat(Kind::heartbeat);
    patience_ns_ = std::min(2 * patience_ns_, longest_patience_ns);
}

void ReliablePublisher::keep_house() {
    std::unique_lock stop_lock{stop_mutex_};
    while (!stop_.wait_for(stop_lock, tick, [this] { return stopping_; })) {
        const std::unique_lock lock{mutex_, std::try_to_lock};
        if (!lock.owns_lock()) continue;  // the publisher's thread is at it
        serve();
        while (pump()) read_answers();
    }
}

// What was published last may still be lost: stays until it is there, or for as long as the subscriber answers, or the
// shorter of two limits.
void ReliablePublisher::linger() {
    constexpr Nanoseconds longest_ns = 5000 * millisecond_ns;
    constexpr Nanoseconds longest_unanswered_ns = 1000 * millisecond_ns;
    constexpr int last_words = 3;  // one may be lost
    const std::lock_guard lock{mutex_};
    const Nanoseconds start = now_ns();
    patience_ns_ = shortest_patience_ns;
    BusyPoll poll{Patience{longest_ns / millisecond_ns}};
    while (acknowledged_ < queued_ && !gone_) {
        serve();
        pump();
        if (now_ns() - std::max(start, last_heard_ns_) > longest_unanswered_ns || !poll.wait()) break;
    }
    if (gone_) return;
    for (int count = 0; count < last_words; ++count) send_heartbeat(Kind::leaving);
}

}  // namespace tacholog::reliable
