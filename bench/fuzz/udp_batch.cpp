// The received buffer of batched UDP, with any segment length. Each datagram must lie within the buffer, and no message
// may be longer than agreed.
#include "fuzz/input.hpp"
#include "transports/udp_segments.hpp"

namespace {

using namespace tacholog;

constexpr std::size_t max_bytes = 48;
constexpr std::uint64_t stream = 1;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input{data, size};
    const auto segment_bytes = input.take<std::uint16_t>();
    const auto received = input.take_bytes(65536);
    if (segment_bytes == 0) return 0;  // the receiver then reads the buffer as one datagram
    Segments segments{received, segment_bytes};
    std::size_t taken = 0;
    while (!segments.empty()) {
        const auto datagram = segments.next();
        taken += datagram.size();
        const auto message = whole_message(datagram, stream, max_bytes);
        fuzz::require(message.size() <= max_bytes);
        fuzz::touch(message);
    }
    fuzz::require(taken == received.size());
    return 0;
}
