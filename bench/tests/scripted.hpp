// Both ends of a transport, controlled by the test, and a side of a run that measures over them. Here, rare events of a
// network or a host happen every time.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "rig/side.hpp"

namespace tacholog {

using Bytes = std::vector<std::byte>;

/// A publisher that hands each message to the function `taken` of the test. The function returns whether there was
/// space for the message.
class ScriptedPublisher final : public Publisher {
public:
    explicit ScriptedPublisher(std::function<bool(const Bytes&)> taken, std::function<void()> flushed = nullptr)
        : Publisher(64), taken_(std::move(taken)), flushed_(std::move(flushed)) {}

    Result<Done> flush(Patience) override {
        if (flushed_) flushed_();
        return Done::yes;
    }

private:
    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        buffer_.resize(bytes);
        return std::span{buffer_};
    }
    Result<Done> commit(Patience) override { return done_if(taken_(buffer_)); }
    void abandon() noexcept override {}

    std::function<bool(const Bytes&)> taken_;
    std::function<void()> flushed_;
    Bytes buffer_;
};

/// An empty message from `next` means that nothing has arrived.
class ScriptedSubscriber final : public Subscriber {
public:
    explicit ScriptedSubscriber(std::function<Bytes()> next) : next_(std::move(next)) {}

    std::string endpoint() const override { return ""; }
    Result<Done> match(Patience) override { return Done::yes; }

private:
    Result<std::span<const std::byte>> receive(Patience) override {
        buffer_ = next_();
        return buffer_.empty() ? std::span<const std::byte>{} : std::span<const std::byte>{buffer_};
    }
    void release() noexcept override {}

    std::function<Bytes()> next_;
    Bytes buffer_;
};

/// Removes the first message from a queue and returns the message. Returns an empty message if the queue is empty.
inline Bytes pop(std::deque<Bytes>& messages) {
    if (messages.empty()) return {};
    Bytes first = std::move(messages.front());
    messages.pop_front();
    return first;
}

/// The publisher's side of a run without a peer.
class ScriptedSide {
public:
    explicit ScriptedSide(Options given = {}) : options(std::move(given)) {}

    Options options;

private:
    static std::array<int, 2> connected() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        return ends;
    }

    std::array<int, 2> ends_ = connected();
    Fd other_{ends_[1]};
    Result<Stop> stop_ = Stop::watch();
    Control control_{Fd{ends_[0]}, *stop_};
    Transport transport_{.name = "scripted",
                         .summary = "",
                         .data_path = "copy",
                         .reliability = Reliability::best_effort,
                         .reach = Reach::process,
                         .subscribe = nullptr,
                         .advertise = nullptr};
    Monitor monitor_{{}, Placement{}, limit_of(options)};

public:
    Side side{.options = options, .transport = transport_, .control = control_, .log = nullptr, .monitor = &monitor_};
};

}  // namespace tacholog
