#include "core/frames.hpp"

namespace tacholog {
namespace {

std::uint64_t number_of(Nanoseconds time) {
    return static_cast<std::uint64_t>(time);
}

std::uint64_t low(Wide number) {
    return static_cast<std::uint64_t>(number);
}

std::uint64_t high(Wide number) {
    return static_cast<std::uint64_t>(number >> 64);
}

Wide wide(std::uint64_t low, std::uint64_t high) {
    return static_cast<Wide>(high) << 64 | low;
}

}  // namespace

HelloFrame HelloFrame::of(const Frame& frame) {
    return {frame.number(0), frame.number(1), frame.number(2), frame.text};
}

Frame HelloFrame::frame() const {
    return {FrameKind::hello, {version, place, secret}, agreement};
}

PlacementFrame PlacementFrame::of(const Frame& frame) {
    return {frame.number(0) == 1, frame.number(1) == 1, frame.text};
}

Frame PlacementFrame::frame() const {
    return {FrameKind::affinity, {live ? 1U : 0U, shared ? 1U : 0U}, reporting_cpus};
}

RunFrame RunFrame::of(const Frame& frame) {
    return {frame.number(0), frame.text};
}

Frame RunFrame::frame() const {
    return {FrameKind::run, {number}, companion};
}

OpenFrame OpenFrame::of(const Frame& frame) {
    OpenFrame open{{frame.number(0), std::nullopt}, frame.text};
    const std::uint64_t messages = frame.number(1);
    if (messages > 0)
        open.measured.demand = Demand{static_cast<std::uint32_t>(messages), static_cast<Nanoseconds>(frame.number(2))};
    return open;
}

Frame OpenFrame::frame() const {
    Frame frame{FrameKind::open, {measured.payload_bytes}, endpoint};
    if (measured.demand) {
        frame.numbers.push_back(measured.demand->messages);
        frame.numbers.push_back(number_of(measured.demand->recovery_ns));
    }
    return frame;
}

PhaseEndFrame PhaseEndFrame::of(const Frame& frame) {
    return {frame.numbers};
}

Frame PhaseEndFrame::frame() const {
    return {FrameKind::phase_end, ends};
}

IntervalFrame IntervalFrame::of(const Frame& frame) {
    return {frame.number(0), static_cast<Nanoseconds>(frame.number(1)), frame.number(2), frame.number(3)};
}

Frame IntervalFrame::frame() const {
    return {FrameKind::interval, {index, number_of(duration_ns), received, lost}};
}

PhaseDoneFrame PhaseDoneFrame::of(const Frame& frame) {
    return {.received = frame.number(0),
            .lost = frame.number(1),
            .duplicated = frame.number(2),
            .reordered = frame.number(3),
            .corrupted = frame.number(4),
            .duration_ns = static_cast<Nanoseconds>(frame.number(5)),
            .instances_heard = frame.number(6)};
}

Frame PhaseDoneFrame::frame() const {
    return {FrameKind::phase_done,
            {received, lost, duplicated, reordered, corrupted, number_of(duration_ns), instances_heard}};
}

OneWayDoneFrame OneWayDoneFrame::of(const Frame& frame) {
    return {.received = frame.number(0),
            .lost = frame.number(1),
            .duplicated = frame.number(2),
            .reordered = frame.number(3),
            .corrupted = frame.number(4),
            .early = frame.number(5),
            .instances_heard = frame.number(6)};
}

Frame OneWayDoneFrame::frame() const {
    return {FrameKind::phase_done, {received, lost, duplicated, reordered, corrupted, early, instances_heard}};
}

HistogramFrame HistogramFrame::of(const Frame& frame) {
    return {.is_last = frame.number(0) == 1,
            .duration_ns = static_cast<Nanoseconds>(frame.number(1)),
            .exact = {.count = frame.number(2),
                      .overflow = frame.number(3),
                      .min = frame.number(4),
                      .max = frame.number(5),
                      .min_at = frame.number(6),
                      .max_at = frame.number(7),
                      .sum = wide(frame.number(8), frame.number(9)),
                      .squares = wide(frame.number(10), frame.number(11))},
            .bins = frame.text};
}

Frame HistogramFrame::frame() const {
    return {FrameKind::histogram,
            {is_last ? 1U : 0U, number_of(duration_ns), exact.count, exact.overflow, exact.min, exact.max, exact.min_at,
             exact.max_at, low(exact.sum), high(exact.sum), low(exact.squares), high(exact.squares)},
            bins};
}

ResourcesFrame ResourcesFrame::of(const Frame& frame) {
    ResourcesFrame resources;
    resources.used.duration_ns = static_cast<Nanoseconds>(frame.number(0));
    resources.used.user_ns = static_cast<Nanoseconds>(frame.number(1));
    resources.used.system_ns = static_cast<Nanoseconds>(frame.number(2));
    resources.used.voluntary_switches = frame.number(3);
    resources.used.involuntary_switches = frame.number(4);
    resources.used.peak_memory_bytes = frame.number(5);
    resources.used.peak_is_own = frame.number(6) != 0;
    return resources;
}

Frame ResourcesFrame::frame() const {
    return {FrameKind::resources,
            {number_of(used.duration_ns), number_of(used.user_ns), number_of(used.system_ns), used.voluntary_switches,
             used.involuntary_switches, used.peak_memory_bytes, used.peak_is_own ? 1U : 0U}};
}

}  // namespace tacholog
