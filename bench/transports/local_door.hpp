// How two processes of one host meet over a local socket. Everybody on the host can read its name and connect to it
// (/proc/net/unix shows names in the abstract namespace to all), so each side checks the other before it hands anything
// over: the user, which the kernel knows (SO_PEERCRED), and a token that travels over the control channel alone. There
// are two tokens: the publisher knocks with the first, the subscriber answers with the second. So neither side can
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

/// Where a publisher knocks, as text over the control channel: "name/1234/5678".
struct DoorPlate {
    std::string name;
    std::uint64_t knock = 0;
    std::uint64_t answer = 0;

    std::string text() const { return name + "/" + std::to_string(knock) + "/" + std::to_string(answer); }
};

std::optional<DoorPlate> parse_door_plate(std::string_view text);

/// A subscriber's door. A thread of its own stands behind it until the publisher has come, so that a publisher need not
/// wait until the subscriber has time for it. It deals with strangers side by side, so that they hold up nobody.
class LocalDoor {
public:
    static Result<std::unique_ptr<LocalDoor>> open(const std::string& name);

    LocalDoor(const LocalDoor&) = delete;
    LocalDoor& operator=(const LocalDoor&) = delete;
    ~LocalDoor();

    std::string endpoint() const { return plate_.text(); }

    /// The connection to the publisher; none if it has not come within `patience`.
    Result<Fd> wait(Patience patience);

private:
    LocalDoor(Fd listener, Fd closing, DoorPlate plate);
    void watch();
    bool admit(Fd& guest);

    Fd listener_;
    Fd closing_;  ///< readable once the door is to be closed
    DoorPlate plate_;
    std::mutex mutex_;
    std::condition_variable came_;
    Fd publisher_;
    std::thread doorkeeper_;
};

/// A publisher's connection to the subscriber behind this door. Waits for its answer, which comes at once or never.
Result<Fd> knock_at(std::string_view endpoint);

}  // namespace tacholog
