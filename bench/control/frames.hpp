// What the frames of the control channel say, by name. A frame is a kind, a few numbers and a text; the order of the
// numbers is known here alone, in frames.cpp. A number that a peer leaves out is 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/case.hpp"
#include "base/clock.hpp"
#include "base/histogram.hpp"
#include "control/control.hpp"
#include "reporters/events.hpp"

namespace tacholog {

/// Whether what a frame says can be true, as far as one frame shows: no more numbers than its kind has, counts and
/// times that can be added up, parts that are no more than the whole. Control asks before anybody sees the frame.
bool is_possible(const Frame& frame);

/// More messages than a run can send, and a longer time than it can last. Sums of some thousands fit 64 bits.
inline constexpr std::uint64_t most_counted = std::uint64_t{1} << 50;

/// FrameKind::hello. The subscriber says it first.
struct HelloFrame {
    std::uint64_t version = protocol_version;
    std::uint64_t place = 0;   ///< among the subscribers, from 1: the one wished for (0: none), then the one given
    std::uint64_t secret = 0;  ///< of the run; 0: none
    std::string agreement;     ///< what both sides must have been told alike

    static HelloFrame of(const Frame& frame);
    Frame frame() const;
};

/// FrameKind::affinity, the publisher's answer.
struct PlacementFrame {
    bool live = false;           ///< report while a phase is measured
    bool shared = false;         ///< the subscriber's threads share CPUs
    std::string reporting_cpus;  ///< the CPUs to report on, as a list; empty: any

    static PlacementFrame of(const Frame& frame);
    Frame frame() const;
};

/// FrameKind::run: what all sides of a run share.
struct RunFrame {
    std::uint64_t number = 0;  ///< drawn by the publisher: channels have names that no other run has
    std::string companion;     ///< the address of the run's companion program; empty: there is none

    static RunFrame of(const Frame& frame);
    Frame frame() const;
};

/// FrameKind::open: what is measured next, and where the sender's subscriber is.
struct OpenFrame {
    Case measured;
    std::string endpoint;  ///< empty: the sender subscribes to nothing

    static OpenFrame of(const Frame& frame);
    Frame frame() const;
};

/// FrameKind::phase_end: for each publisher the number of the first message that is not of the phase.
struct PhaseEndFrame {
    std::vector<std::uint64_t> ends;

    static PhaseEndFrame of(const Frame& frame);
    Frame frame() const;
};

/// FrameKind::interval: what came in one interval.
struct IntervalFrame {
    std::uint64_t index = 0;
    Nanoseconds duration_ns = 0;
    std::uint64_t received = 0;
    std::uint64_t lost = 0;

    static IntervalFrame of(const Frame& frame);
    Frame frame() const;
};

/// FrameKind::phase_done of a stream: what came in one phase.
struct PhaseDoneFrame {
    std::uint64_t received = 0;
    std::uint64_t lost = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t reordered = 0;
    std::uint64_t corrupted = 0;
    Nanoseconds duration_ns = 0;        ///< from the first message to the last
    std::uint64_t instances_heard = 0;  ///< instances of which something came

    static PhaseDoneFrame of(const Frame& frame);
    Frame frame() const;
};

/// FrameKind::phase_done of one-way latency.
struct OneWayDoneFrame {
    std::uint64_t received = 0;
    std::uint64_t lost = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t reordered = 0;
    std::uint64_t corrupted = 0;
    std::uint64_t early = 0;  ///< messages that came before they were due
    std::uint64_t instances_heard = 0;

    static OneWayDoneFrame of(const Frame& frame);
    Frame frame() const;
};

/// FrameKind::histogram: a part of one. What is not of the bins is the same in each part.
struct HistogramFrame {
    bool is_last = false;
    Nanoseconds duration_ns = 0;
    Histogram::Exact exact;
    std::string bins;  ///< "lower edge:count," for each bin of this part

    static HistogramFrame of(const Frame& frame);
    Frame frame() const;
};

/// FrameKind::resources.
struct ResourcesFrame {
    Resources used;

    static ResourcesFrame of(const Frame& frame);
    Frame frame() const;
};

}  // namespace tacholog
