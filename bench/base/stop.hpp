// Stopping on request. A descriptor becomes readable when SIGINT, SIGTERM, SIGHUP or SIGQUIT arrives. Every wait can
// therefore watch for these signals, and the run ends cleanly, with an error line and an end line.
#pragma once

#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace tacholog {

class Stop {
public:
    /// Blocks these signals for this thread and for the threads that it starts later, so call it before starting any.
    /// SIGHUP and SIGQUIT stay ignored if they were ignored when this program was started, for example by nohup.
    static Result<Stop> watch();

    /// Returns whether one of these signals has arrived. Code that has no Stop object uses this.
    static bool is_pending();

    int descriptor() const { return fd_.get(); }
    bool requested() const;

    static Error error() { return Error{"stopped by a signal"}; }

private:
    explicit Stop(Fd fd) : fd_(std::move(fd)) {}
    Fd fd_;
};

}  // namespace tacholog
