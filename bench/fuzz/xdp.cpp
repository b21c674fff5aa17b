// Frames as they come off an interface: what one carries lies within it.
#include "fuzz/input.hpp"
#include "transports/xdp_frame.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tacholog;
    const auto frame = std::as_bytes(std::span{data, size});
    const auto payload = carried(frame);
    if (payload.data() == nullptr) return 0;
    fuzz::require(payload.size() <= size - sizeof(UdpFrame));
    fuzz::touch(payload);
    return 0;
}
