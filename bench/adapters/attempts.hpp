// How adapters wait for libraries with non-blocking calls. There are three ways: repeat the call, sleep until the
// socket of the library is ready, or repeat for a while and then sleep.
#pragma once

#include <poll.h>

#include <utility>

#include "base/result.hpp"
#include "base/waiting.hpp"

namespace tacholog {

/// Returns not_yet if the attempt neither succeeds nor fails within `patience`. `sleep(time_ns)` sleeps until another
/// attempt can succeed, but not longer than `time_ns`.
template <typename Attempt, typename Sleep>
Result<Done> try_for(Patience patience, Waiting waiting, Attempt&& attempt, Sleep&& sleep) {
    Result<Done> done = attempt();
    for (BusyPoll poll{patience, waiting}; is_not_yet_done(done) && poll.wait();) done = attempt();
    if (!is_not_yet_done(done) || !sleeps(waiting)) return done;
    const Nanoseconds deadline = now_ns() + to_nanoseconds(patience);
    for (Nanoseconds left = to_nanoseconds(patience); is_not_yet_done(done) && left > 0; left = deadline - now_ns()) {
        sleep(left);
        done = attempt();
    }
    return done;
}

/// Returns false if none of the events happens on the descriptor within this time.
inline bool sleep_until_ready(int descriptor, int events, Nanoseconds longest_ns) {
    pollfd watched{descriptor, static_cast<short>(events), 0};
    const timespec time{longest_ns / nanoseconds_per_second, longest_ns % nanoseconds_per_second};
    return ::ppoll(&watched, 1, &time, nullptr) > 0;
}

}  // namespace tacholog
