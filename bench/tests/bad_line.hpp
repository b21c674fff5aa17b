// One direction of a bad network, for tests: it loses, doubles and reorders datagrams, from a fixed seed.
#pragma once

#include <atomic>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace tacholog {

using Datagram = std::vector<char>;

/// Shares of the datagrams.
struct LineFaults {
    double lost;
    double doubled;
    double overtaken;
};

class BadLine {
public:
    BadLine(LineFaults faults, std::uint32_t seed) : faults_(faults), random_(seed) {}

    /// Hands to `deliver` what becomes of this datagram: nothing, it, it twice, or it and one that it has overtaken.
    template <typename Deliver>
    void carry(Datagram datagram, Deliver&& deliver) {
        if (chance(faults_.lost)) {
            ++lost_;
            return;
        }
        if (chance(faults_.doubled)) deliver(datagram);
        if (held_.empty() && chance(faults_.overtaken)) {
            held_ = std::move(datagram);
            return;
        }
        deliver(datagram);
        flush(deliver);
    }

    /// What is held back is overtaken by the next that comes, or goes once nothing does.
    template <typename Deliver>
    void flush(Deliver&& deliver) {
        if (!held_.empty()) deliver(std::exchange(held_, {}));
    }

    std::uint64_t lost() const { return lost_; }

private:
    bool chance(double probability) { return std::uniform_real_distribution<>{}(random_) < probability; }

    LineFaults faults_;
    std::mt19937 random_;
    Datagram held_;
    std::atomic<std::uint64_t> lost_ = 0;
};

}  // namespace tacholog
