#include "transports/reliable_subscriber.hpp"

#include <sys/socket.h>

#include <cstring>

#include "base/address.hpp"
#include "transports/udp_socket.hpp"

namespace tacholog::reliable {
namespace {

constexpr std::size_t largest_datagram = 65536;
constexpr Nanoseconds answer_within_ns = millisecond_ns;
constexpr Nanoseconds answer_again_ns = 5 * millisecond_ns;
constexpr Nanoseconds knock_every_ns = 50 * millisecond_ns;
// Short, because an answer may become due, or the publisher may have been silent for too long.
constexpr Patience longest_nap{10};
constexpr Nanoseconds keep_alive_ns = 1000 * millisecond_ns;

}  // namespace

ReliableSubscriber::ReliableSubscriber(Fd socket, std::uint64_t stream, const Topic& topic, std::string endpoint,
                                       std::vector<Address> doors)
    : socket_(std::move(socket)),
      wait_(topic.waiting, SocketWait::For::receiving),
      token_(stream),
      stream_(stream),
      max_bytes_(topic.max_bytes),
      endpoint_(std::move(endpoint)),
      doors_(std::move(doors)),
      scratch_(largest_datagram) {}

ReliableSubscriber::ReliableSubscriber(Fd socket, std::uint64_t token, const Topic& topic, std::string endpoint,
                                       Join join)
    : ReliableSubscriber(std::move(socket), token, topic, std::move(endpoint)) {
    join_ = std::move(join);
}

ReliableSubscriber::~ReliableSubscriber() {
    constexpr int last_words = 2;  // sent several times, because one of them may be lost
    for (int count = 0; count < last_words && piece_bytes_ > 0; ++count) answer(Kind::left);
}

Facts ReliableSubscriber::facts() const {
    return socket_facts(socket_);
}

Result<Done> ReliableSubscriber::match(Patience patience) {
    wait_.begin(incoming(), patience, longest_nap);
    while (!joined()) {
        const auto came = receive_datagram();
        if (!came.has_value()) return came.error();
        if (*came == Done::yes && wait_.goes_on()) continue;
        knock();
        if (*came == Done::yes || !wait_.again()) return Done::not_yet;
    }
    return Done::yes;
}

Result<std::span<const std::byte>> ReliableSubscriber::receive(Patience patience) {
    wait_.begin(incoming(), patience, longest_nap);
    while (!ready()) {
        const auto came = receive_datagram();
        if (!came.has_value()) return came.error();
        if (*came == Done::yes && wait_.goes_on()) continue;
        if (patience.count() <= 0) return std::span<const std::byte>{};
        const Nanoseconds quiet = now_ns() - last_heard_ns_;
        answer_if_due(quiet);
        const bool over = *came == Done::yes || !wait_.again();
        if (publisher_gone(quiet, over)) return Error{"take from " + endpoint_ + ": the publisher is gone"};
        if (over) return std::span<const std::byte>{};
    }
    return std::span<const std::byte>{memory_of(released_, 0), slot(released_).total_bytes};
}

bool ReliableSubscriber::ready() {
    for (std::size_t emptied = 0; released_ < skip_before_ && !whole(); ++emptied) {
        slot(released_) = {};
        // A faulty publisher may send a very large sequence number. Once all slots are empty, the remaining messages
        // are skipped together, not one by one.
        const std::uint64_t step = emptied < slots_.size() ? 1 : skip_before_ - released_;
        released_ += step;
        skipped_ += step;
    }
    return whole();
}

/// Data that was sent before the "leaving" packet may arrive a little later than it.
bool ReliableSubscriber::publisher_gone(Nanoseconds quiet, bool patience_over) const {
    constexpr Nanoseconds overtaken_within_ns = 100 * millisecond_ns;
    if (piece_bytes_ == 0) return false;
    return quiet > longest_silence_ns || (leaving_ && (patience_over || quiet > overtaken_within_ns));
}

void ReliableSubscriber::release() noexcept {
    slot(released_) = {};
    ++released_;
    // The publisher may be waiting until this slot is free.
    if (released_ - answered_released_ >= std::max<std::size_t>(1, slots_.size() / 4)) answer(Kind::answer);
}

/// Returns the memory for the expected packet. This memory never overlaps a received packet, because the expected
/// packet comes after all received packets.
std::span<std::byte> ReliableSubscriber::expected() {
    if (piece_bytes_ == 0 || expected_message_ - released_ >= slots_.size()) return scratch_;
    return {memory_of(expected_message_, expected_fragment_), piece_bytes_};
}

ssize_t ReliableSubscriber::receive_whole(PacketHeader& header, std::span<std::byte> payload, Address& from) const {
    WholeDatagram datagram;
    socklen_t length = Address::room_bytes;
    const auto received =
        ::recvfrom(incoming().get(), datagram.data(), datagram.size(), wait_.flags(), from.room(), &length);
    if (received < static_cast<ssize_t>(sizeof header)) return received;
    std::memcpy(&header, datagram.data(), sizeof header);
    const auto bytes = std::min(payload.size(), static_cast<std::size_t>(received) - sizeof header);
    std::memcpy(payload.data(), datagram.data() + sizeof header, bytes);
    return static_cast<ssize_t>(sizeof header + bytes);
}

ssize_t ReliableSubscriber::receive_parts(PacketHeader& header, std::span<std::byte> payload, Address& from) const {
    std::array<iovec, 2> parts{iovec{&header, sizeof header}, iovec{payload.data(), payload.size()}};
    msghdr datagram{};
    datagram.msg_name = from.room();
    datagram.msg_namelen = Address::room_bytes;
    datagram.msg_iov = parts.data();
    datagram.msg_iovlen = parts.size();
    return ::recvmsg(incoming().get(), &datagram, wait_.flags());
}

Result<Done> ReliableSubscriber::receive_datagram() {
    PacketHeader header{};
    const auto payload = expected();
    Address from;
    const auto received =
        max_bytes_ <= most_copied_bytes ? receive_whole(header, payload, from) : receive_parts(header, payload, from);
    if (received < 0) {
        if (errno == EAGAIN || errno == EINTR || errno == ECONNREFUSED) return Done::not_yet;
        return os_error("receive on " + endpoint_);
    }
    const auto bytes = static_cast<std::size_t>(received);
    if (bytes < sizeof header || !believable(header, bytes - sizeof header)) return Done::yes;
    publisher_ = from;
    if (header.kind == Kind::invitation) return follow(header, payload);
    accept(header, payload.first(bytes - sizeof header));
    return Done::yes;
}

bool ReliableSubscriber::is_invitation(const PacketHeader& header, std::size_t payload_bytes) const {
    return header.kind == Kind::invitation && header.stream == token_ && payload_bytes == sizeof(Invitation);
}

Result<Done> ReliableSubscriber::follow(const PacketHeader& header, std::span<const std::byte> payload) {
    Invitation invitation{};
    std::memcpy(&invitation, payload.data(), sizeof invitation);
    auto group = join_(invitation);
    if (!group) return group.error();
    group_ = std::move(*group);
    wait_.turn_to(group_);
    stream_ = invitation.stream;
    accept(header, {});
    return Done::yes;
}

bool ReliableSubscriber::agreeable(std::size_t piece_bytes) const {
    if (piece_bytes_ > 0) return piece_bytes == piece_bytes_;
    return piece_bytes > 0 && piece_bytes <= max_bytes_;
}

bool ReliableSubscriber::believable(const PacketHeader& header, std::size_t payload_bytes) const {
    if (!agreeable(header.piece_bytes)) return false;
    if (join_ && !group_) return is_invitation(header, payload_bytes);
    if (header.kind == Kind::skip || header.kind == Kind::welcome)
        return header.stream == token_ && payload_bytes == 0 && piece_bytes_ > 0;
    if (header.stream != stream_) return false;
    if (header.kind == Kind::heartbeat || header.kind == Kind::leaving) return payload_bytes == 0;
    const std::size_t offset = std::size_t{header.fragment} * header.piece_bytes;
    if (header.kind != Kind::data || header.total_bytes > max_bytes_ || offset >= header.total_bytes) return false;
    return payload_bytes == std::min<std::size_t>(header.piece_bytes, header.total_bytes - offset);
}

/// The piece size of the first datagram determines where each packet is stored.
void ReliableSubscriber::agree_on(std::size_t piece_bytes) {
    constexpr std::size_t most_packets = 4096;
    const std::size_t pieces = pieces_of(max_bytes_, piece_bytes);
    const std::size_t under_way = messages_under_way(max_bytes_);
    piece_bytes_ = piece_bytes;
    slot_bytes_ = pieces * piece_bytes;
    memory_.resize(under_way * slot_bytes_);
    slots_.resize(under_way);
    present_.resize(under_way * pieces);
    // In the receive buffer, a datagram takes up to twice its size, and a small datagram takes about a kilobyte.
    const auto room = static_cast<std::size_t>(effective(incoming(), SO_RCVBUF));
    window_ = static_cast<std::uint32_t>(std::clamp<std::size_t>(room / (2 * piece_bytes + 1024), 2, most_packets));
}

void ReliableSubscriber::accept(const PacketHeader& header, std::span<const std::byte> payload) {
    last_heard_ns_ = stamp_came_ns_ = now_ns();
    stamp_us_ = header.stamp_us;
    const bool first = piece_bytes_ == 0;
    if (first) agree_on(header.piece_bytes);
    if (header.kind == Kind::data) {
        const std::uint64_t known = known_packets_;
        add(header, payload);
        const bool gap = header.packet > known && known_packets_ > known;
        if (gap || unanswered_ >= std::max<std::uint32_t>(1, window_ / 4)) answer(Kind::answer);
        return;
    }
    leaving_ = leaving_ || header.kind == Kind::leaving;
    welcome_ = welcome_ || header.kind == Kind::welcome;
    if (header.kind == Kind::skip) skip_to(header);
    known_packets_ = std::max(known_packets_, std::min(header.packet, next_packet_ + present_.size()));
    answer(Kind::answer);
}

/// Keeps the received packets of skipped messages: messages that are complete are still delivered.
void ReliableSubscriber::skip_to(const PacketHeader& header) {
    skip_before_ = std::max(skip_before_, header.message);
    if (header.packet <= next_packet_) return;
    const std::uint64_t end = next_packet_ + std::min<std::uint64_t>(header.packet - next_packet_, present_.size());
    for (std::uint64_t packet = next_packet_; packet < end; ++packet) present_.set(packet, false);
    known_packets_ = std::max(known_packets_, header.packet);
    move_on(header.packet);
}

void ReliableSubscriber::move_on(std::uint64_t packet) {
    next_packet_ = packet;
    for (; next_packet_ < known_packets_ && present_.has(next_packet_); ++next_packet_) {
        present_.set(next_packet_, false);
    }
}

/// Whether the packet was sent and has not been received yet.
bool ReliableSubscriber::wanted(const PacketHeader& header) const {
    if (header.packet < next_packet_ || header.packet - next_packet_ >= present_.size()) return false;
    if (header.message < released_ || header.message - released_ >= slots_.size()) return false;
    return !present_.has(header.packet);
}

void ReliableSubscriber::add(const PacketHeader& header, std::span<const std::byte> payload) {
    if (!wanted(header)) return;
    Slot& target = slot(header.message);
    if (target.total_bytes == 0) target = {header.total_bytes, pieces_of(header.total_bytes, piece_bytes_)};
    if (target.total_bytes != header.total_bytes || target.missing == 0) return;
    std::byte* destination = memory_of(header.message, header.fragment);
    if (destination != payload.data()) std::memcpy(destination, payload.data(), payload.size());
    --target.missing;
    present_.set(header.packet, true);
    ++unanswered_;
    known_packets_ = std::max(known_packets_, header.packet + 1);
    expect_after(header);
    move_on(next_packet_);
}

// Expects the packet after the last received one, not the packet after known_packets_. After a heartbeat,
// known_packets_ also counts packets that are still on their way and will arrive at the expected place.
void ReliableSubscriber::expect_after(const PacketHeader& header) {
    if (header.packet < expected_packet_) return;
    const bool last = header.fragment + 1 == pieces_of(header.total_bytes, piece_bytes_);
    expected_message_ = last ? header.message + 1 : header.message;
    expected_fragment_ = last ? 0 : header.fragment + 1;
    expected_packet_ = header.packet + 1;
}

// Answers only when nothing arrives for a while: otherwise each message would cost an answer.
void ReliableSubscriber::answer_if_due(Nanoseconds quiet) {
    if (piece_bytes_ == 0) return knock();
    const bool owed = unanswered_ > 0 || released_ != answered_released_;
    const bool silent = last_heard_ns_ + quiet - last_said_ns_ > keep_alive_ns;
    if (silent || (owed && quiet > answer_within_ns)) answer(Kind::answer);
}

void ReliableSubscriber::answer(Kind kind) {
    last_said_ns_ = now_ns();
    Answer said{};
    said.stream = token_;
    said.kind = kind;
    said.stamp_us = join_ && !welcome_ ? 0 : stamp_us_;
    said.held_us = static_cast<std::uint32_t>((last_said_ns_ - stamp_came_ns_) / 1000);
    said.window = window_;
    said.next_packet = next_packet_;
    said.released = released_;
    said.skipped = skipped_;
    list_missing(said);
    unanswered_ = 0;
    answered_released_ = released_;
    // It does no harm if an answer is lost, because the publisher asks again.
    static_cast<void>(::sendto(socket_.get(), &said, said.bytes(), MSG_NOSIGNAL | MSG_DONTWAIT, publisher_.get(),
                               publisher_.length()));
}

void ReliableSubscriber::list_missing(Answer& answer) const {
    std::uint64_t packet = next_packet_;
    while (packet < known_packets_ && answer.range_count < most_ranges) {
        if (present_.has(packet)) {
            ++packet;
            continue;
        }
        Range range{packet, 0};
        for (; packet < known_packets_ && !present_.has(packet); ++packet) ++range.count;
        answer.missing[answer.range_count++] = range;
    }
}

void ReliableSubscriber::knock() {
    if (piece_bytes_ > 0 && now_ns() - last_said_ns_ > answer_again_ns) answer(Kind::answer);
    if (piece_bytes_ > 0 || doors_.empty() || now_ns() - last_said_ns_ < knock_every_ns) return;
    for (const Address& door : doors_) {
        publisher_ = door;
        answer(Kind::answer);
    }
}

}  // namespace tacholog::reliable
