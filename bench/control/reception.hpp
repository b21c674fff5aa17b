// Admission at the control port. Anybody may connect there: a port scan, a browser, a subscriber with other options.
// All are heard side by side, so that none of them holds up the true subscribers. The connection of any other is
// closed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "control/control.hpp"
#include "reporters/log.hpp"

namespace tacholog {

/// Connections that did not come from a subscriber of this run. They are closed, and the log says so.
class Strangers {
public:
    void let_go(const Error& reason);

    void tell(Log& log) const;

    /// ": 2 connections were no subscriber's, ..."; nothing if there were none.
    std::string summary() const;

private:
    std::size_t count_ = 0;
    std::string last_;
};

class Reception {
public:
    /// `secret` is what true subscribers know (0: nothing). `hopeless` says whether one of them can no longer come.
    Reception(const Options& options, const Listener& listener, const Stop& stop, std::uint64_t secret,
              std::function<bool()> hopeless);

    /// Lets in as many subscribers as there are to be, in the order of their names. `joined` are those that came, also
    /// if that was not enough.
    Result<void> gather(std::vector<Control>& joined);

    const Strangers& strangers() const { return strangers_; }

private:
    struct Member {
        std::size_t place;
        Control control;
    };

    Result<void> wait_for_all();
    Result<void> accept_new();
    /// True if it is done with: let in, or let go.
    bool heard(Control& guest);
    void answer(Control& guest, const Frame& hello);
    Error nobody_came() const;

    const Options& options_;
    const Listener& listener_;
    const Stop& stop_;
    std::uint64_t secret_;
    std::function<bool()> hopeless_;
    std::string agreement_;
    std::vector<std::size_t> places_;  ///< that are free
    bool accepts_ = true;              ///< else there are no descriptors for those who wait
    std::vector<Control> guests_;      ///< who have not said enough yet, the oldest first
    std::vector<Member> members_;
    Strangers strangers_;
};

/// What a subscriber is called, where there are several.
std::string name_of_subscriber(const Options& options, std::size_t place);

}  // namespace tacholog
