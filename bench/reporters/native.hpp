// The native log: one fact per line, `kind key=value ...`, flushed as soon as it is known. The format is described in
// docs/native-log.md.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string_view>

#include "reporters/events.hpp"

namespace tacholog::reporters {

class Line;

class NativeLog {
public:
    explicit NativeLog(std::ostream& stream) : stream_(stream) {}

    void write(const Build& event);
    void write(const Config& event);
    void write(const SettingsInEffect& event);
    void write(const Host& event);
    void write(const ClockFacts& event);
    void write(const Load& event);
    void write(const Start& event);
    void write(const Affinity& event);
    void write(const MeasuringCpus& event);
    void write(const TransportFacts& event);
    void write(const CompanionFacts& event);
    void write(const WayTaken& event);
    void write(const Warmup& event);
    void write(const LatencyInterval& event);
    void write(const ThroughputInterval& event);
    void write(const LatencyResult& event);
    void write(const Sending& event);
    void write(const Trial& event);
    void write(const SustainResult& event);
    void write(const ThroughputResult& event);
    void write(const DemandResult& event);
    void write(const Aggregate& event);
    void write(const Resources& event);
    void write(const Cost& event);
    void write(const Path& event);
    void write(const Note& event);
    void write(const Failure& event);
    void write(const End& event);

private:
    void put(const Line& line);
    /// Writes only the facts that belong in lines of this kind; writes no line if there are none.
    void write_facts(std::string_view kind, const TransportFacts& transport);
    /// Writes several lines, so that no line is too long for an editor, a diff or the buffer of a reader.
    void write_bins(const LatencyResult& result);
    /// Returns the starting point of latencies; empty if latencies start when the message is sent.
    std::string_view from() const;

    std::ostream& stream_;
    std::string_view test_;
    bool open_ = false;
    std::optional<std::size_t> probe_every_;  ///< set if the latency is that of probes in a throughput test
    Basis basis_ = Basis::round_trip;
};

}  // namespace tacholog::reporters
