// A bad network between two UDP sockets, for tests: datagrams in both directions pass through it.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <thread>

#include "base/address.hpp"
#include "base/clock.hpp"
#include "tests/bad_line.hpp"

namespace tacholog {

inline Fd open_relay_socket() {
    constexpr int wanted = 4 * 1024 * 1024;
    Fd socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &wanted, sizeof wanted);
    const auto any_port = *parse_address("127.0.0.1", 0);
    ::bind(socket.get(), any_port.get(), any_port.length());
    return socket;
}

/// Returns the next datagram, and stores its sender in `source`. Returns an empty datagram if none has arrived. Each
/// thread uses one buffer for all datagrams, because under a sanitizer a new buffer for each datagram takes more time
/// than the rest of the relay.
inline Datagram receive_datagram(const Fd& socket, Address& source) {
    thread_local std::array<char, 65536> buffer;
    socklen_t length = Address::room_bytes;
    const auto bytes = ::recvfrom(socket.get(), buffer.data(), buffer.size(), 0, source.room(), &length);
    Datagram datagram(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    std::copy_n(buffer.begin(), datagram.size(), datagram.begin());
    return datagram;
}

inline void send_datagram(const Fd& socket, const Datagram& datagram, const Address& to) {
    ::sendto(socket.get(), datagram.data(), datagram.size(), 0, to.get(), to.length());
}

class LossyRelay {
public:
    using Faults = LineFaults;

    LossyRelay(const Address& subscriber, Faults faults)
        : subscriber_(subscriber), to_subscriber_(faults, 20261121), to_publisher_(faults, 20261122) {
        thread_ = std::thread{[this] { run(); }};
    }
    ~LossyRelay() {
        stopping_ = true;
        thread_.join();
    }

    /// The publisher sends to this address.
    Address address() const { return local_address(front_); }
    std::uint64_t lost() const { return to_subscriber_.lost() + to_publisher_.lost(); }
    void cut() { cut_ = true; }

private:
    void run() {
        std::array<pollfd, 2> sockets{pollfd{front_.get(), POLLIN, 0}, pollfd{back_.get(), POLLIN, 0}};
        const auto forth = [this](const Datagram& datagram) { send_datagram(back_, datagram, subscriber_); };
        const auto back = [this](const Datagram& datagram) { send_datagram(front_, datagram, publisher_); };
        while (!stopping_) {
            const bool idle = ::poll(sockets.data(), sockets.size(), 2) == 0;
            Address answers_from;
            forward(front_, publisher_, to_subscriber_, idle, forth);
            forward(back_, answers_from, to_publisher_, idle, back);
        }
    }

    template <typename Deliver>
    void forward(const Fd& from, Address& source, BadLine& line, bool idle, Deliver&& deliver) {
        if (idle) line.flush(deliver);
        for (int count = 0; count < 64; ++count) {
            auto datagram = receive_datagram(from, source);
            if (datagram.empty()) return;
            if (!cut_) line.carry(std::move(datagram), deliver);
        }
    }

    Address subscriber_;
    Address publisher_;
    Fd front_ = open_relay_socket();  ///< towards the publisher
    Fd back_ = open_relay_socket();   ///< towards the subscriber
    BadLine to_subscriber_;
    BadLine to_publisher_;
    std::atomic<bool> stopping_ = false;
    std::atomic<bool> cut_ = false;
    std::thread thread_;
};

}  // namespace tacholog
