// The tables that Fast-RTPS 1.9.4 and later and Fast DDS print: ThroughputTest for the demand test, LatencyTest for the
// latency test. Both print their table when everything has been measured, so that a killed run has none; that of
// ThroughputTest is sorted by size.
//
// Send times hold the rests between the bursts, but not the one behind the last, here as there. The tool's receive time
// runs from one command to another; perftest's from the first message to the last. Lost is sent less received, as from
// 2.10 on. Latency is half a round trip, though the title says otherwise; the tool takes the cost of reading its clock
// off each sample, perftest does not. Its rates are samples over time, where the native log has one period less than
// messages. How many samples were asked for, which the title says, is not known: perftest is
// asked for a time. It is the count of the first size.
// The dialect cannot say the transport, reliability, instances, batching, duplicates, reordering, loss of the latency
// test, tails beyond 99.99 %, or how the run ended other than by its closing line.
#include <algorithm>
#include <ostream>
#include <vector>

#include "reporters/fastrtps_figures.hpp"
#include "reporters/print.hpp"
#include "reporters/reporter.hpp"

namespace tacholog::reporters {
namespace {

struct LatencyRow {
    std::size_t payload_bytes;
    std::uint64_t samples;
    double std_us, mean_us, min_us, p50_us, p90_us, p99_us, p99_99_us, max_us;
};

LatencyRow latency_row(const LatencyResult& result) {
    const Histogram& histogram = *result.histogram;
    const auto half_us = [](double round_trip_ns) { return to_us(round_trip_ns) / 2; };
    const auto quantile = [&](std::uint64_t millionths) {
        return half_us(fastrtps_quantile_ns(histogram, millionths));
    };
    return {result.payload_bytes,
            histogram.count(),
            half_us(histogram.std_ns()),
            half_us(histogram.mean_ns()),
            half_us(static_cast<double>(histogram.min_ns())),
            quantile(500'000),
            quantile(900'000),
            quantile(990'000),
            quantile(999'900),
            half_us(static_cast<double>(histogram.max_ns()))};
}

class FastRtps final : public Reporter {
public:
    explicit FastRtps(std::ostream& log) : log_(log) {}

    void write(const Config& config) override {
        demand_ = config.options.test == Test::demand;
        if (!demand_) return;
        print(log_, "Recovery times: ");
        for (const auto time : config.options.recovery_ns)
            print(log_, "%lld, ", static_cast<long long>(time / 1'000'000));
        print(log_, "\n");
    }

    void write(const ClockFacts& clock) override {
        print(log_, demand_ ? "Publisher's clock access overhead: %g us\n" : "Overhead %g us\n",
              to_us(clock.overhead_ns));
    }

    void write(const LatencyResult& result) override {
        if (result.histogram->count() > 0) latency_.push_back(latency_row(result));
    }

    void write(const DemandResult& result) override { demands_.push_back(result); }

    void write(const Failure&) override {
    }  // perftest itself says it on standard error; the dialect has no words for it

    void write(const End& end) override {
        if (!latency_.empty()) write_latency();
        std::stable_sort(demands_.begin(), demands_.end(),
                         [](const auto& one, const auto& other) { return one.payload_bytes < other.payload_bytes; });
        if (!demands_.empty()) write_demands();
        if (end.ok) print(log_, "\x1b[32mEVERYTHING STOPPED FINE\x1b[m\n");
    }

private:
    void write_latency() {
        print(log_,
              "Printing round-trip times in us, statistics for %llu samples\n"
              "   Bytes, Samples,   stdev,    mean,     min,     50%%,     90%%,     99%%,  99.99%%,     max\n"
              "--------,--------,--------,--------,--------,--------,--------,--------,--------,--------,\n",
              static_cast<unsigned long long>(latency_.front().samples));
        for (const auto& row : latency_) {
            print(log_, "%8zu,%8llu,%8.3f,%8.3f,%8.3f,%8.3f,%8.3f,%8.3f,%8.3f,%8.3f \n", row.payload_bytes,
                  static_cast<unsigned long long>(row.samples), row.std_us, row.mean_us, row.min_us, row.p50_us,
                  row.p90_us, row.p99_us, row.p99_99_us, row.max_us);
        }
    }

    void write_demands() {
        print(log_,
              "\n[            TEST           ][                    PUBLISHER                      ]"
              "[                            SUBSCRIBER                        ]\n"
              "[ Bytes,Demand,Recovery Time][Sent Samples,Send Time(us),   Packs/sec,  MBits/sec]"
              "[Rec Samples,Lost Samples,Rec Time(us),   Packs/sec,  MBits/sec]\n"
              "[------,------,-------------][------------,-------------,------------,-----------]"
              "[-----------,------------,------------,------------,-----------]\n");
        for (const auto& result : demands_) write_row(result);
        print(log_, "\n");
    }

    void write_row(const DemandResult& result) {
        const double send_us = to_us(static_cast<double>(result.send_duration_ns.value_or(0)));
        const double receive_us = to_us(static_cast<double>(result.receive_duration_ns));
        print(log_, "%7zu,%6u,%13lld,%13llu,%13.0f,%12.3f,%11.3f,%12llu,%12llu,%12.0f,%12.3f,%11.3f\n",
              result.payload_bytes, result.demand.messages,
              static_cast<long long>(result.demand.recovery_ns / 1'000'000),
              static_cast<unsigned long long>(result.sent), send_us, fastrtps_samples_per_s(result.sent, send_us),
              fastrtps_megabits_per_s(result.sent, result.payload_bytes, send_us),
              static_cast<unsigned long long>(result.received), static_cast<unsigned long long>(result.faults.lost),
              receive_us, fastrtps_samples_per_s(result.received, receive_us),
              fastrtps_megabits_per_s(result.received, result.payload_bytes, receive_us));
    }

    std::ostream& log_;
    bool demand_ = false;
    std::vector<LatencyRow> latency_;
    std::vector<DemandResult> demands_;
};

std::unique_ptr<Reporter> make(std::ostream& log, std::ostream&) {
    return std::make_unique<FastRtps>(log);
}

}  // namespace

extern const ReporterKind fastrtps{"fastrtps", "the tables of Fast-RTPS 1.9.4 to Fast DDS 3, half round trips",
                                   fastrtps_expresses, make};

}  // namespace tacholog::reporters
