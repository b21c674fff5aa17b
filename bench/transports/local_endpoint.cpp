#include "transports/local_endpoint.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "base/text.hpp"
#include "transports/ip_endpoint.hpp"
#include "transports/local_socket.hpp"

namespace tacholog {
namespace {

constexpr std::uint64_t password_magic = 0x31304B4C4F4F4454;  // the value differs between versions of perftest

/// Each side sends this to identify itself to the other side.
struct Password {
    std::uint64_t magic = password_magic;
    std::uint64_t token = 0;
};

/// The largest number of connections that have not sent their token yet. If there are more, the oldest is closed.
constexpr std::size_t most_pending = 32;

/// Processes of other users are rejected. Root is accepted, because it can access every process anyway.
bool is_own_user(const Fd& socket) {
    ucred peer{};
    socklen_t length = sizeof peer;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
    return peer.uid == ::geteuid() || peer.uid == 0;
}

bool say(const Fd& socket, std::uint64_t token) {
    const Password password{password_magic, token};
    return ::send(socket.get(), &password, sizeof password, MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(sizeof password);
}

bool says(const Fd& socket, std::uint64_t token) {
    Password password{};
    const auto received = ::recv(socket.get(), &password, sizeof password, MSG_DONTWAIT);
    return received == static_cast<ssize_t>(sizeof password) && password.magic == password_magic &&
           password.token == token;
}

}  // namespace

std::optional<LocalEndpoint> parse_local_endpoint(std::string_view text) {
    const auto parts = split(text, '/');
    if (parts.size() != 3 || parts[0].empty()) return std::nullopt;
    const auto client_token = to_number<std::uint64_t>(parts[1]);
    const auto server_token = to_number<std::uint64_t>(parts[2]);
    if (!client_token || !server_token) return std::nullopt;
    return LocalEndpoint{std::string{parts[0]}, *client_token, *server_token};
}

Result<std::unique_ptr<LocalAcceptor>> LocalAcceptor::open(const std::string& name) {
    auto listener = listen_locally(name);
    if (!listener) return listener.error();
    Fd closing{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (!closing) return os_error("listen at @" + name);
    const LocalEndpoint where{name, new_token(), new_token()};
    return std::unique_ptr<LocalAcceptor>{new LocalAcceptor{std::move(*listener), std::move(closing), where}};
}

LocalAcceptor::LocalAcceptor(Fd listener, Fd closing, LocalEndpoint where)
    : listener_(std::move(listener)),
      closing_(std::move(closing)),
      endpoint_(std::move(where)),
      thread_([this] { watch(); }) {}

LocalAcceptor::~LocalAcceptor() {
    const std::uint64_t one = 1;
    static_cast<void>(::write(closing_.get(), &one, sizeof one));
    if (thread_.joinable()) thread_.join();
}

Result<Fd> LocalAcceptor::wait(Patience patience) {
    std::unique_lock lock{mutex_};
    came_.wait_for(lock, patience, [this] { return static_cast<bool>(publisher_); });
    if (!publisher_) return Fd{};
    lock.unlock();
    thread_.join();  // the thread must have ended before a measurement begins
    return std::move(publisher_);
}

void LocalAcceptor::watch() {
    // If accepting fails, for example without free descriptors or memory, the next attempt follows after this time.
    constexpr int try_again_ms = 50;
    std::vector<Fd> pending;
    bool accepts = true;
    while (true) {
        std::vector<pollfd> watched{{closing_.get(), POLLIN, 0}, {accepts ? listener_.get() : -1, POLLIN, 0}};
        for (const Fd& connection : pending) watched.push_back({connection.get(), POLLIN, 0});
        const int ready = ::poll(watched.data(), watched.size(), accepts ? -1 : try_again_ms);
        if (ready < 0 && errno != EINTR) sleep_until(now_ns() + to_nanoseconds(Patience{try_again_ms}));
        accepts = true;
        if (ready <= 0) continue;
        if (watched[0].revents != 0) return;
        for (std::size_t at = 0; at < pending.size(); ++at) {
            if (watched[at + 2].revents == 0) continue;
            if (admit(pending[at])) return;
            pending[at] = Fd{};
        }
        std::erase_if(pending, [](const Fd& connection) { return !connection; });
        if (watched[1].revents == 0) continue;
        Fd connection{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
        accepts = static_cast<bool>(connection);
        if (!connection || !is_own_user(connection)) continue;
        pending.push_back(std::move(connection));
        if (pending.size() > most_pending) pending.erase(pending.begin());
    }
}

/// Returns true if the connection is from the publisher. No more connections are accepted then.
bool LocalAcceptor::admit(Fd& connection) {
    if (!says(connection, endpoint_.client_token) || !say(connection, endpoint_.server_token)) return false;
    const std::lock_guard lock{mutex_};
    publisher_ = std::move(connection);
    came_.notify_one();
    return true;
}

Result<Fd> connect_to_local(std::string_view endpoint) {
    constexpr Patience longest_answer{5000};
    const auto where = parse_local_endpoint(endpoint);
    if (!where) return Error{"advertise to '" + std::string{endpoint} + "': not a local endpoint"};
    auto socket = connect_locally(where->name);
    if (!socket) return socket.error();
    if (!is_own_user(*socket)) return Error{"connect @" + where->name + ": it belongs to another user of this host"};
    if (!say(*socket, where->client_token)) return os_error("send the token to @" + where->name);
    if (!readable(*socket, Deadline{longest_answer}) || !says(*socket, where->server_token)) {
        return Error{"connect @" + where->name + ": whoever listens there is not the subscriber"};
    }
    return socket;
}

}  // namespace tacholog
