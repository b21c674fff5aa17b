// The output of a run: the native log and its stream, and the counts for the end line.
#pragma once

#include <ostream>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "reporters/native.hpp"

namespace tacholog {

class Log {
public:
    /// `name` is used in error messages.
    Log(std::string name, std::ostream& stream) : name_(std::move(name)), stream_(stream), native_(stream) {}

    template <typename Event>
    void write(const Event& event) {
        native_.write(event);
    }
    void write(const LatencyResult& result) {
        carried_bytes_ += result.histogram->count() * result.payload_bytes;
        count(counts_.latency, result);
    }
    void write(const ThroughputResult& result) {
        carried_bytes_ += result.received * result.payload_bytes;
        count(counts_.throughput, result);
    }
    void write(const DemandResult& result) {
        carried_bytes_ += result.received * result.payload_bytes;
        count(counts_.demand, result);
    }
    void write(const Trial& trial) {
        carried_bytes_ += trial.latency->count() * trial.payload_bytes;
        native_.write(trial);
    }
    void write(const SustainResult& result) { count(counts_.sustain, result); }
    void write(const Failure& failure) { count(counts_.errors, failure); }

    void end() {
        counts_.ok = counts_.errors == 0;
        counts_.time = utc_time();
        native_.write(counts_);
    }

    bool failed() const { return counts_.errors > 0; }

    /// The numbers of lines that a process has written to the log so far. A child process sends its numbers to its
    /// parent, because both processes write to the same log.
    struct Counts {
        std::uint64_t latency = 0;
        std::uint64_t throughput = 0;
        std::uint64_t demand = 0;
        std::uint64_t sustain = 0;
        std::uint64_t errors = 0;
        std::uint64_t carried_bytes = 0;  ///< payload bytes of all results together
    };
    Counts counts() const {
        return {counts_.latency, counts_.throughput, counts_.demand, counts_.sustain, counts_.errors, carried_bytes_};
    }
    void set(const Counts& counts) {
        counts_.latency = counts.latency;
        counts_.throughput = counts.throughput;
        counts_.demand = counts.demand;
        counts_.sustain = counts.sustain;
        counts_.errors = counts.errors;
        carried_bytes_ = counts.carried_bytes;
    }

    /// Writes the content of the buffer. This is necessary before a fork, because the forked process would write this
    /// content again.
    void flush() { stream_.flush(); }

    /// Returns an error if the log could not be written, for example because the disk is full.
    Result<void> written() const {
        if (!stream_.good()) return Error{"write the log: " + name_ + " takes no more"};
        return {};
    }

private:
    template <typename Event>
    void count(std::uint64_t& counter, const Event& event) {
        ++counter;
        native_.write(event);
    }

    std::string name_;
    std::ostream& stream_;
    reporters::NativeLog native_;
    End counts_;
    std::uint64_t carried_bytes_ = 0;
};

}  // namespace tacholog
