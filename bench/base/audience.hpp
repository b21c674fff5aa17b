// The subscribers of one publisher: how many there are, and what happens if one is slower than the others.
#pragma once

#include <cstddef>

namespace tacholog {

enum class SlowSubscriber {
    block,  ///< the publisher waits for the slow subscriber, and so do the other subscribers
    drop,   ///< if the queue of the slow subscriber is full, a message is dropped for this subscriber only, and counted
};

struct Audience {
    std::size_t subscribers = 1;
    SlowSubscriber slow = SlowSubscriber::block;
};

inline constexpr std::size_t most_subscribers = 64;
inline constexpr std::size_t most_publishers = 16;

}  // namespace tacholog
