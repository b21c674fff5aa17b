// The text that the pinger of hmbdc's tips-ping-pong prints (15-17-1 to 17-6): a line of progress, then the round trip
// in seconds with nine decimals, its standard deviation with six digits. The tool runs for one size; a list of sizes
// here is as if it had been started for each.
//
// A progress character stands for a second: x of the warm-up, . of the measurement; C does not occur, since perftest
// waits where the tool would skip a message. The count of ignored values is that of the warm-up. Of (a/b), a are the
// answers and b the messages sent. msgPerSec is what the tool is asked for: its pings follow a clock. Those of
// perftest follow the answer before them, so the number is the rate that came of it.
// The dialect cannot say percentiles, the transport, reliability, duplicates, reordering, or how the run ended; and its
// ponger's one-way latency is not measured here.
#include <algorithm>
#include <ostream>

#include "reporters/print.hpp"
#include "reporters/reporter.hpp"

namespace tacholog::reporters {
namespace {

bool expresses(Test test, Role role) {
    return test == Test::latency && role != Role::sub;
}

class Hmbdc final : public Reporter {
public:
    explicit Hmbdc(std::ostream& log) : log_(log) {}

    void write(const Config& config) override { zero_copy_ = config.data_path == "zero-copy"; }

    void write(const Warmup& warmup) override {
        print(log_,
              "Started Pinger with the first %llu values ignored(x), good(.), congested(C), press ctrl-c to get "
              "results\nx",
              static_cast<unsigned long long>(warmup.messages));
        for (Nanoseconds second = 1; second < warmup.duration_ns / nanoseconds_per_second; ++second) print(log_, "x");
    }

    void write(const LatencyInterval&) override { print(log_, "."); }

    void write(const LatencyResult& result) override {
        const Histogram& histogram = *result.histogram;
        const std::uint64_t sent = histogram.count() + result.faults.lost;
        const double rate = std::max(1.0, rate_within(sent, result.duration_ns).value_or(0));  // the tool takes no 0
        print(log_, "\n%s : msgSize=%zu msgPerSec=%.0f\nround trip time (sec):(%llu/%llu):", type(result.payload_bytes),
              result.payload_bytes, rate, static_cast<unsigned long long>(histogram.count()),
              static_cast<unsigned long long>(sent));
        if (histogram.count() == 0) {
            print(log_,
                  "NA sampleSize=0\nNothing comes back - multicast might be disabled (need to disable firewall)\n");
            return;
        }
        print(log_, "mean=%.9f std_dev=%g min=%.9f max=%.9f sampleSize=%llu\n", histogram.mean_ns() / 1e9,
              histogram.std_ns() / 1e9, static_cast<double>(histogram.min_ns()) / 1e9,
              static_cast<double>(histogram.max_ns()) / 1e9, static_cast<unsigned long long>(histogram.count()));
    }

    void write(const Failure&) override {
    }  // perftest itself says it on standard error; the dialect has no words for it
    void write(const End&) override {}

private:
    /// Small messages go inline; others have an attachment, in shared memory or not.
    const char* type(std::size_t payload_bytes) const {
        constexpr std::size_t smallest_attachment = 100;
        if (payload_bytes < smallest_attachment) return "Ping";
        return zero_copy_ ? "Ping0cpy" : "PingGT1K";
    }

    std::ostream& log_;
    bool zero_copy_ = false;
};

std::unique_ptr<Reporter> make(std::ostream& log, std::ostream&) {
    return std::make_unique<Hmbdc>(log);
}

}  // namespace

extern const ReporterKind hmbdc{"hmbdc", "the text of hmbdc tips-ping-pong, round trips in seconds", expresses, make};

}  // namespace tacholog::reporters
