// Accepts the subscribers of a run at the control port. Anything may connect there: a port scan, a browser, a
// subscriber with other options. The publisher reads from all connections side by side, so that none of them delays the
// subscribers of this run, and closes all other connections.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "control/control.hpp"
#include "reporters/log.hpp"

namespace tacholog {

/// Counts the connections that did not come from a subscriber of this run. They are closed, and the log says so.
class RejectedConnections {
public:
    void add(const Error& reason);

    void tell(Log& log) const;

    /// A text for error messages: ": 2 connections were no subscriber's, ..."; empty if there were none.
    std::string summary() const;

private:
    std::size_t count_ = 0;
    std::string last_;
};

class SubscriberAcceptor {
public:
    /// `secret` is known only to the subscribers of this run (0: there is no secret). `cannot_complete` returns true
    /// when a missing subscriber can no longer come.
    SubscriberAcceptor(const Options& options, const Listener& listener, const Stop& stop, std::uint64_t secret,
                       std::function<bool()> cannot_complete);

    /// Waits for all subscribers of the run, and adds their connections to `joined` in the order of their names.
    /// Returns an error if a subscriber is missing. In this case, `joined` contains the subscribers that have come.
    Result<void> accept_all(std::vector<Control>& joined);

    const RejectedConnections& rejected() const { return rejected_; }

private:
    struct Accepted {
        std::size_t number;
        Control control;
    };

    Result<void> wait_for_all();
    Result<void> accept_new();
    /// Returns true if the connection was accepted or rejected.
    bool is_decided(Control& connection);
    void answer(Control& connection, const Frame& hello);
    Error nobody_came() const;

    const Options& options_;
    const Listener& listener_;
    const Stop& stop_;
    std::uint64_t secret_;
    std::function<bool()> cannot_complete_;
    std::string agreement_;
    std::vector<std::size_t> free_numbers_;  ///< of the subscribers that have not come yet
    bool has_room_ = true;                   ///< this process has free descriptors for new connections
    std::vector<Control> pending_;           ///< connections that have not sent a complete frame yet, the oldest first
    std::vector<Accepted> accepted_;
    RejectedConnections rejected_;
};

/// The name is empty if there is only one subscriber.
std::string name_of_subscriber(const Options& options, std::size_t number);

}  // namespace tacholog
