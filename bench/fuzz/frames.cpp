// The contents of control channel frames, passed to the code that uses them. Whatever a peer sends, the result must be
// consistent numbers or an error.
#include "control/frames.hpp"

#include <cmath>
#include <limits>

#include "base/facts.hpp"
#include "base/instances.hpp"
#include "base/text.hpp"
#include "cli/lists.hpp"
#include "fuzz/input.hpp"
#include "machine/environment.hpp"
#include "machine/placement.hpp"
#include "rig/one_way.hpp"

namespace {

using namespace tacholog;

/// Uses the histogram of a peer like one of our own.
void use(const Histogram& histogram) {
    Histogram total;
    total.record(7);
    total.merge(histogram);
    std::uint64_t count = histogram.overflow();
    for (const auto& bin : histogram.bins()) count += bin.count;
    fuzz::require(count == histogram.count());
    fuzz::require(histogram.min_ns() <= histogram.max_ns());
    for (const std::uint64_t share : {500'000U, 999'000U, 1'000'000U})
        fuzz::require(histogram.nearest_rank_ns(share) <= histogram.max_ns());
    const auto most = static_cast<double>(histogram.max_ns());
    fuzz::require(histogram.mean_ns() >= 0 && histogram.mean_ns() <= most * 1.001);
    fuzz::require(histogram.std_ns() >= 0 && histogram.std_ns() <= most * 1.001);
    fuzz::require(std::isfinite(histogram.share_of_largest()));
    for (const Frame& frame : frames_of(histogram, 1)) fuzz::require(is_possible(frame));
}

void use_phase_end(const Frame& frame) {
    Sequence sequence{0};
    sequence.arrived(3);
    for (const std::uint64_t end : read_frame<PhaseEndFrame>(frame).ends) {
        sequence.settle(end);
        fuzz::require(sequence.lost(end) <= end);
    }
}

void use_counts(const Frame& frame) {
    const auto stream = read_frame<PhaseDoneFrame>(frame);
    fuzz::require(stream.duration_ns >= 0 && stream.reordered <= stream.received);
    fuzz::require(stream.instances_heard <= stream.received);
    constexpr std::uint64_t most_sides = 64;
    fuzz::require(stream.lost <= std::numeric_limits<std::uint64_t>::max() / most_sides);
}

void use_resources(const Frame& frame) {
    const Resources used = read_frame<ResourcesFrame>(frame).used;
    fuzz::require(used.duration_ns >= 0 && used.user_ns >= 0 && used.system_ns >= 0);
    fuzz::require(used.user_ns + used.system_ns >= used.user_ns);
}

void use_affinity(const Frame& frame) {
    const auto blank = frame.text.find(' ');
    static_cast<void>(parse_cpus(frame.text).has_value());
    if (blank == std::string::npos) return;
    const auto cpus = parse_side_cpus(std::string_view{frame.text}.substr(blank + 1));
    if (!cpus) return;
    fuzz::require(cpus->allowed.size() <= 1024 && cpus->achieved.size() <= 1024);
    const auto placement = choose_placement(*cpus, {*cpus, *cpus});
    fuzz::require(placement.reporting.size() <= cpus->allowed.size());
}

void use(const Frame& frame, HistogramReader& reader) {
    switch (frame.kind) {
        case FrameKind::affinity:
            return use_affinity(frame);
        case FrameKind::phase_end:
            return use_phase_end(frame);
        case FrameKind::interval:
            return fuzz::require(read_frame<IntervalFrame>(frame).duration_ns >= 0);
        case FrameKind::phase_done:
            return use_counts(frame);
        case FrameKind::resources:
            return use_resources(frame);
        case FrameKind::open:
            return static_cast<void>(frame_of(read_frame<OpenFrame>(frame)));
        case FrameKind::facts:
            return static_cast<void>(parse_facts(frame.text).has_value());
        case FrameKind::histogram:
            if (const auto whole = reader.add(frame); whole.has_value() && *whole) use(reader.histogram);
            return;
        default:
            return;
    }
}

/// The displayed form of any text must be one line without control characters.
void show(const std::string& text) {
    for (const char letter : shown(text)) {
        const auto byte = static_cast<unsigned char>(letter);
        fuzz::require(byte >= 0x20 && byte != 0x7F);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string bytes{reinterpret_cast<const char*>(data), size};
    HistogramReader reader;
    while (true) {
        const auto frame = parse_frame(bytes);
        if (!frame || !*frame) return 0;
        show((*frame)->text);
        if (is_possible(**frame)) use(**frame, reader);
    }
}
