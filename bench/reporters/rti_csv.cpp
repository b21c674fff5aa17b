// The CSV that RTI Perftest 4.0 to 4.2 prints by default: the figures of its legacy text (see rti.cpp) in columns.
//
// The tool prints interval rows unless it is given -noPrintIntervals, then with titles, and the header of the summary
// again at each size; without them there is one header and no title. Here they come with --intervals. --no-headers is
// the tool's -noOutputHeaders: rows only, of which an interval of latency and a summary of throughput are told apart by
// their last cell alone.
// The dialect cannot say how many round trips there were, how many instances, batching, duplicates and reordering, or
// how the run ended.
#include <ostream>

#include "reporters/print.hpp"
#include "reporters/reporter.hpp"
#include "reporters/rti_figures.hpp"

namespace tacholog::reporters {
namespace {

class RtiCsv final : public Reporter {
public:
    explicit RtiCsv(std::ostream& log) : log_(log) {}

    void write(const Config& config) override {
        intervals_ = config.options.intervals;
        running_.has_whole_intervals(config.options);
        headers_ = !config.options.no_headers;
    }

    void write(const LatencyInterval& interval) override {
        if (!intervals_ || interval.histogram->count() == 0) return;
        begin_latency(interval.payload_bytes);
        running_.add(interval);
        const OneWay latency = one_way(running_.latency);
        print(log_, "%14zu,%13llu,%9.0f,%9.1f,%9llu,%9llu\n", interval.payload_bytes,
              static_cast<unsigned long long>(one_way_us(interval.last_ns)), latency.mean_us, latency.std_us,
              static_cast<unsigned long long>(latency.min_us), static_cast<unsigned long long>(latency.max_us));
    }

    void write(const ThroughputInterval& interval) override {
        if (!intervals_ || !running_.is_whole(interval)) return;
        begin_throughput(interval.payload_bytes);
        running_.add(interval);
        const double rate = rate_within(interval.received, interval.duration_ns).value_or(0);
        const double mean = running_.mean_rate_per_s();
        print(log_, "%14zu,%14llu,%11llu,%14.0f,%9.1f,%10.1f, %12llu, %16.2f\n", interval.payload_bytes,
              static_cast<unsigned long long>(running_.received), static_cast<unsigned long long>(rate), mean,
              megabits_per_s(rate, interval.payload_bytes), megabits_per_s(mean, interval.payload_bytes),
              static_cast<unsigned long long>(running_.lost), lost_percent(running_.received, running_.lost));
    }

    void write(const LatencyResult& result) override {
        const Histogram& histogram = *result.histogram;
        if (histogram.count() == 0) return;  // the tool prints nonsense, or crashes
        begin_latency(result.payload_bytes);
        head("One-way Latency Summary:",
             "Sample Size (Bytes), Ave (\u03bcs), Std (\u03bcs), Min (\u03bcs), Max (\u03bcs), 50% (\u03bcs), "
             "90% (\u03bcs), 99% (\u03bcs), 99.99% (\u03bcs), 99.9999% (\u03bcs)");
        const OneWay latency = one_way(histogram);
        print(log_, "%19zu,%9.0f,%9.1f,%9llu,%9llu,%9lu,%9lu,%9lu,%12lu,%14lu\n", result.payload_bytes, latency.mean_us,
              latency.std_us, static_cast<unsigned long long>(latency.min_us),
              static_cast<unsigned long long>(latency.max_us), rti_quantile_us(histogram, 500'000),
              rti_quantile_us(histogram, 900'000), rti_quantile_us(histogram, 990'000),
              rti_quantile_us(histogram, 999'900), rti_quantile_us(histogram, 999'999));
    }

    void write(const ThroughputResult& result) override {
        begin_throughput(result.payload_bytes);
        head("Throughput Summary:",
             "Sample Size (Bytes), Total Samples, Avg Samples/s,    Avg Mbps, Lost Samples, Lost Samples (%)");
        const double rate = result.rate_per_s().value_or(0);
        print(log_, "%19zu,%14llu,%14llu,%12.1f, %12llu, %16.2f\n", result.payload_bytes,
              static_cast<unsigned long long>(result.received), static_cast<unsigned long long>(rate),
              megabits_per_s(rate, result.payload_bytes), static_cast<unsigned long long>(result.faults.lost),
              lost_percent(result.received, result.faults.lost));
    }

    void write(const Failure&) override {
    }  // perftest itself says it on standard error; the dialect has no words for it
    void write(const End&) override {}

private:
    void begin_latency(std::size_t payload_bytes) {
        if (!running_.begins(payload_bytes) || !intervals_ || !headers_) return;
        print(log_,
              "\nIntervals One-Way Latency for %zu Bytes:\n"
              "Length (Bytes), Latency (\u03bcs), Ave (\u03bcs), Std (\u03bcs), Min (\u03bcs), Max (\u03bcs)\n",
              payload_bytes);
    }

    void begin_throughput(std::size_t payload_bytes) {
        if (!running_.begins(payload_bytes) || !intervals_ || !headers_) return;
        print(log_,
              "\nInterval Throughput for %zu Bytes:\n"
              "Length (Bytes), Total Samples,  Samples/s, Avg Samples/s,     Mbps,  Avg Mbps, Lost Samples,"
              " Lost Samples (%%)\n",
              payload_bytes);
    }

    /// The head of a summary: with its title before each of them between interval rows, else bare, and once while its
    /// columns stay.
    void head(const char* title, const char* columns) {
        if (!headers_ || (headed_ == columns && !intervals_)) return;
        headed_ = columns;
        if (intervals_) print(log_, "\n%s\n", title);
        print(log_, "%s\n", columns);
    }

    std::ostream& log_;
    bool intervals_ = false;
    bool headers_ = true;
    std::string_view headed_;  ///< the columns of the last one
    RunningFigures running_;
};

std::unique_ptr<Reporter> make(std::ostream& log, std::ostream&) {
    return std::make_unique<RtiCsv>(log);
}

}  // namespace

extern const ReporterKind rti_csv{"rti-csv",     "the CSV of RTI Perftest 4, half round trips in whole us",
                                  rti_expresses, make,
                                  false,         Several::in_a_log_each};

}  // namespace tacholog::reporters
