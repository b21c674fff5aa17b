// How long tests wait for an event that must happen.
#pragma once

#include "base/clock.hpp"

namespace tacholog {

/// Long enough for a busy machine under a sanitizer. It only prevents a hang, so only a failing test waits this long.
inline constexpr Patience plenty{300'000};

}  // namespace tacholog
