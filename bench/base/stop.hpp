// Stopping on request. SIGINT, SIGTERM, SIGHUP and SIGQUIT become readable on a descriptor, so that every wait can
// watch for them and the run ends in order, with an error line and an end line.
#pragma once

#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace tacholog {

class Stop {
public:
    /// Blocks these signals for this thread and those that it starts. Call before starting any. Where who started this
    /// program has it ignore SIGHUP or SIGQUIT, as nohup does, it goes on to.
    static Result<Stop> watch();

    /// Whether a signal waits that was blocked by watch(): for whoever has no Stop at hand.
    static bool is_pending();

    int descriptor() const { return fd_.get(); }
    bool requested() const;

    static Error error() { return Error{"stopped by a signal"}; }

private:
    explicit Stop(Fd fd) : fd_(std::move(fd)) {}
    Fd fd_;
};

}  // namespace tacholog
