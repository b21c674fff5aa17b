// How long tests wait for what must come.
#pragma once

#include "core/clock.hpp"

namespace tacholog {

/// So long that a busy machine under a sanitizer is forgiven: only a test that fails waits it out.
inline constexpr Patience plenty{60000};

}  // namespace tacholog
