// One direction of a bad network, for tests: it loses, duplicates and reorders datagrams. A fixed seed decides which.
#pragma once

#include <atomic>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace tacholog {

using Datagram = std::vector<char>;

/// The shares of datagrams that are lost, duplicated or reordered.
struct LineFaults {
    double lost;
    double doubled;
    double overtaken;
};

class BadLine {
public:
    BadLine(LineFaults faults, std::uint32_t seed) : faults_(faults), random_(seed) {}

    /// Calls `deliver` once, twice, or not at all, or holds the datagram back until the next one has overtaken it.
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

    /// Delivers the datagram that is held back. This is called after the next datagram, or when no other has arrived
    /// for a while.
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
