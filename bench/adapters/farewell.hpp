// Lets a process exit without shutting down its libraries. The shutdown of some libraries blocks or crashes if a peer
// has died.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace tacholog {

/// From now on, this process exits without running the destructors of static objects, including those of libraries. If
/// `before` is given, the process calls it first when it exits. After the first call of this function, further values
/// of `before` are ignored.
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
