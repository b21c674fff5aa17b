#include "control/frames.hpp"

#include <algorithm>

namespace tacholog {
namespace {

template <typename Field>
constexpr std::size_t numbers_in() {
    if (std::is_same_v<Field, std::string>) return 0;
    if (std::is_same_v<Field, std::vector<std::uint64_t>>) return most_numbers;
    return std::is_integral_v<Field> || std::is_enum_v<Field> ? 1 : 2;
}

template <typename... Fields>
constexpr std::size_t sum_of(std::type_identity<std::tuple<Fields&...>>) {
    return (numbers_in<Fields>() + ...);
}

template <typename Said>
constexpr std::size_t most_in = sum_of(std::type_identity<decltype(Said::fields(std::declval<Said&>()))>{});

template <typename... Said>
constexpr std::size_t most_of(FrameKind kind) {
    return ((Said::kind == kind ? most_in<Said> : 0) + ...);
}

/// The largest possible number of numbers in a frame.
std::size_t numbers_of(FrameKind kind) {
    // Another version of the protocol may use more numbers than this one.
    if (kind == FrameKind::hello) return most_numbers;
    return most_of<PlacementFrame, RunFrame, OpenFrame, PhaseEndFrame, IntervalFrame, PhaseDoneFrame, HistogramFrame,
                   ResourcesFrame>(kind);
}

/// A message holds only 48 bits of its due time.
constexpr std::uint64_t longest_latency_ns = std::uint64_t{1} << 48;

bool are_counts(const Frame& frame) {
    return std::all_of(frame.numbers.begin(), frame.numbers.end(),
                       [](std::uint64_t number) { return number <= most_counted; });
}

bool is_possible_result(const PhaseDoneFrame& done) {
    return done.reordered <= done.received && done.instances_heard <= done.received;
}

bool is_possible_use(const Resources& used) {
    // The limit is high, because a side may have as many threads as there are CPUs. One second is added to the
    // duration, because the kernel counts processor time in ticks.
    constexpr Nanoseconds most_threads = 4096;
    return used.user_ns + used.system_ns <= (used.duration_ns + nanoseconds_per_second) * most_threads;
}

}  // namespace

bool is_possible(const Frame& frame) {
    if (frame.numbers.size() > numbers_of(frame.kind)) return false;
    switch (frame.kind) {
        case FrameKind::open:
            // The receiver checks whether the sizes are possible, because it knows them.
            return frame.number(1) <= UINT32_MAX && frame.number(2) <= most_counted;
        case FrameKind::phase_end:
        case FrameKind::interval:
            return are_counts(frame);
        case FrameKind::phase_done:
            return are_counts(frame) && is_possible_result(read_frame<PhaseDoneFrame>(frame));
        case FrameKind::resources:
            return are_counts(frame) && is_possible_use(read_frame<ResourcesFrame>(frame).used);
        case FrameKind::histogram:
            return frame.number(0) <= 1 && frame.number(1) <= most_counted && frame.number(2) <= most_counted &&
                   frame.number(5) < longest_latency_ns;
        default:
            return true;
    }
}

}  // namespace tacholog
