// Starts a second process on its own core, and measures latency and throughput between the two processes. The
// measurements of simple loops and of other libraries use this file.
#pragma once

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <new>
#include <vector>

#include "base/clock.hpp"
#include "transports/broadcast_ring.hpp"

namespace tacholog::perf {

inline void pin(int cpu) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu % static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)), &cpus);
    ::sched_setaffinity(0, sizeof cpus, &cpus);
}

/// The other process. It works until this object is destroyed.
class Peer {
public:
    template <typename Work>
    explicit Peer(Work&& work) : pid_(::fork()) {
        if (pid_ != 0) return;
        pin(1);
        while (true) work();
    }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;
    ~Peer() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }

private:
    pid_t pid_;
};

/// Half of the median round-trip time, or of another quantile (`share`). The clock is read once per round trip, as in
/// perftest.
template <typename RoundTrip>
double half_round_trip_ns(double seconds, RoundTrip&& round_trip, double share = 0.5) {
    constexpr std::size_t most_samples = 2'000'000;
    std::vector<Nanoseconds> samples;
    samples.reserve(most_samples);
    const Nanoseconds start = now_ns();
    const Nanoseconds warm = start + to_nanoseconds(seconds / 4);
    const Nanoseconds end = warm + to_nanoseconds(seconds);
    for (Nanoseconds last = start; last < end && samples.size() < most_samples;) {
        round_trip();
        const Nanoseconds now = now_ns();
        if (now > warm) samples.push_back(now - last);
        last = now;
    }
    const auto wanted = samples.begin() + static_cast<std::ptrdiff_t>(static_cast<double>(samples.size()) * share);
    std::nth_element(samples.begin(), wanted, samples.end());
    return static_cast<double>(*wanted) / 2;
}

/// The increase of `count` per second while `send` is called as fast as possible.
template <typename Send>
double rate_per_s(double seconds, const std::atomic<std::uint64_t>& count, Send&& send) {
    const auto run = [&](double duration_s) {
        const Nanoseconds start = now_ns();
        const Nanoseconds end = start + to_nanoseconds(duration_s);
        const std::uint64_t before = count.load();
        Nanoseconds now = start;
        for (int sent = 0; now < end; ++sent) {
            send();
            if (sent % 16 == 0) now = now_ns();
        }
        return static_cast<double>(count.load() - before) * 1e9 / static_cast<double>(now - start);
    };
    run(seconds / 4);
    return run(seconds);
}

/// Zeroed memory that both processes share.
class Shared {
public:
    explicit Shared(std::size_t bytes) : mapping_(std::move(*Mapping::map(-1, bytes))) {}
    std::byte* at(std::size_t offset) const { return mapping_.start() + offset; }
    std::atomic<std::uint64_t>& word(std::size_t line) const {
        return *std::launder(reinterpret_cast<std::atomic<std::uint64_t>*>(at(line * cache_line)));
    }

private:
    Mapping mapping_;
};

}  // namespace tacholog::perf
