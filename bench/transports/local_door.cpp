#include "transports/local_door.hpp"

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

constexpr std::uint64_t door_magic = 0x31304B4C4F4F4454;  // another version of us knocks with another one

/// What each side says to the other.
struct Password {
    std::uint64_t magic = door_magic;
    std::uint64_t token = 0;
};

/// Connections that have not knocked yet. If there are more, the oldest are closed.
constexpr std::size_t most_guests = 32;

/// Another user of this host is nobody's peer. Root can look into every process anyway.
bool is_own_user(const Fd& socket) {
    ucred peer{};
    socklen_t length = sizeof peer;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
    return peer.uid == ::geteuid() || peer.uid == 0;
}

bool say(const Fd& socket, std::uint64_t token) {
    const Password password{door_magic, token};
    return ::send(socket.get(), &password, sizeof password, MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(sizeof password);
}

bool says(const Fd& socket, std::uint64_t token) {
    Password password{};
    const auto received = ::recv(socket.get(), &password, sizeof password, MSG_DONTWAIT);
    return received == static_cast<ssize_t>(sizeof password) && password.magic == door_magic && password.token == token;
}

}  // namespace

std::optional<DoorPlate> parse_door_plate(std::string_view text) {
    const auto parts = split(text, '/');
    if (parts.size() != 3 || parts[0].empty()) return std::nullopt;
    const auto knock = to_number<std::uint64_t>(parts[1]);
    const auto answer = to_number<std::uint64_t>(parts[2]);
    if (!knock || !answer) return std::nullopt;
    return DoorPlate{std::string{parts[0]}, *knock, *answer};
}

Result<std::unique_ptr<LocalDoor>> LocalDoor::open(const std::string& name) {
    auto listener = listen_locally(name);
    if (!listener) return listener.error();
    Fd closing{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (!closing) return os_error("open the door @" + name);
    const DoorPlate plate{name, new_token(), new_token()};
    return std::unique_ptr<LocalDoor>{new LocalDoor{std::move(*listener), std::move(closing), plate}};
}

LocalDoor::LocalDoor(Fd listener, Fd closing, DoorPlate plate)
    : listener_(std::move(listener)),
      closing_(std::move(closing)),
      plate_(std::move(plate)),
      doorkeeper_([this] { watch(); }) {}

LocalDoor::~LocalDoor() {
    const std::uint64_t one = 1;
    static_cast<void>(::write(closing_.get(), &one, sizeof one));
    if (doorkeeper_.joinable()) doorkeeper_.join();
}

Result<Fd> LocalDoor::wait(Patience patience) {
    std::unique_lock lock{mutex_};
    came_.wait_for(lock, patience, [this] { return static_cast<bool>(publisher_); });
    if (!publisher_) return Fd{};
    lock.unlock();
    doorkeeper_.join();  // nothing of this runs beside a measurement
    return std::move(publisher_);
}

void LocalDoor::watch() {
    // Without descriptors or memory nobody can be let in, however long he has been waiting: it is tried again later.
    constexpr int try_again_ms = 50;
    std::vector<Fd> guests;
    bool accepts = true;
    while (true) {
        std::vector<pollfd> watched{{closing_.get(), POLLIN, 0}, {accepts ? listener_.get() : -1, POLLIN, 0}};
        for (const Fd& guest : guests) watched.push_back({guest.get(), POLLIN, 0});
        const int ready = ::poll(watched.data(), watched.size(), accepts ? -1 : try_again_ms);
        if (ready < 0 && errno != EINTR) sleep_until(now_ns() + to_nanoseconds(Patience{try_again_ms}));
        accepts = true;
        if (ready <= 0) continue;
        if (watched[0].revents != 0) return;
        for (std::size_t at = 0; at < guests.size(); ++at) {
            if (watched[at + 2].revents == 0) continue;
            if (admit(guests[at])) return;
            guests[at] = Fd{};
        }
        std::erase_if(guests, [](const Fd& guest) { return !guest; });
        if (watched[1].revents == 0) continue;
        Fd guest{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
        accepts = static_cast<bool>(guest);
        if (!guest || !is_own_user(guest)) continue;
        guests.push_back(std::move(guest));
        if (guests.size() > most_guests) guests.erase(guests.begin());
    }
}

/// True if it is the publisher, who is then let in, and the door closes.
bool LocalDoor::admit(Fd& guest) {
    if (!says(guest, plate_.knock) || !say(guest, plate_.answer)) return false;
    const std::lock_guard lock{mutex_};
    publisher_ = std::move(guest);
    came_.notify_one();
    return true;
}

Result<Fd> knock_at(std::string_view endpoint) {
    constexpr Patience longest_answer{5000};
    const auto plate = parse_door_plate(endpoint);
    if (!plate) return Error{"advertise to '" + std::string{endpoint} + "': not a local endpoint"};
    auto socket = connect_locally(plate->name);
    if (!socket) return socket.error();
    if (!is_own_user(*socket)) return Error{"connect @" + plate->name + ": it belongs to another user of this host"};
    if (!say(*socket, plate->knock)) return os_error("knock at @" + plate->name);
    if (!readable(*socket, Deadline{longest_answer}) || !says(*socket, plate->answer)) {
        return Error{"connect @" + plate->name + ": whoever listens there is not the subscriber"};
    }
    return socket;
}

}  // namespace tacholog
