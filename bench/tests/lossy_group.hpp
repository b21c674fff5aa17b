// A relay that simulates a bad network between a multicast publisher and one of its subscribers, for tests. The
// publisher is given the address of the relay instead of that of the subscriber. The relay joins the group of the
// publisher, and forwards the messages to a second group, which the subscriber is invited to join.
#pragma once

#include <cstring>

#include "tests/lossy_relay.hpp"
#include "transports/reliable_wire.hpp"

namespace tacholog {

class LossyGroup {
public:
    /// `number` distinguishes the relays of one test.
    LossyGroup(const Address& subscriber, LineFaults faults, std::uint32_t number)
        : subscriber_(subscriber), to_subscriber_(faults, 100 + number), to_publisher_(faults, 200 + number) {
        const in_addr loopback{htonl(INADDR_LOOPBACK)};
        ::setsockopt(back_.get(), IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof loopback);
        own_group_.sin_family = AF_INET;
        own_group_.sin_addr.s_addr =
            htonl(0xEFC10000U + (static_cast<std::uint32_t>(::getpid()) << 8 & 0xFF00U) + number);
        thread_ = std::thread{[this] { run(); }};
    }
    LossyGroup(const LossyGroup&) = delete;
    LossyGroup& operator=(const LossyGroup&) = delete;
    ~LossyGroup() {
        stopping_ = true;
        thread_.join();
    }

    /// The publisher uses this address instead of that of the subscriber.
    Address address() const { return local_address(front_); }
    std::uint64_t lost() const { return to_subscriber_.lost() + to_publisher_.lost(); }

private:
    struct Invited {
        reliable::PacketHeader header;
        reliable::Invitation invitation;
    };

    void run() {
        while (!stopping_) {
            std::array<pollfd, 3> sockets{pollfd{front_.get(), POLLIN, 0}, pollfd{back_.get(), POLLIN, 0},
                                          pollfd{heard_.get(), POLLIN, 0}};
            const bool idle = ::poll(sockets.data(), sockets.size(), 2) == 0;
            pass_invitations();
            pass_stream(idle);
            pass_answers(idle);
        }
    }

    // Invitations are passed on without faults. A lost one would only be sent again, and there is no other invitation
    // that could overtake it.
    void pass_invitations() {
        for (auto datagram = receive_datagram(front_, publisher_); !datagram.empty();
             datagram = receive_datagram(front_, publisher_)) {
            Invited invited{};
            if (datagram.size() != sizeof invited) continue;
            std::memcpy(&invited, datagram.data(), sizeof invited);
            if (!heard_) hear(invited.invitation);
            invited.invitation.group = to_bytes(own_group_);
            std::memcpy(datagram.data(), &invited, sizeof invited);
            send_datagram(back_, datagram, subscriber_);
        }
    }

    void hear(const reliable::Invitation& invitation) {
        const int yes = 1;
        constexpr int wanted = 4 * 1024 * 1024;
        sockaddr_in group = own_group_;
        group.sin_addr = from_bytes(invitation.group, 0).v4().sin_addr;
        group.sin_port = own_group_.sin_port = invitation.port;
        heard_ = Fd{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
        ::setsockopt(heard_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        ::setsockopt(heard_.get(), SOL_SOCKET, SO_RCVBUF, &wanted, sizeof wanted);
        const Address where = group;
        ::bind(heard_.get(), where.get(), where.length());
        const ip_mreq membership{group.sin_addr, {htonl(INADDR_LOOPBACK)}};
        ::setsockopt(heard_.get(), IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof membership);
    }

    void pass_stream(bool idle) {
        if (!heard_) return;
        const auto deliver = [this](const Datagram& datagram) { send_datagram(back_, datagram, own_group_); };
        if (idle) to_subscriber_.flush(deliver);
        Address source;
        for (int count = 0; count < 64; ++count) {
            auto datagram = receive_datagram(heard_, source);
            if (datagram.empty()) return;
            to_subscriber_.carry(std::move(datagram), deliver);
        }
    }

    void pass_answers(bool idle) {
        const auto deliver = [this](const Datagram& datagram) { send_datagram(front_, datagram, publisher_); };
        if (idle) to_publisher_.flush(deliver);
        Address source;
        for (int count = 0; count < 64; ++count) {
            auto datagram = receive_datagram(back_, source);
            if (datagram.empty()) return;
            to_publisher_.carry(std::move(datagram), deliver);
        }
    }

    Address subscriber_;
    Address publisher_;
    sockaddr_in own_group_{};
    Fd front_ = open_relay_socket();  ///< towards the publisher
    Fd back_ = open_relay_socket();   ///< towards the subscriber
    Fd heard_;                        ///< in the publisher's group
    BadLine to_subscriber_;
    BadLine to_publisher_;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

}  // namespace tacholog
