// Datagrams of best-effort UDP in any order, of any stream, and with any lengths. No received message may be longer
// than agreed, and each of its fragments must be one that was sent for this message.
#include "fuzz/input.hpp"
#include "transports/udp_fragments.hpp"

namespace {

using namespace tacholog;

constexpr std::size_t max_bytes = 3 * max_fragment + 100;
constexpr std::uint64_t stream = 1;

/// The description of a datagram. The fuzzer cannot guess lengths of 64 KiB, but it can choose among valid ones.
struct Datagram {
    std::uint8_t message;
    std::uint8_t fragment;
    std::uint8_t form;
    std::uint32_t raw;
};

FragmentHeader header_of(const Datagram& from) {
    FragmentHeader header{stream, from.message, from.fragment % 8U, from.raw};
    if ((from.form & 1U) != 0) header.stream = from.raw;
    if ((from.form & 2U) != 0) header.fragment = from.raw;
    if ((from.form & 4U) == 0) header.total_bytes = static_cast<std::uint32_t>(max_bytes - from.raw % 4 * max_fragment);
    return header;
}

std::size_t received(const Datagram& from, const FragmentHeader& header) {
    if ((from.form & 8U) != 0) return from.raw % (sizeof header + max_fragment + 1);
    const std::size_t offset = header.fragment * max_fragment;
    const std::size_t left = header.total_bytes > offset ? header.total_bytes - offset : 0;
    return sizeof header + std::min(left, max_fragment);
}

std::uint64_t mark(std::uint64_t message, std::size_t fragment, std::size_t total_bytes) {
    return message << 48 | static_cast<std::uint64_t>(fragment) << 40 | total_bytes;
}

/// Receives as the subscriber does: into one buffer if there is room for the header, otherwise into two.
void receive(Assembly& assembly, const FragmentHeader& header, std::uint64_t marked) {
    if (const auto whole = assembly.expected_datagram(); !whole.empty()) {
        std::memcpy(whole.data(), &header, sizeof header);
        std::memcpy(whole.data() + sizeof header, &marked, sizeof marked);
    } else {
        std::memcpy(assembly.expected().data(), &marked, sizeof marked);
    }
}

void check(std::span<const std::byte> message, const FragmentHeader& last) {
    fuzz::require(message.size() == last.total_bytes && message.size() <= max_bytes);
    fuzz::touch(message.last(std::min<std::size_t>(message.size(), 64)));
    for (std::size_t fragment = 0; fragment < fragments_of(message.size()); ++fragment) {
        const auto piece = message.subspan(fragment * max_fragment);
        std::uint64_t found = 0;
        if (piece.size() < sizeof found) continue;
        std::memcpy(&found, piece.data(), sizeof found);
        fuzz::require(found == mark(last.message, fragment, message.size()));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input{data, size};
    Assembly assembly{stream, max_bytes};
    while (!input.empty()) {
        const auto datagram = input.take<Datagram>();
        const FragmentHeader header = header_of(datagram);
        const std::uint64_t marked = mark(header.message, header.fragment, header.total_bytes);
        receive(assembly, header, marked);
        const auto message = assembly.accept(header, received(datagram, header));
        if (message.data() != nullptr) check(message, header);
    }
    return 0;
}
