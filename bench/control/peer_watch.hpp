// Ends this process if a call of a library does not return because the other side has died, for example while it held a
// lock in shared memory. The error output states the reason.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "control/control.hpp"

namespace tacholog {

/// A thread that sleeps until a peer disconnects. If this object still exists three seconds later, the thread assumes
/// that a call of the library hangs.
class PeerWatch {
public:
    /// `give_up` is called on the watching thread, with the peer's name. It must not return.
    PeerWatch(std::span<const Control> peers, std::function<void(const std::string& peer)> give_up);
    /// Returns true if any watched peer has disconnected since this process began.
    static bool somebody_has_hung_up() { return hung_up_; }

    PeerWatch(const PeerWatch&) = delete;
    PeerWatch& operator=(const PeerWatch&) = delete;
    /// Does not return if `give_up` has been called: the process is about to end.
    ~PeerWatch();

private:
    void work();

    // This is defined here, because adapters include no other header of control/.
    static inline std::atomic<bool> hung_up_{false};
    std::span<const Control> peers_;
    std::function<void(const std::string& peer)> give_up_;
    Fd over_;
    std::atomic<bool> is_decided_{false};
    std::thread thread_;
};

}  // namespace tacholog
