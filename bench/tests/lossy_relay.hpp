// A bad network between two UDP sockets, for tests: it loses, doubles and reorders, both ways, from a fixed seed.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "core/address.hpp"
#include "core/clock.hpp"

namespace tacholog {

class LossyRelay {
public:
    struct Faults {
        double lost;
        double doubled;
        double overtaken;
    };

    LossyRelay(const sockaddr_in& subscriber, Faults faults) : faults_(faults) {
        for (Fd* socket : {&front_, &back_}) {
            constexpr int wanted = 4 * 1024 * 1024;
            *socket = Fd{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
            ::setsockopt(socket->get(), SOL_SOCKET, SO_RCVBUF, &wanted, sizeof wanted);
            const auto any_port = *parse_address("127.0.0.1", 0);
            ::bind(socket->get(), generic(any_port), sizeof any_port);
        }
        ::connect(back_.get(), generic(subscriber), sizeof subscriber);
        thread_ = std::thread{[this] { run(); }};
    }
    ~LossyRelay() {
        stopping_ = true;
        thread_.join();
    }

    /// Where the publisher is to send to.
    sockaddr_in address() const { return local_address(front_); }
    std::uint64_t lost() const { return lost_; }
    void cut() { cut_ = true; }

private:
    using Datagram = std::vector<char>;

    void run() {
        std::array<pollfd, 2> sockets{pollfd{front_.get(), POLLIN, 0}, pollfd{back_.get(), POLLIN, 0}};
        while (!stopping_) {
            const bool idle = ::poll(sockets.data(), sockets.size(), 2) == 0;
            forward(front_, to_subscriber_, idle);
            forward(back_, to_publisher_, idle);
        }
    }

    // What is held back is overtaken by the next that comes, or goes once nothing does.
    void forward(const Fd& from, Datagram& held, bool idle) {
        if (idle && !held.empty()) pass_on(from, std::exchange(held, {}));
        for (int count = 0; count < 64; ++count) {
            Datagram datagram(65536);
            sockaddr_in source{};
            socklen_t length = sizeof source;
            const auto bytes = ::recvfrom(from.get(), datagram.data(), datagram.size(), 0,
                                          reinterpret_cast<sockaddr*>(&source), &length);
            if (bytes < 0) return;
            if (&from == &front_) publisher_ = source;
            datagram.resize(static_cast<std::size_t>(bytes));
            misbehave(from, held, std::move(datagram));
        }
    }

    void misbehave(const Fd& from, Datagram& held, Datagram datagram) {
        if (cut_ || chance(faults_.lost)) {
            ++lost_;
            return;
        }
        if (chance(faults_.doubled)) pass_on(from, datagram);
        if (held.empty() && chance(faults_.overtaken)) {
            held = std::move(datagram);
            return;
        }
        pass_on(from, datagram);
        if (!held.empty()) pass_on(from, std::exchange(held, {}));
    }

    void pass_on(const Fd& from, const Datagram& datagram) {
        if (&from == &front_) {
            ::send(back_.get(), datagram.data(), datagram.size(), 0);
        } else {
            ::sendto(front_.get(), datagram.data(), datagram.size(), 0, generic(publisher_), sizeof publisher_);
        }
    }

    bool chance(double probability) { return std::uniform_real_distribution<>{}(random_) < probability; }

    Faults faults_;
    Fd front_;  ///< to the publisher
    Fd back_;   ///< to the subscriber
    sockaddr_in publisher_{};
    Datagram to_subscriber_;
    Datagram to_publisher_;
    std::mt19937 random_{20261121};
    std::atomic<bool> stopping_ = false;
    std::atomic<bool> cut_ = false;
    std::atomic<std::uint64_t> lost_ = 0;
    std::thread thread_;
};

}  // namespace tacholog
