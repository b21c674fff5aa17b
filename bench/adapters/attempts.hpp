// How adapters wait for libraries whose calls return at once: they try again and again, or sleep until the library's
// socket says that something has come, or the one for a while and then the other.
#pragma once

#include <poll.h>

#include <utility>

#include "base/result.hpp"
#include "base/waiting.hpp"

namespace tacholog {

/// Tries until it succeeds or fails for good. Not yet done if it could not within `patience`. `sleep(time_ns)` sleeps
/// until trying is worth it, and for no longer than this.
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

/// Sleeps until a descriptor has one of these events, or the time is over. Whether it has.
inline bool sleep_until_ready(int descriptor, int events, Nanoseconds longest_ns) {
    pollfd watched{descriptor, static_cast<short>(events), 0};
    const timespec time{longest_ns / nanoseconds_per_second, longest_ns % nanoseconds_per_second};
    return ::ppoll(&watched, 1, &time, nullptr) > 0;
}

}  // namespace tacholog
