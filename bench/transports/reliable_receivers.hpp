// What the publisher of reliable UDP knows about its subscribers, and how far it may send. The slowest subscriber sets
// the pace. A subscriber that was left behind does not count until it has caught up. If all are left behind, the
// fastest one sets the pace, because otherwise nobody would receive anything.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/address.hpp"
#include "base/audience.hpp"
#include "transports/reliable_wire.hpp"

namespace tacholog::reliable {

struct Receiver {
    std::uint64_t token = 0;         ///< identifies the subscriber; each answer begins with it
    Address address;                 ///< at which the subscriber is invited
    std::string name;                ///< for error messages
    std::uint64_t window = 0;        ///< packets that the subscriber can accept, as it has announced
    std::uint64_t acknowledged = 0;  ///< all packets before this one were received or skipped
    std::uint64_t released = 0;      ///< messages that it has released
    std::uint64_t skipped = 0;       ///< messages that it has skipped
    Nanoseconds round_trip_ns = millisecond_ns;
    Nanoseconds last_heard_ns = 0;
    bool heard = false;  ///< the subscriber has answered at least once
    bool gone = false;
    bool slow = false;

    bool owes(std::uint64_t packets, std::uint64_t messages) const {
        return !gone && (acknowledged < packets || released < messages);
    }
};

class Receivers {
public:
    Receivers(std::vector<Receiver> all, SlowSubscriber slow) : all_(std::move(all)), slow_(slow) { update(); }

    std::vector<Receiver>& all() { return all_; }
    const std::vector<Receiver>& all() const { return all_; }
    bool leaves_behind() const { return slow_ == SlowSubscriber::drop; }

    Receiver* find(std::uint64_t token) {
        const auto found =
            std::find_if(all_.begin(), all_.end(), [token](const Receiver& one) { return one.token == token; });
        return found == all_.end() ? nullptr : &*found;
    }

    /// The number of messages that were released by all subscribers that the publisher waits for.
    std::uint64_t released() const { return released_; }
    /// Returns the first sequence number that may not be sent yet.
    std::uint64_t limit() const { return limit_; }

    bool all_heard() const {
        return std::all_of(all_.begin(), all_.end(), [](const Receiver& one) { return one.heard || one.gone; });
    }
    bool all_gone() const { return std::all_of(all_.begin(), all_.end(), is_gone); }

    /// Returns a subscriber whose loss ends the run, or null. If the publisher waits for all, this is any subscriber
    /// that is gone. Otherwise the run ends only if all are gone.
    const Receiver* missed() const {
        const auto gone = std::find_if(all_.begin(), all_.end(), is_gone);
        if (gone == all_.end() || (leaves_behind() && !all_gone())) return nullptr;
        return &*gone;
    }

    bool owe(std::uint64_t packets, std::uint64_t messages) const {
        return std::any_of(all_.begin(), all_.end(), [&](const Receiver& one) { return one.owes(packets, messages); });
    }

    void leave_slowest_behind() {
        for (Receiver& one : all_) one.slow = one.slow || one.released == released_;
        update();
    }

    /// Call this after any change of a receiver.
    void update() {
        const Receiver* furthest = nullptr;
        std::optional<std::uint64_t> released;
        std::optional<std::uint64_t> limit;
        for (const Receiver& one : all_) {
            if (one.gone) continue;
            if (furthest == nullptr || one.released > furthest->released) furthest = &one;
            if (one.slow) continue;
            released = std::min(released.value_or(one.released), one.released);
            limit = std::min(limit.value_or(limit_of(one)), limit_of(one));
        }
        if (furthest == nullptr) return;
        released_ = released.value_or(furthest->released);
        limit_ = limit.value_or(limit_of(*furthest));
        for (Receiver& one : all_) one.slow = one.slow && one.released < released_;
    }

private:
    static bool is_gone(const Receiver& one) { return one.gone; }
    static std::uint64_t limit_of(const Receiver& one) { return one.acknowledged + one.window; }

    std::vector<Receiver> all_;
    SlowSubscriber slow_;
    std::uint64_t released_ = 0;
    std::uint64_t limit_ = 0;
};

}  // namespace tacholog::reliable
