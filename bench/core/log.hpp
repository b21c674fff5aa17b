// Where a run writes: its reporters and their streams, with the counts for the end line.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "reporters/reporter.hpp"

namespace tacholog {

class Log {
public:
    struct Writer {
        std::string name;  ///< for messages
        std::unique_ptr<Reporter> reporter;
        std::ostream* stream;
    };

    explicit Log(std::vector<Writer> writers) : writers_(std::move(writers)) {}

    template <typename Event>
    void write(const Event& event) {
        for (const auto& writer : writers_) writer.reporter->write(event);
    }
    void write(const LatencyResult& result) { count(counts_.latency, result); }
    void write(const ThroughputResult& result) { count(counts_.throughput, result); }
    void write(const DemandResult& result) { count(counts_.demand, result); }
    void write(const Failure& failure) { count(counts_.errors, failure); }

    void end() {
        counts_.ok = counts_.errors == 0;
        counts_.time = utc_time();
        for (const auto& writer : writers_) writer.reporter->write(counts_);
    }

    bool failed() const { return counts_.errors > 0; }

    /// An error if a log could not be written: a disk may fill up during a run.
    Result<void> written() const {
        for (const auto& writer : writers_) {
            if (!writer.stream->good()) return Error{"write the log: " + writer.name + " takes no more"};
        }
        return {};
    }

private:
    template <typename Event>
    void count(std::uint64_t& counter, const Event& event) {
        ++counter;
        for (const auto& writer : writers_) writer.reporter->write(event);
    }

    std::vector<Writer> writers_;
    End counts_;
};

}  // namespace tacholog
