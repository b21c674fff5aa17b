// The legacy text that RTI Perftest 2.4 to 3.0.1 prints: a summary line a size, latency at the publisher, throughput at
// the subscriber. Its latency is half a round trip in whole microseconds, each sample cut down by integer division
// before anything is computed from it; its Mbps are 10^6 bit/s of received payload. It always prints every percentile,
// however few the samples. Each line ends in the blank before the CPU load that it does not show.
//
// The tool prints interval lines unless it is given -noPrintIntervals; here they come with --intervals. Its subscriber
// has one a second, as here, and none of what is left at the end; its publisher has one for each answer, where perftest
// has one a second with the latest.
// The dialect cannot say how many round trips there were, how many instances, duplicates and reordering, or how the run
// ended. Batching is said by the banner alone, which goes to the user, for all sizes together.
#include <ostream>

#include "reporters/print.hpp"
#include "reporters/reporter.hpp"
#include "reporters/rti_figures.hpp"

namespace tacholog::reporters {
namespace {

class Rti final : public Reporter {
public:
    Rti(std::ostream& log, std::ostream& chatter) : log_(log), chatter_(chatter) {}

    void write(const Config& config) override {
        const Options& options = config.options;
        intervals_ = options.intervals;
        running_.has_whole_intervals(options);
        const bool latency = options.test == Test::latency;
        chatter_ << "Mode: " << (latency ? "LATENCY TEST (Ping-Pong test)" : "THROUGHPUT TEST") << "\n\n"
                 << "Perftest Configuration:\n"
                 << "\tReliability: " << (config.reliability == "reliable" ? "Reliable" : "Best Effort") << '\n'
                 << "\tKeyed: " << (options.instances ? "Yes" : "No") << '\n'
                 << "\tData Size: ";
        for (std::size_t at = 0; at < options.sizes.size(); ++at)
            chatter_ << (at == 0 ? "" : ", ") << options.sizes[at];
        if (options.probe_every > 0) {
            chatter_ << "\n\tLatency count: 1 latency sample every " << options.probe_every << " samples";
        }
        if (options.batch_bytes > 0) {
            chatter_ << "\n\tBatching: " << options.batch_bytes << " Bytes (Use \"-batchSize 0\" to disable batching)";
        } else {
            chatter_ << "\n\tBatching: No (Use \"-batchSize\" to setup batching)";
        }
        chatter_ << "\n\tExecution time: " << static_cast<long>(options.duration_s) << " seconds\n\n"
                 << "Transport Configuration:\n"
                 << "\tKind: " << options.transport << "\n\n";
        chatter_.flush();
    }

    void write(const LatencyInterval& interval) override {
        if (!intervals_ || interval.histogram->count() == 0) return;
        begin(interval.payload_bytes);
        running_.add(interval);
        const OneWay latency = one_way(running_.latency);
        print(log_, "One way Latency: %6llu us  Ave %6.0f us  Std %6.1f us  Min %6llu us  Max %6llu \n",
              static_cast<unsigned long long>(one_way_us(interval.last_ns)), latency.mean_us, latency.std_us,
              static_cast<unsigned long long>(latency.min_us), static_cast<unsigned long long>(latency.max_us));
    }

    void write(const ThroughputInterval& interval) override {
        if (!intervals_ || !running_.is_whole(interval)) return;
        begin(interval.payload_bytes);
        running_.add(interval);
        const double rate = rate_within(interval.received, interval.duration_ns).value_or(0);
        const double mean = running_.mean_rate_per_s();
        print(log_,
              "Packets: %8llu  Packets/s: %7llu  Packets/s(ave): %7.0f  Mbps: %7.1f  Mbps(ave): %7.1f"
              "  Lost: %5llu (%1.2f%%) \n",
              static_cast<unsigned long long>(running_.received), static_cast<unsigned long long>(rate), mean,
              megabits_per_s(rate, interval.payload_bytes), megabits_per_s(mean, interval.payload_bytes),
              static_cast<unsigned long long>(running_.lost), lost_percent(running_.received, running_.lost));
    }

    void write(const LatencyResult& result) override {
        const Histogram& histogram = *result.histogram;
        if (histogram.count() == 0) return;  // so does the tool
        begin(result.payload_bytes);
        const OneWay latency = one_way(histogram);
        print(log_,
              "Length: %5zu  Latency: Ave %6.0f us  Std %6.1f us  Min %6llu us  Max %6llu us  50%% %6lu us"
              "  90%% %6lu us  99%% %6lu us  99.99%% %6lu us  99.9999%% %6lu us \n",
              result.payload_bytes, latency.mean_us, latency.std_us, static_cast<unsigned long long>(latency.min_us),
              static_cast<unsigned long long>(latency.max_us), rti_quantile_us(histogram, 500'000),
              rti_quantile_us(histogram, 900'000), rti_quantile_us(histogram, 990'000),
              rti_quantile_us(histogram, 999'900), rti_quantile_us(histogram, 999'999));
    }

    void write(const ThroughputResult& result) override {
        begin(result.payload_bytes);
        const double rate = result.rate_per_s().value_or(0);
        print(log_, "Length: %5zu  Packets: %8llu  Packets/s(ave): %7llu  Mbps(ave): %7.1f  Lost: %5llu (%1.2f%%) \n",
              result.payload_bytes, static_cast<unsigned long long>(result.received),
              static_cast<unsigned long long>(rate), megabits_per_s(rate, result.payload_bytes),
              static_cast<unsigned long long>(result.faults.lost), lost_percent(result.received, result.faults.lost));
    }

    void write(const Note& note) override { chatter_ << "perftest: note: " << note.text << std::endl; }
    void write(const Failure&) override {
    }  // perftest itself says it on standard error; the dialect has no words for it
    void write(const End& end) override {
        if (end.ok) chatter_ << "Finishing test...\nTest ended." << std::endl;
    }

private:
    void begin(std::size_t payload_bytes) {
        if (running_.begins(payload_bytes) && intervals_)
            print(log_, "\n\n********** New data length is %zu\n", payload_bytes);
    }

    std::ostream& log_;
    std::ostream& chatter_;
    bool intervals_ = false;
    RunningFigures running_;
};

std::unique_ptr<Reporter> make(std::ostream& log, std::ostream& chatter) {
    return std::make_unique<Rti>(log, chatter);
}

}  // namespace

extern const ReporterKind rti{"rti",         "the legacy text of RTI Perftest 2.4, half round trips in whole us",
                              rti_expresses, make,
                              false,         Several::in_a_log_each};

}  // namespace tacholog::reporters
