// Frames of the control channel. The decoded frames must not depend on how the bytes are split, and no frame may exceed
// its limits.
#include "control/control.hpp"

#include "fuzz/input.hpp"

namespace {

using namespace tacholog;

struct Heard {
    std::vector<Frame> frames;
    bool refused = false;
};

void hear(std::string& bytes, Heard& heard) {
    while (!heard.refused) {
        const auto frame = parse_frame(bytes);
        heard.refused = !frame;
        if (!frame || !*frame) return;
        fuzz::require((*frame)->numbers.size() <= most_numbers && (*frame)->text.size() <= longest_text);
        heard.frames.push_back(**frame);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input{data, size};
    std::string all;
    std::string received;
    Heard in_pieces;
    while (!input.empty()) {
        const auto piece = input.take_some();
        const std::string text{reinterpret_cast<const char*>(piece.data()), piece.size()};
        all += text;
        received += text;
        hear(received, in_pieces);
    }
    Heard at_once;
    hear(all, at_once);
    fuzz::require(at_once.refused == in_pieces.refused && at_once.frames.size() == in_pieces.frames.size());
    for (std::size_t at = 0; at < at_once.frames.size(); ++at) {
        const Frame& one = at_once.frames[at];
        const Frame& other = in_pieces.frames[at];
        fuzz::require(one.kind == other.kind && one.numbers == other.numbers && one.text == other.text);
    }
    return 0;
}
