#include "transports/reliable_publisher.hpp"

#include <netinet/ip.h>
#include <sys/socket.h>

#include <cstring>

#include "base/address.hpp"
#include "transports/udp_socket.hpp"

namespace tacholog::reliable {
namespace {

constexpr Patience tick{5};
constexpr Patience longest_nap{2};  // short, because a heartbeat may become due meanwhile
constexpr Nanoseconds shortest_patience_ns = 2 * millisecond_ns;
constexpr Nanoseconds longest_patience_ns = 200 * millisecond_ns;
constexpr Nanoseconds keep_alive_ns = 500 * millisecond_ns;
constexpr int publications_unserved = 16;
constexpr Nanoseconds slow_after_ns = 10 * millisecond_ns;

/// Returns either the subscriber at `peer`, or the guests. Each guest is invited at its own address.
std::vector<Receiver> receivers_of(const Link& link) {
    // A few packets may be sent to a subscriber with a known address before it has announced its window.
    if (link.guests.empty()) return {{.token = link.stream, .address = link.peer, .name = link.name, .window = 2}};
    return link.guests;
}

}  // namespace

std::size_t piece_for(const Fd& socket) {
    constexpr int smallest_mtu = 576;
    constexpr int largest_mtu = 65535;
    const bool six = local_address(socket).family() == AF_INET6;
    const std::size_t ip_and_udp = six ? 48 : 28;
    int mtu = 0;
    socklen_t length = sizeof mtu;
    const int asked = six ? ::getsockopt(socket.get(), IPPROTO_IPV6, IPV6_MTU, &mtu, &length)
                          : ::getsockopt(socket.get(), IPPROTO_IP, IP_MTU, &mtu, &length);
    if (asked != 0) mtu = smallest_mtu;
    const auto usable = static_cast<std::size_t>(std::clamp(mtu, smallest_mtu, largest_mtu));
    return usable - ip_and_udp - sizeof(PacketHeader);
}

ReliablePublisher::ReliablePublisher(Link link, const Topic& topic, std::size_t piece_bytes)
    : Publisher(topic.max_bytes),
      link_(std::move(link)),
      wait_(topic.waiting, SocketWait::For::receiving),
      piece_bytes_(std::min(piece_bytes, max_bytes())),
      under_way_(messages_under_way(max_bytes())),
      slot_bytes_((max_bytes() + 63) / 64 * 64),
      memory_((under_way_ + 1) * slot_bytes_),
      packets_(under_way_ * pieces_of(max_bytes(), piece_bytes_)),
      first_packets_(under_way_ + 1),
      receivers_(receivers_of(link_), link_.slow) {
    for (Receiver& one : receivers_.all()) one.last_heard_ns = now_ns();
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

Facts ReliablePublisher::facts() const {
    return socket_facts(link_.socket);
}

std::uint64_t ReliablePublisher::dropped(std::size_t subscriber) const {
    const std::lock_guard lock{mutex_};
    return receivers_.all()[subscriber].skipped;
}

Result<std::span<std::byte>> ReliablePublisher::acquire(std::size_t bytes) {
    loaned_bytes_ = bytes;
    return std::span{slot(message_), bytes};
}

// A message counts as published when its packets are queued. The housekeeper thread sends the packets that are left
// over.
Result<Done> ReliablePublisher::commit(Patience patience) {
    const std::lock_guard lock{mutex_};
    wait_.begin(link_.socket, patience, longest_nap);
    while (full() && receivers_.missed() == nullptr) {
        serve();
        pump();
        leave_slow_behind();
        if (full() && receivers_.missed() == nullptr && !wait_.again()) return Done::not_yet;
    }
    if (const Receiver* missed = receivers_.missed())
        return Error{"publish to " + missed->name + ": the subscriber is gone"};
    full_since_ns_ = 0;
    queue();
    pump_all(patience);
    // Each check for answers is a system call. So most messages are published without a check.
    if (++since_served_ >= publications_unserved) serve();
    return Done::yes;
}

void ReliablePublisher::queue() {
    const auto total = static_cast<std::uint32_t>(loaned_bytes_);
    const auto pieces = static_cast<std::uint32_t>(pieces_of(total, piece_bytes_));
    first_packets_[message_ % first_packets_.size()] = queued_;
    for (std::uint32_t fragment = 0; fragment < pieces; ++fragment) {
        packet(queued_++) = {message_, fragment, total, 0};
    }
    ++message_;
}

/// Leaves the slowest subscriber behind if a message was delayed for longer than slow_after_ns. The publisher waits for
/// this subscriber again when the subscriber has caught up.
void ReliablePublisher::leave_slow_behind() {
    if (!receivers_.leaves_behind() || !full()) return;
    const Nanoseconds now = now_ns();
    if (full_since_ns_ == 0) full_since_ns_ = now;
    if (now - full_since_ns_ < slow_after_ns) return;
    full_since_ns_ = now;
    receivers_.leave_slowest_behind();
}

bool ReliablePublisher::pump() {
    bool moved = false;
    while (window_open() && send_packet(sent_)) {
        ++sent_;
        moved = true;
    }
    return moved;
}

/// Waits until the window has room for the queued packets, for at most `patience`. After one time-out, this does not
/// wait again until the subscriber has answered: it sends only what the window allows.
void ReliablePublisher::pump_all(Patience patience) {
    wait_.begin(link_.socket, stalled_ ? Patience{0} : patience, longest_nap);
    while (sent_ < queued_ && !receivers_.all_gone()) {
        if (pump()) {
            wait_.begin(link_.socket, patience, longest_nap);
            continue;
        }
        serve();
        if (!wait_.again()) {
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
    const auto sent = payload.size() <= most_copied_bytes ? send_whole(header, payload) : send_parts(header, payload);
    if (sent >= 0) return true;
    if (errno == ECONNREFUSED && link_.connected) receivers_.all().front().gone = true;
    return false;
}

ssize_t ReliablePublisher::send_whole(const PacketHeader& header, std::span<const std::byte> payload) {
    WholeDatagram datagram;
    std::memcpy(datagram.data(), &header, sizeof header);
    std::copy(payload.begin(), payload.end(), datagram.begin() + sizeof header);
    const std::size_t bytes = sizeof header + payload.size();
    if (link_.connected) return ::send(link_.socket.get(), datagram.data(), bytes, MSG_NOSIGNAL);
    return ::sendto(link_.socket.get(), datagram.data(), bytes, MSG_NOSIGNAL, link_.peer.get(), link_.peer.length());
}

ssize_t ReliablePublisher::send_parts(const PacketHeader& header, std::span<const std::byte> payload) {
    std::array<iovec, 2> parts{iovec{const_cast<PacketHeader*>(&header), sizeof header},
                               iovec{const_cast<std::byte*>(payload.data()), payload.size()}};
    msghdr datagram{};
    datagram.msg_iov = parts.data();
    datagram.msg_iovlen = parts.size();
    if (!link_.connected) {
        datagram.msg_name = link_.peer.room();
        datagram.msg_namelen = link_.peer.length();
    }
    return ::sendmsg(link_.socket.get(), &datagram, MSG_NOSIGNAL);
}

void ReliablePublisher::send_heartbeat(Kind kind) {
    last_asked_ns_ = now_ns();
    const PacketHeader header{
        link_.stream, kind, stamp_of(last_asked_ns_), sent_, 0, 0, 0, static_cast<std::uint32_t>(piece_bytes_), 0};
    send_datagram(header, {});
    if (link_.guests.empty() || kind != Kind::heartbeat) return;
    for (const Receiver& one : receivers_.all()) {
        if (!one.heard && !one.gone) invite(one);
    }
}

void ReliablePublisher::invite(const Receiver& guest) {
    struct {
        PacketHeader header;
        Invitation invitation;
    } said{{guest.token, Kind::invitation, stamp_of(now_ns()), 0, 0, 0, 0, static_cast<std::uint32_t>(piece_bytes_), 0},
           {to_bytes(link_.peer), htons(link_.peer.port()), {}, link_.stream}};
    // The result is not checked. A lost invitation does no harm, because the invitation is sent again until the
    // receiver answers.
    static_cast<void>(::sendto(link_.socket.get(), &said, sizeof said, MSG_NOSIGNAL | MSG_DONTWAIT, guest.address.get(),
                               guest.address.length()));
}

void ReliablePublisher::welcome(const Receiver& guest) {
    const PacketHeader header{
        guest.token, Kind::welcome, stamp_of(now_ns()), 0, 0, 0, 0, static_cast<std::uint32_t>(piece_bytes_), 0};
    send_datagram(header, {});
}

/// Tells a slow subscriber to continue in the middle of the messages that are still stored. The subscriber cannot
/// continue at the oldest stored message, because this message would be overwritten before the subscriber can ask for
/// it.
void ReliablePublisher::send_skip(const Receiver& to) {
    const std::uint64_t message =
        std::max(oldest_message(), message_ - std::min<std::uint64_t>(message_, under_way_ / 2));
    const PacketHeader header{to.token,
                              Kind::skip,
                              stamp_of(now_ns()),
                              first_packet(message),
                              message,
                              0,
                              0,
                              static_cast<std::uint32_t>(piece_bytes_),
                              0};
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
        Address from;
        socklen_t length = Address::room_bytes;
        const auto received =
            ::recvfrom(link_.socket.get(), &answer, sizeof answer, MSG_DONTWAIT, from.room(), &length);
        if (received < 0) {
            if (errno == ECONNREFUSED && link_.connected) receivers_.all().front().gone = true;
            return;
        }
        Receiver* receiver = receivers_.find(answer.stream);
        if (receiver == nullptr || !answer.believable(static_cast<std::size_t>(received), answer.stream)) continue;
        if (link_.guests.empty()) link_.peer = from;
        handle(*receiver, answer, now_ns());
    }
}

void ReliablePublisher::handle(Receiver& from, const Answer& answer, Nanoseconds now) {
    stalled_ = false;
    if (answer.stamp_us == 0) {  // the subscriber waits for a confirmation that we have received its answer
        link_.guests.empty() ? send_heartbeat(Kind::heartbeat) : welcome(from);
    }
    learn(from, answer, now);
    receivers_.update();
    // While a subscriber does not answer, the interval between heartbeats grows. A subscriber that answers is asked
    // soon, because it may lose the same packet again.
    patience_ns_ = std::clamp(2 * from.round_trip_ns, shortest_patience_ns, longest_patience_ns);
    if (from.slow && from.released < oldest_message()) send_skip(from);
    send_again(from, answer, now);
}

void ReliablePublisher::learn(Receiver& from, const Answer& answer, Nanoseconds now) {
    from.heard = true;
    from.last_heard_ns = now;
    if (answer.kind == Kind::left) from.gone = true;
    from.acknowledged = std::max(from.acknowledged, std::min(answer.next_packet, sent_));
    from.released = std::max(from.released, std::min(answer.released, message_));
    from.skipped = std::max(from.skipped, std::min(answer.skipped, message_));
    from.window = std::clamp<std::uint64_t>(answer.window, 1, packets_.size());
    const auto sample_us = static_cast<std::int32_t>(stamp_of(now) - answer.stamp_us - answer.held_us);
    if (answer.stamp_us != 0 && sample_us >= 0)
        from.round_trip_ns += (Nanoseconds{sample_us} * 1000 - from.round_trip_ns) / 8;
}

// A missing packet may still be on its way. So it is sent again only after one round-trip time. If a burst overflowed
// the socket buffer of the subscriber, its packets are not sent again as a burst.
void ReliablePublisher::send_again(const Receiver& to, const Answer& answer, Nanoseconds now) {
    constexpr Nanoseconds shortest_wait_ns = 300'000;
    // If a subscriber reads slowly, its round-trip time seems to be long. Missing packets are sent again only after the
    // round-trip time, so this time is limited here.
    const Nanoseconds wait = std::clamp(to.round_trip_ns, shortest_wait_ns, longest_patience_ns);
    const std::uint64_t lowest = std::max(to.acknowledged, first_packet(oldest_message()));
    std::uint64_t most = to.window / 4 + 1;
    for (std::uint64_t index = 0; index < answer.range_count; ++index) {
        const Range& range = answer.missing[index];
        const std::uint64_t end = std::min(sent_, range.first + std::min(range.count, to.window));
        for (std::uint64_t number = std::max(range.first, lowest); number < end; ++number) {
            if (now - packet(number).sent_ns < wait) continue;
            if (most-- == 0 || !send_packet(number)) return;
        }
    }
}

void ReliablePublisher::look_at_clock(Nanoseconds now) {
    if (receivers_.all_heard() && !receivers_.owe(sent_, message_)) {
        if (now - last_asked_ns_ > keep_alive_ns) send_heartbeat(Kind::heartbeat);
        return;
    }
    Nanoseconds heard_ns = now;
    for (Receiver& one : receivers_.all()) {
        if (!one.owes(sent_, message_) && one.heard) continue;
        heard_ns = std::min(heard_ns, one.last_heard_ns);
        // A silent subscriber counts as gone only if this side has kept asking it. Without this check, a pause of our
        // own process would look like silence.
        const bool asked = last_asked_ns_ > one.last_heard_ns + longest_silence_ns / 2;
        const bool silent = asked && now - one.last_heard_ns > longest_silence_ns;
        if (silent && one.owes(sent_, message_)) one.gone = true;
    }
    receivers_.update();
    if (now - std::max(last_asked_ns_, heard_ns) < patience_ns_) return;
    send_heartbeat(Kind::heartbeat);
    patience_ns_ = std::min(2 * patience_ns_, longest_patience_ns);
}

void ReliablePublisher::keep_house() {
    std::unique_lock stop_lock{stop_mutex_};
    while (!stop_.wait_for(stop_lock, tick, [this] { return stopping_; })) {
        const std::unique_lock lock{mutex_, std::try_to_lock};
        if (!lock.owns_lock()) continue;  // the publisher's thread is working on the same data
        serve();
        while (pump()) read_answers();
    }
}

// The last messages may have been lost, so the publisher stays until every subscriber has them. It waits only for
// subscribers that answer. Two limits end the wait: a total time, and a shorter time without any answer.
void ReliablePublisher::linger() {
    constexpr Nanoseconds longest_ns = 5000 * millisecond_ns;
    constexpr Nanoseconds longest_unanswered_ns = 1000 * millisecond_ns;
    constexpr int last_words = 3;  // sent several times, because one of them may be lost
    const std::lock_guard lock{mutex_};
    const Nanoseconds start = now_ns();
    patience_ns_ = shortest_patience_ns;
    wait_.begin(link_.socket, Patience{longest_ns / millisecond_ns}, longest_nap);
    const auto waits_for = [&](const Receiver& one) {
        const Nanoseconds unanswered_ns = now_ns() - std::max(start, one.last_heard_ns);
        return one.owes(queued_, 0) && unanswered_ns <= longest_unanswered_ns;
    };
    while (std::any_of(receivers_.all().begin(), receivers_.all().end(), waits_for)) {
        serve();
        pump();
        if (!wait_.again()) break;
    }
    if (receivers_.all_gone()) return;
    for (int count = 0; count < last_words; ++count) send_heartbeat(Kind::leaving);
}

}  // namespace tacholog::reliable
