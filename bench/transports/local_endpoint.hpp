// How two processes of one host meet over a local socket. Everybody on the host can read its name and connect to it
// (/proc/net/unix shows names in the abstract namespace to all), so each side checks the other before it hands anything
// over: the user, which the kernel knows (SO_PEERCRED), and a token that travels over the control channel alone. There
// are two tokens: the publisher sends the first, the subscriber answers with the second. So neither side can
// learn from the other the token that it is asked for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace tacholog {

/// Where a publisher connects to, as text over the control channel: "name/1234/5678".
struct LocalEndpoint {
    std::string name;
    std::uint64_t client_token = 0;
    std::uint64_t server_token = 0;

    std::string text() const { return name + "/" + std::to_string(client_token) + "/" + std::to_string(server_token); }
};

std::optional<LocalEndpoint> parse_local_endpoint(std::string_view text);

/// Accepts the publisher at the subscriber's local endpoint. A thread of its own waits for it, so that a publisher need
/// not wait until the subscriber has time. It reads from all connections side by side, so that no stranger delays it.
class LocalAcceptor {
public:
    static Result<std::unique_ptr<LocalAcceptor>> open(const std::string& name);

    LocalAcceptor(const LocalAcceptor&) = delete;
    LocalAcceptor& operator=(const LocalAcceptor&) = delete;
    ~LocalAcceptor();

    std::string endpoint() const { return endpoint_.text(); }

    /// The connection to the publisher; none if it has not come within `patience`.
    Result<Fd> wait(Patience patience);

private:
    LocalAcceptor(Fd listener, Fd closing, LocalEndpoint where);
    void watch();
    bool admit(Fd& connection);

    Fd listener_;
    Fd closing_;  ///< readable once nobody is to be accepted any more
    LocalEndpoint endpoint_;
    std::mutex mutex_;
    std::condition_variable came_;
    Fd publisher_;
    std::thread thread_;
};

/// A publisher's connection to the subscriber at this endpoint. Waits for the subscriber's token, which comes at once
/// or never.
Result<Fd> connect_to_local(std::string_view endpoint);

}  // namespace tacholog
