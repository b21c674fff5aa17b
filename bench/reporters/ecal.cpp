// The blocks that eCAL's latency samples print (as built from source since July 2026; the receiver's is that of 5.12
// and later): for each size one of the sender, ecal_sample_latency_snd, and one of the receiver,
// ecal_sample_latency_rec.
//
// eCAL's latency is one-way, by the wall clocks of both sides, in whole microseconds. With --basis one-way, perftest's
// is too, from when a message was due to be sent. Else it measures round trips, and what stands here is HALF A ROUND
// TRIP. Each sample is cut down to whole microseconds as the tool would. Nothing in the
// dialect says so; the native log (basis=rtt) and the run's manifest do. Its "Throughput" is the tool's own derivation,
// size over latency: one message was under way at a time, and no stream of such a rate was seen. Where the sum of
// latencies is 0 us, it prints the smallest integer, as the tool does on x86. "Runs" are the messages sent, since
// perftest is asked for a time and not for a count; one of them is under way at a time, which is "Memory buffer : 1"
// and as fast as possible. The dialect cannot say percentiles, sizes below 1 kB at the receiver, the transport,
// reliability, loss other than by the two counts, duplicates, reordering, or how the run ended.
#include <array>
#include <cstdio>
#include <limits>
#include <ostream>
#include <string>

#include "reporters/one_way.hpp"
#include "reporters/print.hpp"
#include "reporters/reporter.hpp"

namespace tacholog::reporters {
namespace {

constexpr const char* ruler = "--------------------------------------------\n";

bool expresses(Test test, Role role) {
    return test == Test::latency && role != Role::sub;
}

class Ecal final : public Reporter {
public:
    explicit Ecal(std::ostream& log) : log_(log) {}

    void write(const Config& config) override {
        zero_copy_ = config.data_path == "zero-copy";
        basis_ = config.options.basis;
        rate_per_s_ = config.options.rate_per_s;
    }

    void write(const LatencyResult& result) override {
        write_sender(result.payload_bytes, result.histogram->count() + result.faults.lost);
        write_receiver(result.payload_bytes, *result.histogram);
    }

    void write(const Failure&) override {
    }  // perftest itself says it on standard error; the dialect has no words for it
    void write(const End&) override {}

private:
    void write_sender(std::size_t payload_bytes, std::uint64_t sent) {
        print(log_,
              "%sRuns                    : %llu\n"
              "Message size            : %zu B\n"
              "Memory buffer           : 1\n"
              "Frequency               : %s\n"
              "Zero copy               : %s\n"
              "Messages sent           : %llu\n%s",
              ruler, static_cast<unsigned long long>(sent), payload_bytes, frequency().c_str(),
              zero_copy_ ? "ON" : "OFF", static_cast<unsigned long long>(sent), ruler);
    }

    void write_receiver(std::size_t payload_bytes, const Histogram& histogram) {
        print(log_, "%sMessages received             : %llu\n", ruler,
              static_cast<unsigned long long>(histogram.count()));
        if (histogram.count() > 0) write_statistics(payload_bytes, histogram);
        print(log_, "%s", ruler);
    }

    void write_statistics(std::size_t payload_bytes, const Histogram& histogram) {
        const OneWay latency = one_way(histogram, basis_);
        print(log_,
              "Message size received         : %zu kB\n"
              "Message average latency       : %lld us\n"
              "Message min latency           : %llu us @ %llu\n"
              "Message max latency           : %llu us @ %llu\n",
              payload_bytes / 1024, static_cast<long long>(latency.mean_us),
              static_cast<unsigned long long>(latency.min_us), static_cast<unsigned long long>(histogram.min_at()),
              static_cast<unsigned long long>(latency.max_us), static_cast<unsigned long long>(histogram.max_at()));
        const double seconds = latency.sum_us / 1e6;
        const auto messages = static_cast<double>(histogram.count());
        const double mebibytes = static_cast<double>(payload_bytes) * messages / 1024 / 1024;
        print(log_,
              "Throughput                    : %d MB/s\n"
              "                              : %d GB/s\n"
              "                              : %d kMsg/s\n",
              rate(mebibytes, seconds), rate(mebibytes / 1024, seconds), rate(messages / 1000, seconds));
    }

    /// Cut down to an int; on x86 one that does not fit becomes the smallest.
    static int rate(double amount, double seconds) {
        constexpr auto limits = std::numeric_limits<int>{};
        if (seconds <= 0 || amount / seconds > limits.max()) return limits.min();
        return static_cast<int>(amount / seconds);
    }

    std::string frequency() const {
        if (!rate_per_s_) return "as fast as possible   ";
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), "%g Hz", *rate_per_s_);
        return text.data();
    }

    std::ostream& log_;
    bool zero_copy_ = false;
    Basis basis_ = Basis::round_trip;
    std::optional<double> rate_per_s_;
};

std::unique_ptr<Reporter> make(std::ostream& log, std::ostream&) {
    return std::make_unique<Ecal>(log);
}

}  // namespace

extern const ReporterKind ecal{"ecal",    "the blocks of eCAL's latency samples, half round trips in whole us",
                               expresses, make,
                               false,     Several::nowhere,
                               true};

}  // namespace tacholog::reporters
