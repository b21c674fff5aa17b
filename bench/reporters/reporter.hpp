// A reporter writes the events of a run in one log dialect. What a dialect has no words for, it leaves out; a test that
// it has no words for at all is refused before the run begins.
#pragma once

#include <iosfwd>
#include <memory>
#include <span>
#include <string_view>

#include "reporters/events.hpp"

namespace tacholog {

class Reporter {
public:
    virtual ~Reporter() = default;

    virtual void write(const Build&) {}
    virtual void write(const Config&) {}
    virtual void write(const SettingsInEffect&) {}
    virtual void write(const Host&) {}
    virtual void write(const ClockFacts&) {}
    virtual void write(const Load&) {}
    virtual void write(const Start&) {}
    virtual void write(const Affinity&) {}
    virtual void write(const TransportFacts&) {}
    virtual void write(const CompanionFacts&) {}
    virtual void write(const WayTaken&) {}
    virtual void write(const Warmup&) {}
    virtual void write(const LatencyInterval&) {}
    virtual void write(const ThroughputInterval&) {}
    virtual void write(const LatencyResult&) {}
    virtual void write(const Sending&) {}
    virtual void write(const Trial&) {}
    virtual void write(const SustainResult&) {}
    virtual void write(const ThroughputResult&) {}
    virtual void write(const DemandResult&) {}
    virtual void write(const Aggregate&) {}
    virtual void write(const Resources&) {}
    virtual void write(const Cost&) {}
    virtual void write(const Path&) {}
    virtual void write(const Note&) {}
    virtual void write(const Failure&) = 0;
    virtual void write(const End&) = 0;
};

/// Where the dialect has words for the results of several subscribers.
enum class Several { nowhere, in_a_log_each, in_one_log };

struct ReporterKind {
    std::string_view name;
    std::string_view summary;  ///< one line for --list-reporters
    /// Whether the dialect has words for what this side finds in this test.
    bool (*expresses)(Test test, Role role);
    /// `log` takes the results; `chatter` is where the dialect's tool would talk to its user (standard error).
    std::unique_ptr<Reporter> (*make)(std::ostream& log, std::ostream& chatter);
    bool open_loop = false;  ///< whether it can say that latency was measured at a rate
    Several several = Several::nowhere;
    bool one_way = false;  ///< whether it can say that this was the latency of the way there
};

/// Every dialect of this build, by name. Written by CMake from the tacholog_reporter() calls.
std::span<const ReporterKind* const> all_reporters();

/// The dialect of that name; nullptr if this build has none.
inline const ReporterKind* find_reporter(std::string_view name) {
    for (const ReporterKind* kind : all_reporters()) {
        if (kind->name == name) return kind;
    }
    return nullptr;
}

}  // namespace tacholog
