// Arbitrary received frames: the payload must lie within the frame.
#include "fuzz/input.hpp"
#include "transports/xdp_frame.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tacholog;
    const auto frame = std::as_bytes(std::span{data, size});
    for (const int family : {AF_INET, AF_INET6}) {
        const auto payload = carried(frame, family);
        if (payload.data() == nullptr) continue;
        fuzz::require(payload.size() <= size - header_bytes(family));
        fuzz::touch(payload);
    }
    return 0;
}
