#include "control/frames.hpp"

#include <algorithm>

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

namespace {

/// How many numbers a frame of this kind has at most.
std::size_t numbers_of(FrameKind kind) {
    switch (kind) {
        case FrameKind::open:
            return 3;
        case FrameKind::affinity:
            return 2;
        case FrameKind::run:
            return 1;
        case FrameKind::hello:  // another version may have more
        case FrameKind::phase_end:
            return most_numbers;
        case FrameKind::interval:
            return 4;
        case FrameKind::phase_done:
        case FrameKind::resources:
            return 7;
        case FrameKind::histogram:
            return 12;
        default:
            return 0;
    }
}

/// A message holds 48 bits of the moment that it was due.
constexpr std::uint64_t longest_latency_ns = std::uint64_t{1} << 48;

bool are_counts(const Frame& frame) {
    return std::all_of(frame.numbers.begin(), frame.numbers.end(),
                       [](std::uint64_t number) { return number <= most_counted; });
}

bool is_possible_result(const PhaseDoneFrame& done) {
    return done.reordered <= done.received && done.instances_heard <= done.received;
}

bool is_possible_use(const Resources& used) {
    // The kernel counts in ticks, and a side may have as many threads as there are CPUs.
    constexpr Nanoseconds most_threads = 4096;
    return used.user_ns + used.system_ns <= (used.duration_ns + nanoseconds_per_second) * most_threads;
}

}  // namespace

bool is_possible(const Frame& frame) {
    if (frame.numbers.size() > numbers_of(frame.kind)) return false;
    switch (frame.kind) {
        case FrameKind::open:
            return frame.number(1) <= UINT32_MAX && frame.number(2) <= most_counted;  // a side knows the sizes
        case FrameKind::phase_end:
        case FrameKind::interval:
            return are_counts(frame);
        case FrameKind::phase_done:
            return are_counts(frame) && is_possible_result(PhaseDoneFrame::of(frame));
        case FrameKind::resources:
            return are_counts(frame) && is_possible_use(ResourcesFrame::of(frame).used);
        case FrameKind::histogram:
            return frame.number(0) <= 1 && frame.number(1) <= most_counted && frame.number(2) <= most_counted &&
                   frame.number(5) < longest_latency_ns;
        default:
            return true;
    }
}

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
