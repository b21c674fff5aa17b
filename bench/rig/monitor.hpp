// The rig's own work during a phase. A second thread watches the control channel, takes the intervals that the
// measuring thread hands over, and writes and sends them. So the measuring thread makes no system calls for the rig.
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
    /// The tasks of the monitor's thread during a phase.
    struct Duty {
        /// Called with each frame that arrives; an error ends the phase. Empty: no frame is expected.
        std::function<Result<void>(const Frame&, std::size_t who)> heard;
        std::function<Result<void>()> collect;  ///< reports the records that were handed over; empty: there are none
        /// If false, the caller calls `collect` after the phase.
        bool live = true;
        bool alive = false;  ///< whether to send `alive` frames to the peers
    };

    Monitor(std::span<Control> peers, Placement placement, Patience limit);
    Monitor(const Monitor&) = delete;
    Monitor& operator=(const Monitor&) = delete;
    ~Monitor();

    /// After this call, only the monitor uses the control channel and the log. One exception: until the first record is
    /// handed over, the caller may still send a frame.
    void begin(Duty duty);
    /// After this call, the caller uses the control channel and the log again. Does nothing if no phase was begun.
    void end();

    /// Returns whether the run must end. There are three possible reasons: a peer has disconnected or given up; a
    /// signal has arrived; results cannot be reported. Measuring threads call this function and `fine`, which returns
    /// the reason as an error.
    bool trouble() const { return trouble_.load(std::memory_order_acquire); }
    Result<void> fine() const {
        if (!trouble()) [[likely]]
            return {};
        return *error_;
    }
    /// The number of received frames. It grows while the peer is working.
    std::uint64_t frames() const { return frames_.load(std::memory_order_relaxed); }

    /// Returns the reason for the end of the run if a peer has sent one, otherwise `error`. The monitor may have
    /// received the frame with the reason during a phase, so it is no longer in the channel.
    Error explained(Error error) const;

    /// `alive` frames are sent so often that the peer does not time out.
    Nanoseconds alive_every_ns() const { return alive_every_ns_; }

    /// The resources that the monitor's thread has used until the end of the last phase.
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

/// Makes the monitor stop before the objects that it uses are destroyed.
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
