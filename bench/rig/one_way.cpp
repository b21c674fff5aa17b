#include "rig/one_way.hpp"

#include <unistd.h>

#include <array>

#include "base/text.hpp"
#include "control/frames.hpp"
#include "machine/placement.hpp"

namespace tacholog {
namespace {

constexpr std::size_t bins_a_frame = 400;  // each bin takes two numbers of up to 20 digits and their separators

}  // namespace

std::vector<Frame> frames_of(const Histogram& histogram, Nanoseconds duration_ns) {
    const auto bins = histogram.bins();
    std::vector<Frame> frames;
    std::size_t at = 0;
    do {
        std::string text;
        const std::size_t end = std::min(bins.size(), at + bins_a_frame);
        for (; at < end; ++at) text += std::to_string(bins[at].lower_ns) + ":" + std::to_string(bins[at].count) + ",";
        const HistogramFrame part{at == bins.size(), duration_ns, histogram.exact(), std::move(text)};
        frames.push_back(frame_of(part));
    } while (at < bins.size());
    return frames;
}

Result<bool> HistogramReader::add(const Frame& frame) {
    if (whole_) histogram.clear();
    const auto part = read_frame<HistogramFrame>(frame);
    whole_ = part.is_last;
    duration_ns = part.duration_ns;
    if (add_bins(part) && (!whole_ || histogram.restore(part.exact))) return whole_;
    histogram = {};
    whole_ = true;
    return Error{"control channel: the peer sent a histogram that is none"};
}

bool HistogramReader::add_bins(const HistogramFrame& part) {
    auto items = split(part.bins, ',');
    if (!items.back().empty()) return false;
    items.pop_back();  // the text ends with a comma, so that the last item is empty
    if (items.empty() && !part.is_last) return false;
    for (const auto item : items) {
        const auto parts = split(item, ':');
        const auto lower = to_number<std::uint64_t>(parts.front());
        const auto count = to_number<std::uint64_t>(parts.back());
        if (!lower || !count || parts.size() != 2 || !histogram.add_bin(*lower, *count)) return false;
    }
    return true;
}

std::string clock_identity() {
    const std::string boot = boot_identity();
    if (boot.empty()) return "";
    // Kernels without time namespaces do not have this link in /proc. All processes then share one clock.
    std::array<char, 64> space{};
    const auto length = ::readlink("/proc/self/ns/time", space.data(), space.size());
    return boot + "/" + std::string{space.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

}  // namespace tacholog
