// The subscribers of one publisher: how many there are, and how one that is slower than the others is treated.
#pragma once

#include <cstddef>

namespace tacholog {

enum class SlowSubscriber {
    block,  ///< the publisher waits for it, and so do the others
    drop,   ///< a message that it has no room for is dropped for it alone, and counted
};

struct Audience {
    std::size_t subscribers = 1;
    SlowSubscriber slow = SlowSubscriber::block;
};

inline constexpr std::size_t most_subscribers = 64;
inline constexpr std::size_t most_publishers = 16;

}  // namespace tacholog
