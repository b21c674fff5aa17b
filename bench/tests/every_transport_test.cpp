// Tests that run for every transport in the registry, in each way of waiting.
#include <algorithm>
#include <csignal>
#include <optional>
#include <thread>

#include "tests/messages.hpp"
#include "tests/transports.hpp"

namespace tacholog {
namespace {

class EveryTransport : public testing::TestWithParam<std::tuple<const Transport*, Waiting>> {
protected:
    static const Transport& transport() { return *std::get<0>(GetParam()); }
    static Waiting waiting() { return std::get<1>(GetParam()); }

    // As in perftest: a write to a pipe without a reader then fails with an error.
    void SetUp() override { ::signal(SIGPIPE, SIG_IGN); }

    // Subscribers leave first. Otherwise the publisher would wait for answers that never come.
    void TearDown() override { subscriber_.reset(); }

    void join(std::size_t max_bytes) {
        Topic topic = topic_for(transport(), "test-" + std::to_string(now_ns()), max_bytes);
        topic.waiting = waiting();
        auto subscribed = transport().subscribe(topic);
        ASSERT_TRUE(subscribed) << subscribed.error().text;
        subscriber_ = std::move(*subscribed);
        auto advertised = transport().advertise(topic, {subscriber_->endpoint()});
        ASSERT_TRUE(advertised) << advertised.error().text;
        publisher_ = std::move(*advertised);
        expect_match(*publisher_, *subscriber_);
    }

    void send(std::size_t bytes, std::uint64_t number) { tacholog::send(*publisher_, number, bytes); }
    void expect(std::size_t bytes, std::uint64_t number) { tacholog::expect(*subscriber_, number, bytes); }

    /// Sends and takes at the same time, because a large message may not fit into the transport.
    void pass(std::size_t bytes, std::uint64_t number) {
        std::thread sender{[this, bytes, number] { send(bytes, number); }};
        expect(bytes, number);
        sender.join();
    }

    std::unique_ptr<Subscriber> subscriber_;
    std::unique_ptr<Publisher> publisher_;
};

/// Tests that do not depend on how a side waits.
class EveryTransportOnce : public EveryTransport {};

// The log states how far a transport reaches. Comparisons use this to decide which facts of a machine can change a
// figure.
TEST(Transports, DeclareAReachThatFitsTheDistanceOfTheirSides) {
    for (const Transport* transport : all_transports()) {
        EXPECT_EQ(transport->reach == Reach::process, transport->parties == Parties::threads) << transport->name;
        // Only transports with endpoint_at are checked. A middleware without endpoint_at may also reach other hosts,
        // because it may find its peers there by a name alone.
        if (transport->endpoint_at != nullptr) {
            EXPECT_EQ(transport->reach, Reach::network)
                << transport->name << ": endpoints name hosts where there are several";
        }
    }
}

TEST_P(EveryTransportOnce, DeliversEverySizeIntactAndInOrder) {
    for (const std::size_t bytes : {16, 17, 56, 57, 64, 1000, 65483, 65484, 65536, 130967, 1048576, 4194304}) {
        if (!carries(transport(), bytes)) break;
        join(bytes);
        for (std::uint64_t number = 0; number < 20; ++number) pass(bytes, number);
    }
}

TEST_P(EveryTransportOnce, CarriesMessagesSmallerThanTheLargestMessageOfTheTopic) {
    const std::size_t largest = carries(transport(), 200'000) ? 200'000 : transport().most_bytes;
    join(largest);
    for (const std::size_t bytes : {largest, std::size_t{16}, std::size_t{70'000}, std::size_t{64}}) {
        pass(bytes, bytes);
    }
}

TEST_P(EveryTransport, DeliversAStreamFromAnotherThreadInOrder) {
    constexpr std::uint64_t count = 5000;
    join(256);
    std::thread sender{[this] {
        for (std::uint64_t number = 0; number < count; ++number) send(256, number);
    }};
    // With a best-effort transport, a message that has not arrived within this time is lost.
    const bool loses = transport().reliability == Reliability::best_effort;
    std::uint64_t received = 0;
    std::uint64_t next = 0;
    while (next < count) {
        const auto sample = subscriber_->take(loses && received > 0 ? Patience{2000} : plenty);
        if (!sample || !*sample) break;
        const auto message = read_message((*sample)->bytes(), verified);
        EXPECT_GE(message.number, next);
        EXPECT_TRUE(message.intact);
        next = message.number + 1;
        ++received;
    }
    sender.join();

    if (transport().reliability == Reliability::reliable) {
        EXPECT_EQ(received, count);
    }
    EXPECT_GT(received, 0U);
}

TEST_P(EveryTransport, ASubscriberThatWaitsForALongTimeGetsTheMessage) {
    join(64);
    for (std::uint64_t number = 1; number <= 3; ++number) {
        std::thread sender{[this, number] {
            std::this_thread::sleep_for(std::chrono::milliseconds{20});
            send(64, number);
        }};
        expect(64, number);
        sender.join();
    }
}

TEST_P(EveryTransport, APublisherThatWaitsForALongTimeGetsSpace) {
    if (transport().reliability != Reliability::reliable) GTEST_SKIP() << "a best-effort transport is never full";
    join(100'000);
    std::thread sender{[this] {
        for (std::uint64_t number = 0; number < 200; ++number) send(100'000, number);
    }};
    for (std::uint64_t number = 0; number < 200; ++number) {
        if (number % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds{20});
        expect(100'000, number);
    }
    sender.join();
}

TEST_P(EveryTransport, WaitingEndsAtItsTimeLimit) {
    join(64);
    const Nanoseconds start = now_ns();
    const auto sample = subscriber_->take(Patience{50});

    ASSERT_TRUE(sample) << sample.error().text;
    EXPECT_FALSE(*sample);
    EXPECT_GE(now_ns() - start, 45'000'000);
}

// An open loop waits only until its next message is due, which may be nearly at once. A library that counts in larger
// units may round this time to 0, and 0 may mean: for ever.
TEST_P(EveryTransport, WaitingWithATimeLimitBelowAMicrosecondEnds) {
    join(64);
    for (const double nanoseconds : {1.0, 400.0, 999.0}) {
        const auto sample = subscriber_->take(Patience{nanoseconds / 1e6});
        ASSERT_TRUE(sample) << sample.error().text;
        EXPECT_FALSE(*sample);
    }
    send(64, 1);
    expect(64, 1);
}

TEST_P(EveryTransportOnce, ALoanThatIsNotPublishedIsNotSent) {
    join(64);
    {
        auto loan = publisher_->loan(64);
        ASSERT_TRUE(loan);
        write_message(loan->bytes(), 1, verified);
    }
    send(64, 2);
    expect(64, 2);
}

TEST_P(EveryTransport, AMissingPublisherIsNoticedOrWaitingEndsAtItsTimeLimit) {
    join(64);
    send(64, 1);
    publisher_.reset();
    expect(64, 1);  // a message that was published before the publisher left must still arrive
    std::string said;
    // On a busy machine, a library may notice late, in a thread of its own, that the publisher has left.
    const bool is_told = transport().reliability == Reliability::reliable;
    for (const Deadline deadline{is_told ? plenty : Patience{0}}; said.empty();) {
        const auto sample = subscriber_->take(Patience{50});
        EXPECT_FALSE(sample && *sample);
        if (!sample) said = sample.error().text;
        if (deadline.passed()) break;
    }

    if (is_told) {
        EXPECT_NE(said.find("gone"), std::string::npos) << said;
    }
}

TEST_P(EveryTransport, APublisherThatLeavesEndsTheWaitingOfItsSubscriber) {
    if (transport().reliability != Reliability::reliable) GTEST_SKIP() << "nobody says that it leaves";
    if (waiting() == Waiting::busy_poll) GTEST_SKIP() << "who polls looks when the patience is over";
    join(64);
    std::thread leaver{[this] {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        publisher_.reset();
    }};
    const Nanoseconds start = now_ns();
    const auto sample = subscriber_->take(plenty);
    leaver.join();

    ASSERT_FALSE(sample);
    EXPECT_NE(sample.error().text.find("gone"), std::string::npos);
    EXPECT_LT(now_ns() - start, to_nanoseconds(plenty) / 2);
}

TEST_P(EveryTransport, APublisherDoesNotHangAfterItsSubscriberHasLeft) {
    join(4096);
    subscriber_.reset();
    bool failed = false;
    // If the transport drops messages silently, it takes a moment until the publisher notices that the subscriber has
    // left.
    const Deadline deadline{plenty};
    for (int count = 0; (count < 3000 || !deadline.passed()) && !failed; ++count) {
        auto loan = publisher_->loan(4096);
        ASSERT_TRUE(loan);
        const auto sent = loan->publish(Patience{10});
        failed = !is_done(sent);
    }

    EXPECT_TRUE(failed);
}

TEST_P(EveryTransport, AFullTransportReportsThisAndLosesNoMessage) {
    if (transport().reliability != Reliability::reliable) GTEST_SKIP() << "a best-effort transport is never full";
    join(4096);
    expect_full_without_loss(*publisher_, *subscriber_, 4096);
}

TEST_P(EveryTransportOnce, AnEndpointWithoutASubscriberIsAnError) {
    const Topic topic = topic_for(transport(), "test-nobody", 64);

    EXPECT_FALSE(transport().advertise(topic, {"nobody-listens-here"}));
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryTransport, testing::ValuesIn(in_ways(transports_with_settings(), every_way)),
                         transport_and_waiting_name);
INSTANTIATE_TEST_SUITE_P(Registry, EveryTransportOnce,
                         testing::ValuesIn(in_ways(transports_with_settings(), {Waiting::block})),
                         transport_and_waiting_name);

/// Tests of code that all transports share, over one of them.
class AnyTransport : public EveryTransport {};

TEST_P(AnyTransport, RefusesALoanLargerThanTheLargestMessageOfTheTopic) {
    join(64);

    EXPECT_FALSE(publisher_->loan(65));
}

TEST_P(AnyTransport, RefusesAMessageThatIsTooShortForItsNumber) {
    join(64);
    {
        auto loan = publisher_->loan(message_header_bytes - 1);
        ASSERT_TRUE(loan);
        const auto sent = loan->publish(plenty);
        ASSERT_TRUE(is_done(sent));
    }
    const auto sample = subscriber_->take(plenty);

    ASSERT_FALSE(sample);
    EXPECT_NE(sample.error().text.find("15 bytes"), std::string::npos) << sample.error().text;
    send(64, 2);
    expect(64, 2);
}

INSTANTIATE_TEST_SUITE_P(Representatives, AnyTransport,
                         testing::ValuesIn(in_ways(representatives(), {Waiting::busy_poll})),
                         transport_and_waiting_name);

}  // namespace
}  // namespace tacholog
