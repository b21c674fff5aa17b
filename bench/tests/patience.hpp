// How long tests wait for what must come.
#pragma once

#include "base/clock.hpp"

namespace tacholog {

/// So long that a busy machine under a sanitizer is forgiven: a guard against hanging, which only a test that fails
/// waits out.
inline constexpr Patience plenty{300'000};

}  // namespace tacholog
