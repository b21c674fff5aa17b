// For libraries that wait for ever when the other side has died, for a lock in shared memory that it held: this process
// then ends all the same, and says why.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "control/control.hpp"

namespace tacholog {

/// While it lives, a thread of it sleeps until a peer hangs up. If this object still lives three seconds later, nobody
/// is coming back to destroy it.
class PeerWatch {
public:
    /// `give_up` is called on the thread, with the peer's name. It does not return.
    PeerWatch(std::span<const Control> peers, std::function<void(const std::string& peer)> give_up);
    /// Whether a peer that was watched has hung up, ever since this process began.
    static bool somebody_has_hung_up() { return hung_up_; }

    PeerWatch(const PeerWatch&) = delete;
    PeerWatch& operator=(const PeerWatch&) = delete;
    /// Waits for ever if `give_up` has been called meanwhile: the process is about to end.
    ~PeerWatch();

private:
    void work();

    static inline std::atomic<bool> hung_up_{false};  // here, because adapters know this header alone
    std::span<const Control> peers_;
    std::function<void(const std::string& peer)> give_up_;
    Fd over_;
    std::atomic<bool> is_decided_{false};
    std::thread thread_;
};

}  // namespace tacholog
