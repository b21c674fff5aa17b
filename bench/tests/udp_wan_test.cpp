// Tests of UDP through a real NAT. A host inside cannot be reached before it has sent a datagram.
#include "tests/messages.hpp"
#include "tests/nat.hpp"

namespace tacholog {
namespace transports {
extern const Transport udp_reliable;
extern const Transport udp_wan;
}  // namespace transports

namespace {

class ThroughANat : public testing::Test {
protected:
    void SetUp() override {
        if (!nat_.missing().empty()) LEAVE_OUT << "needs " << nat_.missing();
    }

    void subscribe_inside(const Transport& transport, std::size_t max_bytes) {
        nat_.inside([&] { subscribe(transport, {"nat", max_bytes, Nat::inside_address, Nat::outside_address}); });
        nat_.outside([&] { advertise(transport, {"nat", max_bytes, Nat::outside_address}); });
    }

    void subscribe_outside(const Transport& transport, std::size_t max_bytes) {
        nat_.outside([&] { subscribe(transport, {"nat", max_bytes, Nat::outside_address}); });
        nat_.inside([&] { advertise(transport, {"nat", max_bytes, Nat::inside_address, Nat::outside_address}); });
    }

    void carry(std::uint64_t first, std::uint64_t count, std::size_t bytes) {
        std::thread sender{[this, first, count, bytes] { send_all(*publisher_, count, bytes, first); }};
        expect_all(*subscriber_, count, bytes, first);
        sender.join();
    }

    Nat nat_;
    std::unique_ptr<Subscriber> subscriber_;
    std::unique_ptr<Publisher> publisher_;

private:
    void subscribe(const Transport& transport, const Topic& topic) {
        auto subscribed = transport.subscribe(topic);
        ASSERT_TRUE(subscribed) << subscribed.error().text;
        subscriber_ = std::move(*subscribed);
    }

    void advertise(const Transport& transport, const Topic& topic) {
        ASSERT_TRUE(subscriber_);
        auto advertised = transport.advertise(topic, {subscriber_->endpoint()});
        ASSERT_TRUE(advertised) << advertised.error().text;
        publisher_ = std::move(*advertised);
    }
};

TEST_F(ThroughANat, ASubscriberInsideIsReachedAfterItsFirstDatagram) {
    subscribe_inside(transports::udp_wan, 100'000);
    ASSERT_TRUE(publisher_);
    expect_match(*subscriber_);
    carry(0, 2000, 1000);
    carry(2000, 20, 100'000);
}

TEST_F(ThroughANat, APublisherInsideReachesASubscriberOutside) {
    subscribe_outside(transports::udp_wan, 1000);
    ASSERT_TRUE(publisher_);
    expect_match(*subscriber_);
    carry(0, 1000, 1000);
}

TEST_F(ThroughANat, ThePublisherFollowsANewPortOfTheNat) {
    subscribe_inside(transports::udp_wan, 1000);
    ASSERT_TRUE(publisher_);
    expect_match(*subscriber_);
    carry(0, 100, 1000);
    ASSERT_TRUE(nat_.rebind());
    carry(100, 1000, 1000);
}

// Without this test, the tests above could pass on a network that has no NAT.
TEST_F(ThroughANat, ASubscriberInsideThatSendsNothingIsNotReached) {
    nat_.inside([&] {
        auto subscribed = transports::udp_reliable.subscribe({"nat", 64, Nat::inside_address});
        ASSERT_TRUE(subscribed);
        subscriber_ = std::move(*subscribed);
    });
    nat_.outside([&] {
        // There is no route to an address behind a NAT.
        const auto advertised =
            transports::udp_reliable.advertise({"nat", 64, Nat::outside_address}, {subscriber_->endpoint()});
        EXPECT_FALSE(advertised);
    });
    EXPECT_EQ(*subscriber_->match(Patience{300}), Done::not_yet);
}

}  // namespace
}  // namespace tacholog
