// The pace of a demand test: a burst as fast as it goes; then, if it took less than the recovery time, a rest.
#pragma once

#include "base/case.hpp"

namespace tacholog {

class Bursts {
public:
    explicit Bursts(Demand demand) : demand_(demand) {}

    /// How many messages may be sent now. Begins the next burst if its time has come.
    std::uint64_t due(Nanoseconds now) {
        if (left_ == 0 && now >= next_ns_) {
            left_ = demand_.messages;
            next_ns_ = now + demand_.recovery_ns;
        }
        return left_;
    }

    /// At most as many as were due have been sent.
    void sent(std::uint64_t messages) { left_ -= messages; }

    bool unfinished() const { return left_ > 0; }
    Nanoseconds next_ns() const { return next_ns_; }  ///< the next burst may begin then

private:
    Demand demand_;
    std::uint64_t left_ = 0;
    Nanoseconds next_ns_ = 0;
};

}  // namespace tacholog
