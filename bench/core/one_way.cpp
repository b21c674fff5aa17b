#include "core/one_way.hpp"

#include <unistd.h>

#include <array>

#include "core/placement.hpp"
#include "core/text.hpp"

namespace tacholog {
namespace {

constexpr std::size_t bins_a_frame = 400;  // two numbers of up to 20 digits each, and what stands between them

std::uint64_t low(Wide number) {
    return static_cast<std::uint64_t>(number);
}

std::uint64_t high(Wide number) {
    return static_cast<std::uint64_t>(number >> 64);
}

Wide wide(const Frame& frame, std::size_t place) {
    return static_cast<Wide>(frame.number(place + 1)) << 64 | frame.number(place);
}

}  // namespace

std::vector<Frame> frames_of(const Histogram& histogram, std::uint64_t duration_ns) {
    const auto bins = histogram.bins();
    const auto exact = histogram.exact();
    std::vector<Frame> frames;
    std::size_t at = 0;
    do {
        std::string text;
        const std::size_t end = std::min(bins.size(), at + bins_a_frame);
        for (; at < end; ++at) text += std::to_string(bins[at].lower_ns) + ":" + std::to_string(bins[at].count) + ",";
        frames.push_back(
            {FrameKind::histogram,
             {at == bins.size() ? 1U : 0U, duration_ns, exact.count, exact.overflow, exact.min, exact.max, exact.min_at,
              exact.max_at, low(exact.sum), high(exact.sum), low(exact.squares), high(exact.squares)},
             std::move(text)});
    } while (at < bins.size());
    return frames;
}

bool HistogramReader::add(const Frame& frame) {
    if (whole_) histogram.clear();
    for (const auto item : split(frame.text, ',')) {
        const auto parts = split(item, ':');
        const auto lower = to_number<std::uint64_t>(parts.front());
        const auto count = to_number<std::uint64_t>(parts.back());
        if (lower && count && parts.size() == 2) histogram.add_bin(*lower, *count);
    }
    whole_ = frame.number(0) == 1;
    if (!whole_) return false;
    duration_ns = static_cast<Nanoseconds>(frame.number(1));
    histogram.restore({frame.number(2), frame.number(3), frame.number(4), frame.number(5), frame.number(6),
                       frame.number(7), wide(frame, 8), wide(frame, 10)});
    return true;
}

std::string clock_identity() {
    const std::string boot = boot_identity();
    if (boot.empty()) return "";
    // Kernels without time namespaces have no such link, and one clock for all.
    std::array<char, 64> space{};
    const auto length = ::readlink("/proc/self/ns/time", space.data(), space.size());
    return boot + "/" + std::string{space.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

}  // namespace tacholog
