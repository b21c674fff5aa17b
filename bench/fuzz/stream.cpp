// Arbitrary bytes from a connected peer over tcp or uds, in any pieces. The received messages must be those in the
// frames, in order, until the first invalid frame.
#include "transports/stream.hpp"

#include <unistd.h>

#include "fuzz/input.hpp"
#include "transports/local_socket.hpp"

namespace {

using namespace tacholog;

constexpr std::size_t max_bytes = 200;
constexpr std::uint64_t token = 0;

/// Decodes the bytes in the simplest way, for comparison.
std::vector<std::string> messages_in(const std::string& bytes) {
    std::vector<std::string> found;
    for (std::size_t at = 0; at + header_bytes <= bytes.size();) {
        StreamFrame frame{};
        std::memcpy(&frame, bytes.data() + at + frame_at, sizeof frame);
        at += header_bytes;
        if (frame.magic != frame_magic || frame.bytes > max_bytes || bytes.size() - at < frame.bytes) break;
        found.push_back(bytes.substr(at, frame.bytes));
        at += frame.bytes;
    }
    return found;
}

/// Returns false when the subscriber has rejected the stream.
bool take_all(StreamSubscriber& subscriber, std::size_t& count, const std::vector<std::string>& sent) {
    while (true) {
        const auto sample = subscriber.take(Patience{0});
        if (!sample) {
            // A message that is too short for the rig is rejected and released, and the next messages are still
            // received.
            if (count >= sent.size() || sent[count].size() >= message_header_bytes) return false;
            ++count;
            continue;
        }
        if (!*sample) return true;
        const auto bytes = (*sample)->bytes();
        fuzz::require(count < sent.size() && bytes.size() == sent[count].size());
        fuzz::require(std::memcmp(bytes.data(), sent[count].data(), bytes.size()) == 0);
        ++count;
    }
}

bool greet(const Fd& peer, fuzz::Input& input) {
    StreamHello hello{hello_magic, token, max_bytes};
    const bool honest = input.take<std::uint8_t>() % 8 != 0;
    if (!honest) hello = input.take<StreamHello>();
    ::send(peer.get(), &hello, sizeof hello, MSG_NOSIGNAL);
    return honest;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::string name = "tacholog-fuzz-" + std::to_string(::getpid());
    fuzz::Input input{data, size};
    auto listener = listen_locally(name);
    auto peer = connect_locally(name);
    fuzz::require(listener && peer);
    StreamSubscriber subscriber{std::move(*listener), token, Topic{name, max_bytes, ""}, name, [](const Fd&) {}};
    const bool honest = greet(*peer, input);
    const auto matched = subscriber.match(Patience{0});
    fuzz::require(matched.has_value() && (*matched == Done::yes || !honest));
    if (*matched == Done::not_yet) return 0;
    std::string sent;
    std::size_t count = 0;
    bool listens = true;
    while (!input.empty() && listens) {
        StreamFrame frame{frame_magic, input.take<std::uint8_t>()};
        if (frame.bytes > max_bytes) frame.bytes = input.take<std::uint16_t>();
        if (frame.bytes == UINT16_MAX) frame = input.take<StreamFrame>();
        const auto rest = input.take_some();
        std::string piece(header_bytes + rest.size(), '\0');
        std::memcpy(piece.data() + frame_at, &frame, sizeof frame);
        if (!rest.empty()) std::memcpy(piece.data() + header_bytes, rest.data(), rest.size());
        ::send(peer->get(), piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        sent += piece;
        listens = take_all(subscriber, count, messages_in(sent));
    }
    fuzz::require(count == messages_in(sent).size());
    return 0;
}
