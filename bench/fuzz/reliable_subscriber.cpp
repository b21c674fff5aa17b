// Arbitrary datagrams of a publisher to a subscriber of reliable UDP (udp-reliable, udp-wan): packets in any order and
// of any length, heartbeats, leaving packets. No received message may be longer than agreed.
#include "transports/reliable_subscriber.hpp"

#include "fuzz/reliable.hpp"

namespace {

using namespace tacholog;
using reliable::Kind;
using reliable::PacketHeader;

struct Compact {
    std::uint8_t form;
    std::uint8_t kind;
    std::uint8_t packet;
    std::uint8_t message;
    std::uint8_t fragment;
    std::uint8_t total_bytes;
    std::uint8_t piece_bytes;
};

/// The header is either a raw copy of the input, or has small values in its fields. Large sequence numbers may be set
/// in addition.
PacketHeader header_of(fuzz::Input& input) {
    const auto from = input.take<Compact>();
    PacketHeader header{};
    if ((from.form & 1U) != 0) {
        header = input.take<PacketHeader>();
    } else {
        header.kind = static_cast<Kind>(from.kind % 8);
        header.packet = from.packet;
        header.message = from.message;
        header.fragment = from.fragment;
        header.total_bytes = from.total_bytes;
        header.piece_bytes = from.piece_bytes % 8U + 8;
    }
    if ((from.form & 2U) == 0) header.stream = fuzz::stream;
    if ((from.form & 4U) != 0) header.message = input.take<std::uint64_t>();
    if ((from.form & 8U) != 0) header.packet = input.take<std::uint64_t>();
    return header;
}

/// The size is the one that the header states, or one that the fuzzer has chosen.
std::size_t payload_bytes(const PacketHeader& header, std::uint8_t wish) {
    if (wish > 0) return wish % 64;
    const std::uint64_t offset = std::uint64_t{header.fragment} * header.piece_bytes;
    if (header.kind != Kind::data || offset >= header.total_bytes) return 0;
    return std::min<std::uint64_t>({header.piece_bytes, header.total_bytes - offset, 64});
}

void say(const Fd& publisher, fuzz::Input& input) {
    std::array<std::byte, sizeof(PacketHeader) + 64> datagram{};
    const PacketHeader header = header_of(input);
    std::memcpy(datagram.data(), &header, sizeof header);
    const std::size_t bytes = payload_bytes(header, input.take<std::uint8_t>());
    fuzz::say(publisher, datagram, sizeof header + bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input{data, size};
    auto [ours, publisher] = fuzz::datagram_sockets();
    Topic topic = fuzz::topic();
    if (input.take<std::uint8_t>() % 2 != 0) topic.max_bytes = reliable::most_copied_bytes + 1;
    reliable::ReliableSubscriber subscriber{std::move(ours), fuzz::stream, topic, "fuzz"};
    while (!input.empty()) {
        say(publisher, input);
        const auto sample = subscriber.take(Patience{0});
        if (!sample || !*sample) continue;
        fuzz::require((*sample)->bytes().size() <= topic.max_bytes);
        fuzz::touch((*sample)->bytes());
    }
    return 0;
}
