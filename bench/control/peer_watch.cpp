#include "control/peer_watch.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace tacholog {

PeerWatch::PeerWatch(std::span<const Control> peers, std::function<void(const std::string& peer)> give_up)
    : peers_(peers), give_up_(std::move(give_up)), over_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    // Without a descriptor, the peers are not watched. If a call of the library then hangs, this side hangs too.
    if (over_) thread_ = std::thread{[this] { work(); }};
}

PeerWatch::~PeerWatch() {
    while (is_decided_.exchange(true)) ::pause();
    if (!thread_.joinable()) return;
    static_cast<void>(::eventfd_write(over_.get(), 1));
    thread_.join();
}

void PeerWatch::work() {
    constexpr int to_come_back_ms = 3000;
    ::pthread_setname_np(::pthread_self(), "rig-peer-watch");
    std::vector<pollfd> watched{{over_.get(), POLLIN, 0}};
    for (const Control& peer : peers_) watched.push_back({peer.descriptor(), POLLRDHUP, 0});
    const auto is_gone = [](const pollfd& one) { return (one.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0; };
    auto gone = watched.end();
    while (gone == watched.end()) {
        if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) return;
        if (watched.front().revents != 0) return;
        gone = std::find_if(watched.begin() + 1, watched.end(), is_gone);
    }
    hung_up_ = true;
    int came = 0;
    do came = ::poll(watched.data(), 1, to_come_back_ms);
    while (came < 0 && errno == EINTR);
    if (came == 0 && !is_decided_.exchange(true))
        give_up_(peers_[static_cast<std::size_t>(gone - watched.begin()) - 1].peer());
}

}  // namespace tacholog
