// Tests of reliable UDP, to one subscriber and to a group, over a network that loses, duplicates and reorders
// datagrams.
#include "tests/bad_network.hpp"

namespace tacholog {
namespace {

constexpr std::size_t large = std::size_t{8} * 1024 * 1024;

class OverABadNetwork : public BadNetwork {
protected:
    void join_again(std::size_t max_bytes, LineFaults faults) {
        subscribers_.clear();
        publisher_.reset();
        join_one(max_bytes, faults);
    }
};

TEST_F(OverABadNetwork, TwentyThousandSmallMessagesArriveOnceAndInOrder) {
    join_one(1024);
    carry(20'000, 1024);
}

TEST_F(OverABadNetwork, MessagesOfManyDatagramsArriveOnceAndInOrder) {
    join_one(large);
    carry(10, large);
}

TEST_F(OverABadNetwork, TheLastMessageArrivesWithoutAFollowingMessage) {
    for (int round = 0; round < 10; ++round) {
        join_again(1024, {0.4, 0.0, 0.0});
        send(*publisher_, 0, 1024);
        expect_all(*subscribers_.front(), 1, 1024);
    }
}

TEST_F(OverABadNetwork, MessagesPublishedBeforeThePublisherLeftArrive) {
    join_one(1024, {0.2, 0.0, 0.0});
    std::thread sender{[this] {
        send_all(*publisher_, 100, 1024);
        publisher_.reset();
    }};
    expect_all(*subscribers_.front(), 100, 1024);
    sender.join();
}

TEST_F(OverABadNetwork, AnInterruptedNetworkEndsBothSides) {
    join_one(1024, {0.0, 0.0, 0.0});
    relay_->cut();
    send(*publisher_, 0, 1024);
    const Deadline deadline{plenty};
    std::string subscriber_says;
    while (subscriber_says.empty() && !deadline.passed()) {
        const auto sample = subscribers_.front()->take(Patience{100});
        if (!sample) subscriber_says = sample.error().text;
    }
    std::string publisher_says;
    while (publisher_says.empty() && !deadline.passed()) {
        auto loan = publisher_->loan(1024);
        ASSERT_TRUE(loan);
        const auto sent = loan->publish(Patience{100});
        if (!sent.has_value()) publisher_says = sent.error().text;
    }

    EXPECT_NE(subscriber_says.find("the publisher is gone"), std::string::npos) << subscriber_says;
    EXPECT_NE(publisher_says.find("the subscriber is gone"), std::string::npos) << publisher_says;
}

using ToAGroupOverABadNetwork = BadNetwork;

TEST_F(ToAGroupOverABadNetwork, SmallMessagesArriveOnceAndInOrderAtAllThreeSubscribers) {
    join_three(1024);
    carry(20'000, 1024);
}

TEST_F(ToAGroupOverABadNetwork, MessagesOfManyDatagramsArriveOnceAndInOrderAtAllThreeSubscribers) {
    join_three(large);
    carry(10, large);
}

TEST_F(ToAGroupOverABadNetwork, TheLastMessageArrivesWithoutAFollowingMessage) {
    constexpr std::uint64_t count = 20;
    join_three(1024, {0.4, 0.0, 0.0});
    std::atomic<std::uint64_t> arrived = 0;
    std::vector<std::thread> takers;
    for (const auto& subscriber : subscribers_) {
        takers.emplace_back([&arrived, &one = *subscriber] {
            for (std::uint64_t number = 0; number < count; ++number, ++arrived) expect(one, number, 1024);
        });
    }
    const Deadline deadline{plenty};
    for (std::uint64_t number = 0; number < count; ++number) {
        send(*publisher_, number, 1024);
        while (arrived < (number + 1) * takers.size() && !deadline.passed()) std::this_thread::yield();
    }
    for (auto& taker : takers) taker.join();
    EXPECT_FALSE(deadline.passed());
}

TEST_F(ToAGroupOverABadNetwork, MessagesPublishedBeforeThePublisherLeftArriveEvenIfASubscriberLeftEarlier) {
    join_three(1024, {0.2, 0.0, 0.0});
    // All subscribers take messages at the same time. A subscriber that takes nothing sends no answers, and a publisher
    // that leaves does not wait for it.
    std::vector<std::thread> takers;
    for (auto& subscriber : subscribers_) {
        takers.emplace_back([&subscriber, sooner = &subscriber == &subscribers_.front()] {
            expect_all(*subscriber, 100, 1024);
            if (sooner) subscriber.reset();
        });
    }
    send_all(*publisher_, 100, 1024);
    publisher_.reset();
    for (auto& taker : takers) taker.join();
}

TEST_F(ToAGroupOverABadNetwork, ASlowSubscriberGetsItsRemainingMessagesInOrderAndIntact) {
    constexpr std::uint64_t count = 10'000;
    constexpr std::size_t slow = 2;
    join_three(1024, bad, SlowSubscriber::drop);
    std::array<std::atomic<std::uint64_t>, 3> taken{};
    std::atomic<bool> is_left_behind = false;
    std::atomic<bool> over = false;
    std::vector<std::thread> takers;
    for (std::size_t at = 0; at < taken.size(); ++at) {
        takers.emplace_back([&, at] {
            while (at == slow && !is_left_behind) std::this_thread::yield();
            count_in_order(*subscribers_[at], over, Patience{10}, [&](std::uint64_t so_far) { taken[at] = so_far; });
        });
    }
    for (std::uint64_t number = 0; number < count && !HasFatalFailure(); ++number) {
        send(*publisher_, number, 1024);
        if (publisher_->dropped(slow) > 0) is_left_behind = true;
    }
    is_left_behind = true;  // otherwise this subscriber would wait for ever
    const auto all_are_accounted_for = [&] {
        for (std::size_t at = 0; at < taken.size(); ++at)
            if (taken[at] + publisher_->dropped(at) < count) return false;
        return true;
    };
    for (const Deadline deadline{plenty}; !all_are_accounted_for() && !deadline.passed();) std::this_thread::yield();
    over = true;
    for (auto& taker : takers) taker.join();

    for (std::size_t at = 0; at < taken.size(); ++at) EXPECT_EQ(taken[at] + publisher_->dropped(at), count) << at;
    EXPECT_GT(publisher_->dropped(slow), 0U);
    EXPECT_GT(taken[slow], 0U);
}

}  // namespace
}  // namespace tacholog
