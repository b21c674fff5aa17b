// Reliable UDP over a network that loses, duplicates and reorders datagrams: shared by the short and the long tests.
#pragma once

#include "tests/lossy_group.hpp"
#include "tests/lossy_relay.hpp"
#include "tests/messages.hpp"
#include "transports/ip_endpoint.hpp"

namespace tacholog {
namespace transports {
extern const Transport udp_reliable;
extern const Transport udp_multicast;
}  // namespace transports

class BadNetwork : public testing::Test {
protected:
    static constexpr LineFaults bad{0.10, 0.02, 0.05};

    // Subscribers leave first, so that the publisher does not wait for answers that will never come.
    void TearDown() override { subscribers_.clear(); }

    /// Connects one subscriber of udp-reliable.
    void join_one(std::size_t max_bytes, LineFaults faults = bad) {
        const Topic topic{"test-lossy", max_bytes, "127.0.0.1"};
        const auto endpoint = subscribe(transports::udp_reliable, topic);
        relay_ = std::make_unique<LossyRelay>(endpoint.address, faults);
        const IpEndpoint detour{relay_->address(), endpoint.token};
        keep(transports::udp_reliable.advertise(topic, {detour.text()}));
    }

    /// Connects three subscribers of udp-multicast, each behind a bad network of its own.
    void join_three(std::size_t max_bytes, LineFaults faults = bad, SlowSubscriber slow = SlowSubscriber::block) {
        constexpr std::uint32_t count = 3;
        Topic topic{"test-lossy", max_bytes, "127.0.0.1"};
        topic.audience = {count, slow};
        std::vector<std::string> detours;
        for (std::uint32_t number = 0; number < count; ++number) {
            const auto endpoint = subscribe(transports::udp_multicast, topic);
            groups_.push_back(std::make_unique<LossyGroup>(endpoint.address, faults, number));
            detours.push_back(IpEndpoint{groups_.back()->address(), endpoint.token}.text());
        }
        keep(transports::udp_multicast.advertise(topic, detours));
    }

    /// Checks that every subscriber gets every message exactly once, and that the network has lost datagrams.
    void carry(std::uint64_t count, std::size_t bytes) {
        tacholog::carry(*publisher_, subscribers_, count, bytes);
        for (const auto& subscriber : subscribers_) expect_nothing_more(*subscriber);
        EXPECT_GT(lost(), 0U);
    }

    std::uint64_t lost() const {
        std::uint64_t count = relay_ ? relay_->lost() : 0;
        for (const auto& group : groups_) count += group->lost();
        return count;
    }

    // The network must live longer than both ends, because they disconnect through it.
    std::unique_ptr<LossyRelay> relay_;
    std::vector<std::unique_ptr<LossyGroup>> groups_;
    std::vector<std::unique_ptr<Subscriber>> subscribers_;
    std::unique_ptr<Publisher> publisher_;

private:
    IpEndpoint subscribe(const Transport& transport, const Topic& topic) {
        auto subscribed = transport.subscribe(topic);
        EXPECT_TRUE(subscribed) << subscribed.error().text;
        subscribers_.push_back(std::move(*subscribed));
        const auto endpoint = parse_endpoint(subscribers_.back()->endpoint());
        EXPECT_TRUE(endpoint);
        return *endpoint;
    }

    void keep(Result<std::unique_ptr<Publisher>> advertised) {
        ASSERT_TRUE(advertised) << advertised.error().text;
        publisher_ = std::move(*advertised);
        for (const auto& subscriber : subscribers_) expect_match(*subscriber);
    }
};

}  // namespace tacholog
