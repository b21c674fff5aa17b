// How two processes of one host connect over a local socket. /proc/net/unix lists all names in the abstract namespace,
// so every process on the host can read the name of the socket and connect to it. Therefore each side checks the other
// before it sends anything else. It checks the user, which the kernel knows (SO_PEERCRED), and a token that is sent
// over the control channel only. There are two tokens: the publisher sends the first one, and the subscriber answers
// with the second one. So a process that pretends to be one side never receives the token that this side must send.
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

/// The endpoint at which a subscriber waits for a publisher on this machine. The control channel carries the endpoint
/// as text, for example "name/1234/5678".
struct LocalEndpoint {
    std::string name;
    std::uint64_t client_token = 0;
    std::uint64_t server_token = 0;

    std::string text() const { return name + "/" + std::to_string(client_token) + "/" + std::to_string(server_token); }
};

std::optional<LocalEndpoint> parse_local_endpoint(std::string_view text);

/// Accepts the publisher in a separate thread, so that a publisher can connect even while the subscriber is busy. The
/// thread reads from all connections at the same time, so that other connections cannot delay it.
class LocalAcceptor {
public:
    static Result<std::unique_ptr<LocalAcceptor>> open(const std::string& name);

    LocalAcceptor(const LocalAcceptor&) = delete;
    LocalAcceptor& operator=(const LocalAcceptor&) = delete;
    ~LocalAcceptor();

    std::string endpoint() const { return endpoint_.text(); }

    /// Returns an invalid descriptor if the publisher has not connected within `patience`.
    Result<Fd> wait(Patience patience);

private:
    LocalAcceptor(Fd listener, Fd closing, LocalEndpoint where);
    void watch();
    bool admit(Fd& connection);

    Fd listener_;
    Fd closing_;  ///< becomes readable when the thread must stop accepting
    LocalEndpoint endpoint_;
    std::mutex mutex_;
    std::condition_variable came_;
    Fd publisher_;
    std::thread thread_;
};

/// Waits for the token of the subscriber, which arrives quickly or not at all.
Result<Fd> connect_to_local(std::string_view endpoint);

}  // namespace tacholog
