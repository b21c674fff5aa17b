// Where a run writes: a reporter and its stream, with the counts for the end line.
#pragma once

#include <ostream>

#include "core/result.hpp"
#include "reporters/reporter.hpp"

namespace tacholog {

class Log {
public:
    Log(Reporter& reporter, std::ostream& stream) : reporter_(&reporter), stream_(&stream) {}

    template <typename Event>
    void write(const Event& event) {
        reporter_->write(event);
    }
    void write(const LatencyResult& result) {
        ++counts_.latency;
        reporter_->write(result);
    }
    void write(const ThroughputResult& result) {
        ++counts_.throughput;
        reporter_->write(result);
    }
    void write(const Failure& failure) {
        ++counts_.errors;
        reporter_->write(failure);
    }

    void end() {
        counts_.ok = counts_.errors == 0;
        counts_.time = utc_time();
        reporter_->write(counts_);
    }

    bool failed() const { return counts_.errors > 0; }

    /// A disk may fill up during a run; numbers that nobody can read are worth nothing.
    Result<void> written() const {
        if (stream_->good()) return {};
        return Error{"write the log: the output takes no more"};
    }

private:
    Reporter* reporter_;
    std::ostream* stream_;
    End counts_;
};

}  // namespace tacholog
