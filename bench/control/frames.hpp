// The content of the frames of the control channel, with named fields. A frame has a kind, some numbers and a text. The
// function `fields` of each struct lists the fields in the order in which they are sent. A number that the peer did not
// send is 0.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/case.hpp"
#include "base/clock.hpp"
#include "base/histogram.hpp"
#include "control/control.hpp"
#include "reporters/events.hpp"

namespace tacholog {

/// Whether the content of a frame is possible. Checks only what a single frame shows: it has no more numbers than its
/// kind allows, its counts and times can be added without overflow, and no part is larger than the whole. Control
/// checks each received frame in this way.
bool is_possible(const Frame& frame);

/// A limit for counts, and for times in nanoseconds. No run can reach it. Sums of some thousands of such numbers fit
/// into 64 bits.
inline constexpr std::uint64_t most_counted = std::uint64_t{1} << 50;

/// The subscriber sends this frame first.
struct HelloFrame {
    static constexpr FrameKind kind = FrameKind::hello;
    std::uint64_t version = protocol_version;
    /// The number of a subscriber, counted from 1. The subscriber sends the number that it asks for; 0 means any
    /// number. The answer contains the number that the subscriber gets.
    std::uint64_t place = 0;
    std::uint64_t secret = 0;  ///< the secret of the run; 0: none
    std::string agreement;     ///< the options that must be the same on both sides

    static auto fields(auto& self) { return std::tie(self.version, self.place, self.secret, self.agreement); }
};

/// The publisher's answer to the frame `affinity` of a subscriber.
struct PlacementFrame {
    static constexpr FrameKind kind = FrameKind::affinity;
    bool live = false;           ///< intervals are reported while a phase is measured
    bool shared = false;         ///< the measuring threads share CPUs
    std::string reporting_cpus;  ///< empty: any CPU
    MeasuringCpus cpus = {};

    static auto fields(auto& self) {
        return std::tie(self.live, self.shared, self.reporting_cpus, self.cpus.relation, self.cpus.cache_level,
                        self.cpus.publisher_node, self.cpus.subscriber_node, self.cpus.cache_line_ps);
    }
};

/// Values that all sides of a run share.
struct RunFrame {
    static constexpr FrameKind kind = FrameKind::run;
    std::uint64_t number = 0;  ///< random, so that no other run has channels of the same name
    std::string companion;     ///< the address of the companion program; empty: there is none

    static auto fields(auto& self) { return std::tie(self.number, self.companion); }
};

/// The next case, and the endpoint at which the sender of this frame receives messages.
struct OpenFrame {
    static constexpr FrameKind kind = FrameKind::open;
    Case measured;
    std::string endpoint;  ///< empty: the sender does not subscribe

    static auto fields(auto& self) {
        return std::tie(self.measured.payload_bytes, self.measured.demand, self.endpoint);
    }
};

/// For each publisher: the number of the first message after the phase.
struct PhaseEndFrame {
    static constexpr FrameKind kind = FrameKind::phase_end;
    std::vector<std::uint64_t> ends;

    static auto fields(auto& self) { return std::tie(self.ends); }
};

struct IntervalFrame {
    static constexpr FrameKind kind = FrameKind::interval;
    std::uint64_t index = 0;
    Nanoseconds duration_ns = 0;
    std::uint64_t received = 0;
    std::uint64_t lost = 0;

    static auto fields(auto& self) { return std::tie(self.index, self.duration_ns, self.received, self.lost); }
};

struct PhaseDoneFrame {
    static constexpr FrameKind kind = FrameKind::phase_done;
    std::uint64_t received = 0;
    std::uint64_t lost = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t reordered = 0;
    std::uint64_t corrupted = 0;
    Nanoseconds duration_ns = 0;        ///< from the first message of a stream to the last
    std::uint64_t instances_heard = 0;  ///< instances from which at least one message arrived
    std::uint64_t early = 0;            ///< messages that arrived before they were due; used for one-way latency

    static auto fields(auto& self) {
        return std::tie(self.received, self.lost, self.duplicated, self.reordered, self.corrupted, self.duration_ns,
                        self.instances_heard, self.early);
    }
};

/// A part of a histogram. All fields except the bins are the same in each part.
struct HistogramFrame {
    static constexpr FrameKind kind = FrameKind::histogram;
    bool is_last = false;
    Nanoseconds duration_ns = 0;
    Histogram::Exact exact;
    std::string bins;  ///< the bins of this part as text: "lower edge:count," for each of them

    static auto fields(auto& self) {
        return std::tie(self.is_last, self.duration_ns, self.exact.count, self.exact.overflow, self.exact.min,
                        self.exact.max, self.exact.sum, self.exact.squares, self.bins);
    }
};

/// The resources that the subscriber's side used.
struct ResourcesFrame {
    static constexpr FrameKind kind = FrameKind::resources;
    Resources used;

    static auto fields(auto& self) {
        return std::tie(self.used.duration_ns, self.used.user_ns, self.used.system_ns, self.used.voluntary_switches,
                        self.used.involuntary_switches, self.used.peak_memory_bytes, self.used.peak_is_own);
    }
};

class FieldWriter {
public:
    explicit FieldWriter(FrameKind kind) : frame_{kind} {}

    template <std::integral Number>
    void operator()(Number number) {
        frame_.numbers.push_back(static_cast<std::uint64_t>(number));
    }
    void operator()(CpuRelation relation) { (*this)(static_cast<std::uint8_t>(relation)); }
    void operator()(const Wide& number) {
        (*this)(static_cast<std::uint64_t>(number));
        (*this)(static_cast<std::uint64_t>(number >> 64));
    }
    void operator()(const std::optional<Demand>& demand) {
        if (!demand) return;
        (*this)(demand->messages);
        (*this)(demand->recovery_ns);
    }
    void operator()(const std::vector<std::uint64_t>& numbers) { frame_.numbers = numbers; }
    void operator()(const std::string& text) { frame_.text = text; }

    Frame frame() && { return std::move(frame_); }

private:
    Frame frame_;
};

/// Reads the fields of a frame, in the order in which they were written.
class FieldReader {
public:
    explicit FieldReader(const Frame& frame) : frame_(frame) {}

    template <std::integral Number>
    void operator()(Number& field) {
        field = static_cast<Number>(next());
    }
    void operator()(CpuRelation& field) { field = static_cast<CpuRelation>(next()); }
    void operator()(Wide& field) {
        field = next();
        field |= static_cast<Wide>(next()) << 64;
    }
    void operator()(std::optional<Demand>& field) {
        Demand demand;
        (*this)(demand.messages);
        (*this)(demand.recovery_ns);
        if (demand.messages > 0) field = demand;
    }
    void operator()(std::vector<std::uint64_t>& field) const { field = frame_.numbers; }
    void operator()(std::string& field) const { field = frame_.text; }

private:
    std::uint64_t next() { return frame_.number(index_++); }

    const Frame& frame_;
    std::size_t index_ = 0;
};

template <typename Said>
Frame frame_of(const Said& said) {
    FieldWriter write{Said::kind};
    std::apply([&](const auto&... field) { (write(field), ...); }, Said::fields(said));
    return std::move(write).frame();
}

template <typename Said>
Said read_frame(const Frame& frame) {
    Said said;
    FieldReader take{frame};
    std::apply([&](auto&... field) { (take(field), ...); }, Said::fields(said));
    return said;
}

}  // namespace tacholog
