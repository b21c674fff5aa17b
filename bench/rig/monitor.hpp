// The rig's own work while a phase is measured. A thread beside the measuring one watches the control channel, takes
// the intervals that are handed to it, and writes and sends them. So the measuring thread makes no system call for the
// rig.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <span>
#include <thread>

#include "control/control.hpp"
#include "machine/placement.hpp"
#include "reporters/events.hpp"

namespace tacholog {

class Monitor {
public:
    /// The work of the monitor's thread while a phase lasts.
    struct Duty {
        /// Of each frame that comes; an error ends the phase. Nothing: no frame is due.
        std::function<Result<void>(const Frame&, std::size_t who)> heard;
        std::function<Result<void>()> collect;  ///< takes what was handed over; may be nothing
        bool live = true;    ///< whether to collect while the phase lasts; else it is the caller's, after it
        bool alive = false;  ///< whether to tell the peers now and then that this side is at work
    };

    Monitor(std::span<Control> peers, Placement placement, Patience limit);
    Monitor(const Monitor&) = delete;
    Monitor& operator=(const Monitor&) = delete;
    ~Monitor();

    /// From here on only the monitor uses the control channel and the log. (The caller may still send a frame before it
    /// hands anything over.)
    void begin(Duty duty);
    /// From here on the caller uses them again. Does nothing if no phase was begun.
    void end();

    /// For measuring threads: an error if a peer is gone or gave up, a signal has come, or what was found cannot be
    /// told.
    bool trouble() const { return trouble_.load(std::memory_order_acquire); }
    Result<void> fine() const {
        if (!trouble()) [[likely]]
            return {};
        return *error_;
    }
    /// How many frames have come: more than before says that the peer is at work.
    std::uint64_t frames() const { return frames_.load(std::memory_order_relaxed); }

    /// Why the run is over, if a peer has said so while a phase lasted: its word is gone from the channel.
    Error explained(Error error) const;

    /// How often a peer is to hear that this side is at work, so that it does not give up.
    Nanoseconds alive_every_ns() const { return alive_every_ns_; }

    /// What its thread has used of the machine until the last phase's end.
    const Resources& used() const { return used_; }

private:
    enum class State { starting, idle, watching, over };

    void work();
    void watch();
    bool attend(Nanoseconds& next_alive_ns);
    Result<bool> look(Nanoseconds& next_alive_ns);
    Result<bool> listen();
    Result<void> tell_alive();
    void rest(Nanoseconds limit_ns);
    void fail(Error error);

    std::span<Control> peers_;
    Placement placement_;
    Nanoseconds alive_every_ns_;
    Fd wake_;
    Duty duty_;
    Resources used_;
    std::mutex mutex_;
    std::condition_variable changed_;
    State state_ = State::starting;
    std::optional<Error> error_;  ///< written once, before trouble_ is set
    std::atomic<bool> asked_to_end_{false};
    alignas(64) std::atomic<bool> trouble_{false};
    std::atomic<std::uint64_t> frames_{0};
    alignas(64) std::thread thread_;
};

/// Ends the monitor's work before the objects are destroyed that its duty refers to.
class MonitorGuard {
public:
    explicit MonitorGuard(Monitor& monitor) : monitor_(monitor) {}
    MonitorGuard(const MonitorGuard&) = delete;
    MonitorGuard& operator=(const MonitorGuard&) = delete;
    ~MonitorGuard() { monitor_.end(); }

private:
    Monitor& monitor_;
};

}  // namespace tacholog
