// The legacy text that RTI Perftest 2.4 prints without its interval lines: a summary line a size, latency at the
// publisher, throughput at the subscriber. Its latency is half a round trip in whole microseconds, each sample cut down
// by integer division before anything is computed from it; its Mbps are 10^6 bit/s of received payload. It always
// prints every percentile, however few the samples. Each line ends in the blank before the CPU load that it does not
// show.
#include <array>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "reporters/reporter.hpp"

namespace tacholog::reporters {
namespace {

constexpr std::uint64_t nanoseconds_per_microsecond = 1000;

/// Half of a round trip, as the tool computes it from its clock of whole microseconds.
std::uint64_t one_way_us(std::uint64_t round_trip_ns) {
    return round_trip_ns / nanoseconds_per_microsecond / 2;
}

struct Moments {
    double mean = 0;
    double deviation = 0;
};

Moments moments_us(const Histogram& histogram) {
    double count = 0;
    double sum = 0;
    for (const auto& bin : histogram.bins()) {
        count += static_cast<double>(bin.count);
        sum += static_cast<double>(bin.count) *
               static_cast<double>(one_way_us(std::min(bin.upper_ns, histogram.max_ns())));
    }
    if (count <= 0) return {};
    const double mean = sum / count;
    double squares = 0;
    for (const auto& bin : histogram.bins()) {
        const double off = static_cast<double>(one_way_us(std::min(bin.upper_ns, histogram.max_ns()))) - mean;
        squares += static_cast<double>(bin.count) * off * off;
    }
    return {mean, std::sqrt(squares / count)};
}

class Rti final : public Reporter {
public:
    Rti(std::ostream& log, std::ostream& chatter) : log_(log), chatter_(chatter) {}

    void write(const Config& config) override {
        const Options& options = config.options;
        const bool latency = options.test == Test::latency;
        chatter_ << "Mode: " << (latency ? "LATENCY TEST (Ping-Pong test)" : "THROUGHPUT TEST") << "\n\n"
                 << "Perftest Configuration:\n"
                 << "\tReliability: " << (config.reliability == "reliable" ? "Reliable" : "Best Effort") << '\n'
                 << "\tKeyed: No\n"
                 << "\tData Size: ";
        for (std::size_t at = 0; at < options.sizes.size(); ++at)
            chatter_ << (at == 0 ? "" : ", ") << options.sizes[at];
        chatter_ << "\n\tExecution time: " << static_cast<long>(options.duration_s) << " seconds\n\n"
                 << "Transport Configuration:\n"
                 << "\tKind: " << options.transport << "\n\n";
        chatter_.flush();
    }

    void write(const LatencyResult& result) override {
        const Histogram& histogram = *result.histogram;
        if (histogram.count() == 0) return;  // so does the tool
        const auto moments = moments_us(histogram);
        const auto quantile = [&](std::uint64_t millionths) {
            return static_cast<unsigned long>(one_way_us(histogram.value_at_rank(rank(histogram, millionths))));
        };
        std::array<char, 512> line{};
        std::snprintf(line.data(), line.size(),
                      "Length: %5zu  Latency: Ave %6.0f us  Std %6.1f us  Min %6lu us  Max %6lu us  50%% %6lu us"
                      "  90%% %6lu us  99%% %6lu us  99.99%% %6lu us  99.9999%% %6lu us ",
                      result.payload_bytes, moments.mean, moments.deviation,
                      static_cast<unsigned long>(one_way_us(histogram.min_ns())),
                      static_cast<unsigned long>(one_way_us(histogram.max_ns())), quantile(500'000), quantile(900'000),
                      quantile(990'000), quantile(999'900), quantile(999'999));
        put(line.data());
    }

    void write(const ThroughputResult& result) override {
        const double rate = result.rate_per_s().value_or(0);
        const double total = static_cast<double>(result.received) + static_cast<double>(result.faults.lost);
        const double percent = total > 0 ? static_cast<double>(result.faults.lost) * 100 / total : 0;
        std::array<char, 512> line{};
        std::snprintf(line.data(), line.size(),
                      "Length: %5zu  Packets: %8llu  Packets/s(ave): %7llu  Mbps(ave): %7.1f  Lost: %5llu (%1.2f%%) ",
                      result.payload_bytes, static_cast<unsigned long long>(result.received),
                      static_cast<unsigned long long>(rate), rate * static_cast<double>(result.payload_bytes) * 8 / 1e6,
                      static_cast<unsigned long long>(result.faults.lost), percent);
        put(line.data());
    }

    void write(const Note& note) override { chatter_ << note.text << std::endl; }
    void write(const Failure&) override {
    }  // perftest itself says it on standard error; the dialect has no words for it
    void write(const End&) override { chatter_ << "Finishing test...\nTest ended." << std::endl; }

private:
    /// The tool sorts its samples and takes the one at floor(count * percent), counted from 0.
    static std::uint64_t rank(const Histogram& histogram, std::uint64_t millionths) {
        return static_cast<std::uint64_t>(static_cast<Wide>(histogram.count()) * millionths / 1'000'000) + 1;
    }

    void put(const char* line) {
        log_ << line << '\n';
        log_.flush();
    }

    std::ostream& log_;
    std::ostream& chatter_;
};

std::unique_ptr<Reporter> make(std::ostream& log, std::ostream& chatter) {
    return std::make_unique<Rti>(log, chatter);
}

}  // namespace

extern const ReporterKind rti{"rti", "the legacy text of RTI Perftest 2.4: half round trips in whole us", make};

}  // namespace tacholog::reporters
