// The connection of a process to the media driver, and how to wait for the driver's answers.
#pragma once

#include <memory>
#include <mutex>
#include <string>

extern "C" {
#include <aeronc.h>
}

#include "base/clock.hpp"
#include "base/result.hpp"

namespace tacholog::aeron {

inline Error aeron_error(const std::string& operation) {
    std::string text = ::aeron_errmsg();
    // The first line of Aeron's error text is the system's name of the error. The second line has a position in Aeron's
    // source, then the details. Both become one line here.
    for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n', at)) text.replace(at, 1, "; ");
    return Error{operation + ": Aeron: " + text};
}

/// `poll` returns 1 (done) or -1 (failed).
template <class Poll>
Result<void> until_done(const std::string& operation, Poll&& poll) {
    constexpr Nanoseconds nap_ns = 200'000;
    constexpr Patience longest{10'000};
    for (const Deadline deadline{longest};; sleep_until(now_ns() + nap_ns)) {
        const int done = poll();
        if (done > 0) return {};
        if (done < 0) return aeron_error(operation);
        if (deadline.passed()) return Error{operation + ": the media driver does not answer"};
    }
}

/// The connection to the media driver. All publishers and subscribers of this process share this connection. The
/// library starts a thread that keeps the connection alive.
class Client {
public:
    static Result<std::shared_ptr<Client>> of(const std::string& folder) {
        static std::mutex mutex;
        static std::weak_ptr<Client> present;
        const std::lock_guard lock{mutex};
        auto client = present.lock();
        if (client != nullptr && client->folder_ == folder) return client;
        client = std::make_shared<Client>(folder);
        if (auto started = client->start(); !started) return started.error();
        present = client;
        return client;
    }

    explicit Client(std::string folder) : folder_(std::move(folder)) {}
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client() {
        if (client_ != nullptr) ::aeron_close(client_);
        if (context_ != nullptr) ::aeron_context_close(context_);
    }

    aeron_t* get() const { return client_; }

private:
    Result<void> start() {
        const std::string operation = "join the media driver at " + folder_;
        if (::aeron_context_init(&context_) != 0) return aeron_error(operation);
        ::aeron_context_set_dir(context_, folder_.c_str());
        // This handler ignores errors, because the calls that fail also report them. The library's default handler
        // would end the process.
        ::aeron_context_set_error_handler(context_, [](void*, int, const char*) {}, nullptr);
        if (::aeron_init(&client_, context_) != 0 || ::aeron_start(client_) != 0) return aeron_error(operation);
        return {};
    }

    std::string folder_;
    aeron_context_t* context_ = nullptr;
    aeron_t* client_ = nullptr;
};

}  // namespace tacholog::aeron
