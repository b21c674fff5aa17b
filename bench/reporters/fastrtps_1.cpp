// The tables that Fast-RTPS 1.1 to 1.6 prints: ThroughputTest for the demand test, LatencyTest for the latency test. A
// row stands there as soon as it is measured.
//
// Rates are computed from times in whole microseconds, as there. Latency is the whole round trip; its deviation is
// rounded to whole microseconds. The tool takes the cost of reading its clock off each sample, perftest does not. The
// recovery time has no column: it stands in the banner that eProsima's scripts print before each run of the tool, so
// each recovery time, and each size below the one before it, is written as if the tool had been started for it. What
// the tool of these years calls its send time holds waits of another kind; perftest's are those of 1.9.4 and later (see
// fastrtps.cpp). The dialect cannot say packet rates, the transport, reliability, batching, duplicates, reordering,
// loss of the latency test, or how the run ended other than by its closing line.
#include <cmath>
#include <optional>
#include <ostream>

#include "reporters/fastrtps_figures.hpp"
#include "reporters/print.hpp"
#include "reporters/reporter.hpp"

namespace tacholog::reporters {
namespace {

class FastRtps1 final : public Reporter {
public:
    explicit FastRtps1(std::ostream& log) : log_(log) {}

    void write(const LatencyResult& result) override {
        const Histogram& histogram = *result.histogram;
        if (histogram.count() == 0) return;
        if (!headed_) write_latency_head(histogram.count());
        headed_ = true;
        const auto quantile = [&](std::uint64_t millionths) {
            return to_us(fastrtps_quantile_ns(histogram, millionths));
        };
        print(log_, "%8zu,%8llu,%8.2f,%8.2f,%8.2f,%8.2f,%8.2f,%8.2f,%8.2f,%8.2f \n", result.payload_bytes,
              static_cast<unsigned long long>(histogram.count()), std::round(to_us(histogram.std_ns())),
              to_us(histogram.mean_ns()), to_us(static_cast<double>(histogram.min_ns())), quantile(500'000),
              quantile(900'000), quantile(990'000), quantile(999'900), to_us(static_cast<double>(histogram.max_ns())));
    }

    void write(const DemandResult& result) override {
        if (recovery_ns_ != result.demand.recovery_ns || result.payload_bytes < payload_bytes_) {
            write_demand_head(result.demand.recovery_ns);
        }
        recovery_ns_ = result.demand.recovery_ns;
        payload_bytes_ = result.payload_bytes;
        const Nanoseconds send_us = result.send_duration_ns.value_or(0) / 1000;
        const Nanoseconds receive_us = result.receive_duration_ns / 1000;
        print(log_, "%7zu,%7u,%12llu,%13lld,%10.3f,%12llu,%12llu,%13lld,%10.3f\n", result.payload_bytes,
              result.demand.messages, static_cast<unsigned long long>(result.sent), static_cast<long long>(send_us),
              fastrtps_megabits_per_s(result.sent, result.payload_bytes, static_cast<double>(send_us)),
              static_cast<unsigned long long>(result.received), static_cast<unsigned long long>(result.faults.lost),
              static_cast<long long>(receive_us),
              fastrtps_megabits_per_s(result.received, result.payload_bytes, static_cast<double>(receive_us)));
    }

    void write(const Failure&) override {
    }  // perftest itself says it on standard error; the dialect has no words for it

    void write(const End& end) override {
        if (end.ok) print(log_, "EVERYTHING STOPPED FINE\n");
    }

private:
    void write_latency_head(std::uint64_t samples) {
        print(log_,
              "Printing round-trip times in us, statistics for %llu samples\n"
              "   Bytes, Samples,   stdev,    mean,     min,     50%%,     90%%,     99%%,  99.99%%,     max\n"
              "--------,--------,--------,--------,--------,--------,--------,--------,--------,--------,\n",
              static_cast<unsigned long long>(samples));
    }

    void write_demand_head(Nanoseconds recovery_ns) {
        constexpr const char* stars = "************************************************************************";
        print(log_,
              "%s\nFAST-RTPS THROUGHPUT TEST - RECOVERY TIME = %lld\n%s\n"
              "[     TEST     ][              PUBLISHER              ][                     SUBSCRIBER                 "
              "]\n"
              "[ Bytes, Demand][Sent Samples,Send Time(us), MBits/sec][Rec Samples,Lost Samples,Rec Time(us), "
              "MBits/sec]\n"
              "[------,-------][------------,-------------,----------][-----------,------------,------------,----------"
              "]\n",
              stars, static_cast<long long>(recovery_ns / 1'000'000), stars);
    }

    std::ostream& log_;
    bool headed_ = false;
    std::optional<Nanoseconds> recovery_ns_;
    std::size_t payload_bytes_ = 0;
};

std::unique_ptr<Reporter> make(std::ostream& log, std::ostream&) {
    return std::make_unique<FastRtps1>(log);
}

}  // namespace

extern const ReporterKind fastrtps_1{"fastrtps-1", "the tables of Fast-RTPS 1.1 to 1.6, whole round trips",
                                     fastrtps_expresses, make};

}  // namespace tacholog::reporters
