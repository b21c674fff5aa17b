// The native log: one fact a line, `kind key=value ...`, flushed as it is known. The format is docs/native-log.md.
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
    /// A line of those facts that are of sockets, or of all others; none without facts.
    void write_facts(std::string_view kind, const TransportFacts& transport, bool of_sockets);
    /// In parts, so that no line grows beyond what an editor, a diff or a reader's buffer takes gladly.
    void write_bins(const LatencyResult& result);
    /// Where the clock of a latency starts, if not where the message is handed over.
    std::string_view from() const;

    std::ostream& stream_;
    std::string_view test_;
    bool open_ = false;
    std::optional<std::size_t> probe_every_;  ///< where latency is that of probes in a stream
    Basis basis_ = Basis::round_trip;
};

}  // namespace tacholog::reporters
