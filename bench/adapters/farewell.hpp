// For libraries that take their leave when the process ends, and wait or crash there if somebody has died.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace tacholog {

/// From now on this process ends without the destructors of static objects, those of libraries among them. `before` is
/// called first, if there is one; the first caller's stays.
inline void end_without_farewell(void (*before)() = nullptr) {
    static void (*first)() = before;
    static const int registered = ::on_exit(
        [](int status, void*) {
            if (first != nullptr) first();
            std::fflush(nullptr);
            ::_exit(status);
        },
        nullptr);
    static_cast<void>(registered);
}

}  // namespace tacholog
