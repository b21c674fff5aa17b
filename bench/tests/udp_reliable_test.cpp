// Reliable UDP over a network that loses, doubles and reorders.
#include <gtest/gtest.h>

#include "core/message.hpp"
#include "tests/lossy_relay.hpp"
#include "transports/ip_endpoint.hpp"
#include "transports/transport.hpp"

namespace tacholog {
namespace transports {
extern const Transport udp_reliable;
}  // namespace transports

namespace {

constexpr Handling verified{Touch::write_read, true};
constexpr Patience plenty{20000};
constexpr LossyRelay::Faults bad{0.10, 0.02, 0.05};

class OverABadNetwork : public testing::Test {
protected:
    void join(std::size_t max_bytes, LossyRelay::Faults faults = bad) {
        const Topic topic{"test-lossy", max_bytes, "127.0.0.1"};
        auto subscribed = transports::udp_reliable.subscribe(topic);
        ASSERT_TRUE(subscribed) << subscribed.error().text;
        subscriber_ = std::move(*subscribed);
        const auto endpoint = parse_endpoint(subscriber_->endpoint());
        ASSERT_TRUE(endpoint);
        relay_ = std::make_unique<LossyRelay>(endpoint->address, faults);
        const IpEndpoint detour{relay_->address(), endpoint->token};
        auto advertised = transports::udp_reliable.advertise(topic, detour.text());
        ASSERT_TRUE(advertised) << advertised.error().text;
        publisher_ = std::move(*advertised);
        ASSERT_TRUE(*subscriber_->match(plenty));
    }

    void send(std::uint64_t number, std::size_t bytes) {
        auto loan = publisher_->loan(bytes);
        ASSERT_TRUE(loan) << loan.error().text;
        write_message(loan->bytes(), number, verified);
        const auto sent = loan->publish(plenty);
        ASSERT_TRUE(sent) << sent.error().text;
        ASSERT_TRUE(*sent);
    }

    void expect_all(std::uint64_t count, std::size_t bytes) {
        for (std::uint64_t number = 0; number < count; ++number) {
            const auto sample = subscriber_->take(plenty);
            ASSERT_TRUE(sample) << sample.error().text;
            ASSERT_TRUE(*sample) << "message " << number << " did not come";
            ASSERT_EQ((*sample)->bytes().size(), bytes);
            const auto message = read_message((*sample)->bytes(), verified);
            ASSERT_EQ(message.number, number);
            ASSERT_TRUE(message.intact);
        }
    }

    /// All, once, in order, intact; then nothing.
    void carry(std::uint64_t count, std::size_t bytes) {
        std::thread sender{[this, count, bytes] {
            for (std::uint64_t number = 0; number < count; ++number) send(number, bytes);
        }};
        expect_all(count, bytes);
        sender.join();
        const auto more = subscriber_->take(Patience{50});
        ASSERT_TRUE(more) << more.error().text;
        EXPECT_FALSE(*more);
        EXPECT_GT(relay_->lost(), 0U);
    }

    // The relay outlives both: it is what they say goodbye through.
    std::unique_ptr<LossyRelay> relay_;
    std::unique_ptr<Subscriber> subscriber_;
    std::unique_ptr<Publisher> publisher_;
};

TEST_F(OverABadNetwork, TwentyThousandSmallMessagesArriveOnceAndInOrder) {
    join(1024);
    carry(20'000, 1024);
}

TEST_F(OverABadNetwork, MessagesOfManyDatagramsArriveOnceAndInOrder) {
    join(std::size_t{8} * 1024 * 1024);
    carry(10, std::size_t{8} * 1024 * 1024);
}

TEST_F(OverABadNetwork, TheLastMessageArrivesThoughNothingFollowsIt) {
    for (int round = 0; round < 10; ++round) {
        join(1024, {0.4, 0.0, 0.0});
        send(0, 1024);
        expect_all(1, 1024);
    }
}

TEST_F(OverABadNetwork, WhatWasPublishedBeforeThePublisherLeftArrives) {
    join(1024, {0.2, 0.0, 0.0});
    std::thread sender{[this] {
        for (std::uint64_t number = 0; number < 100; ++number) send(number, 1024);
        publisher_.reset();
    }};
    expect_all(100, 1024);
    sender.join();
}

TEST_F(OverABadNetwork, ANetworkThatIsCutEndsBothSides) {
    join(1024, {0.0, 0.0, 0.0});
    relay_->cut();
    send(0, 1024);
    const Deadline deadline{plenty};
    std::string subscriber_says;
    while (subscriber_says.empty() && !deadline.passed()) {
        const auto sample = subscriber_->take(Patience{100});
        if (!sample) subscriber_says = sample.error().text;
    }
    std::string publisher_says;
    while (publisher_says.empty() && !deadline.passed()) {
        auto loan = publisher_->loan(1024);
        ASSERT_TRUE(loan);
        const auto sent = loan->publish(Patience{100});
        if (!sent) publisher_says = sent.error().text;
    }

    EXPECT_NE(subscriber_says.find("the publisher is gone"), std::string::npos) << subscriber_says;
    EXPECT_NE(publisher_says.find("the subscriber is gone"), std::string::npos) << publisher_says;
}

}  // namespace
}  // namespace tacholog
