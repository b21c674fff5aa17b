// Lets a process exit without shutting down its libraries. The shutdown of some libraries blocks or crashes if a peer
// has died.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace tacholog {

/// After this call, the exit of this process runs no destructors of static objects, including those of libraries.
/// `before`, if given, is called first at the exit. If this function is called several times, only the first `before`
/// is used.
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
