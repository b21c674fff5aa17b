// What this program was built from and how. Written by CMake at every build.
#pragma once

#include "reporters/events.hpp"

namespace tacholog {

Build build_info();

}  // namespace tacholog
