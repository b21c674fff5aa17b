// Tests of one publisher with several subscribers. They run over every transport that reaches several subscribers, and
// state what such a transport must do.
#include <algorithm>
#include <thread>

#include "tests/messages.hpp"
#include "tests/program.hpp"
#include "tests/transports.hpp"

namespace tacholog {
namespace {

constexpr std::size_t audience = 3;

const std::string quick = " --sizes 64,100KiB" + briefly + "--subscribers 3 --transport ";
const std::string endless = " --sizes 64" + endlessly + "--subscribers 3 --transport ";

bool reaches_several(const Transport& transport) {
    return transport.reaches_several;
}

/// A best-effort transport may drop the messages for which these tests wait.
bool delivers_to_several(const Transport& transport) {
    return reaches_several(transport) && transport.reliability == Reliability::reliable;
}

bool drops_for_slow(const Transport& transport) {
    return transport.drops_for_slow;
}

class ToSeveral : public testing::TestWithParam<const Transport*> {
protected:
    // Subscribers leave first. Otherwise the publisher would wait for answers that never come.
    void TearDown() override { subscribers_.clear(); }

    void join(std::size_t max_bytes, SlowSubscriber slow = SlowSubscriber::block) {
        subscribers_.clear();
        publisher_.reset();
        channel_ = "test-" + std::to_string(now_ns());
        std::vector<std::string> endpoints;
        for (std::size_t at = 0; at < audience; ++at) {
            auto subscribed = GetParam()->subscribe(topic(max_bytes, slow, at));
            ASSERT_TRUE(subscribed) << subscribed.error().text;
            subscribers_.push_back(std::move(*subscribed));
            endpoints.push_back(subscribers_.back()->endpoint());
        }
        auto advertised = GetParam()->advertise(topic(max_bytes, slow, audience), endpoints);
        ASSERT_TRUE(advertised) << advertised.error().text;
        publisher_ = std::move(*advertised);
        std::vector<Subscriber*> all;
        for (const auto& subscriber : subscribers_) all.push_back(subscriber.get());
        expect_match(*publisher_, all);
    }

    Topic topic(std::size_t max_bytes, SlowSubscriber slow, std::size_t who) {
        Topic made = topic_for(*GetParam(), channel_ + "-" + std::to_string(who), max_bytes);
        made.audience = {audience, slow};
        made.channel = channel_;
        return made;
    }

    void carry(std::uint64_t count, std::size_t bytes) {
        tacholog::carry(*publisher_, subscribers_, count, bytes);
        for (const auto& subscriber : subscribers_) expect_nothing_more(*subscriber);
    }

    std::vector<std::unique_ptr<Subscriber>> subscribers_;
    std::unique_ptr<Publisher> publisher_;
    std::string channel_;
};

TEST_P(ToSeveral, EachSubscriberReceivesEachMessageOnceInOrderAndIntact) {
    constexpr std::size_t large = 4 * 1024 * 1024;
    for (const std::size_t bytes : {std::size_t{16}, std::size_t{64}, std::size_t{1000}, std::size_t{65536}, large}) {
        join(bytes);
        carry(bytes == large ? 50 : 200, bytes);
    }
}

TEST_P(ToSeveral, AStreamOfManySmallMessagesReachesEachSubscriber) {
    join(1024);
    carry(20'000, 1024);
}

TEST_P(ToSeveral, ThePublisherWaitsForTheSlowestSubscriberAndNoMessageIsLost) {
    join(4096);
    std::uint64_t sent_count = 0;
    std::thread quick_one{[this, &sent_count] {
        while (true) {
            const auto sample = subscribers_[0]->take(Patience{300});
            if (!sample || !*sample) return;
        }
    }};
    // the other two subscribers take nothing
    while (true) {
        const auto sent = try_to_send(*publisher_, sent_count, 4096, Patience{20});
        ASSERT_TRUE(sent.has_value()) << sent.error().text;
        if (*sent == Done::not_yet) break;
        ++sent_count;
        ASSERT_LT(sent_count, 1'000'000U) << "nobody waits";
    }
    quick_one.join();
    for (std::size_t slow = 1; slow < audience; ++slow) expect_all(*subscribers_[slow], sent_count, 4096);
    EXPECT_EQ(publisher_->dropped(1), 0U);
}

TEST_P(ToSeveral, ThePublisherDoesNotHangAfterASubscriberHasLeft) {
    join(4096);
    subscribers_[1].reset();
    bool failed = false;
    const Deadline deadline{plenty};  // see every_transport_test.cpp
    for (int count = 0; (count < 3000 || !deadline.passed()) && !failed; ++count) {
        const auto sent = try_to_send(*publisher_, 0, 4096, Patience{10});
        failed = !is_done(sent);
    }

    EXPECT_TRUE(failed);
}

class DroppingForSlow : public ToSeveral {};

TEST_P(DroppingForSlow, ThePublisherDoesNotWaitForASlowSubscriberAndItsDroppedMessagesAreCounted) {
    constexpr std::uint64_t most = 20'000;
    // The number of messages that are sent before the quick subscriber must have taken them. The transport holds more
    // messages than this, so the quick subscriber misses none. A smaller number has two drawbacks: the test takes
    // seconds, and over a network, the slow subscriber counts as disconnected.
    const std::uint64_t at_once = GetParam()->reach == Reach::network ? 128 : 32;
    join(4096, SlowSubscriber::drop);
    std::atomic<std::uint64_t> sent = 0;
    std::atomic<std::uint64_t> taken = 0;
    std::atomic<bool> over = false;
    std::thread quick_one{[&] {
        while (!HasFatalFailure() && !(over && taken == sent)) {
            if (taken == sent) std::this_thread::yield();
            if (taken == sent) continue;
            expect(*subscribers_[0], taken, 4096);
            ++taken;
        }
    }};
    while (sent < most && publisher_->dropped(1) == 0 && !HasFatalFailure()) {
        send_all(*publisher_, at_once, 4096, sent);
        sent += at_once;
        for (const Deadline deadline{plenty}; taken < sent && !HasFatalFailure(); std::this_thread::yield()) {
            if (deadline.passed()) ADD_FAILURE() << "waited for the quick one to take message " << sent - 1;
            if (deadline.passed()) break;
        }
    }
    over = true;
    quick_one.join();
    const std::uint64_t count = sent;
    EXPECT_EQ(publisher_->dropped(0), 0U);

    const std::atomic<bool> all_sent = true;
    std::uint64_t late = 0;
    for (const Deadline deadline{plenty}; late + publisher_->dropped(1) < count && !deadline.passed();)
        late += count_in_order(*subscribers_[1], all_sent, Patience{10}, [](std::uint64_t) {});
    EXPECT_EQ(late + publisher_->dropped(1), count);
    EXPECT_GT(publisher_->dropped(1), 0U);
    EXPECT_GT(late, 0U);
}

TEST_P(DroppingForSlow, ARunCountsItsDroppedMessages) {
    Program perftest{"--test throughput --verify --slow-subscriber drop" + quick + std::string{GetParam()->name}};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
    const auto log = perftest.out();
    EXPECT_EQ(value(log, "config", "slow_subscriber"), "drop");
    EXPECT_EQ(value(log, "config", "reliability"), "best-effort");
    for (const std::string name : {"sub1", "sub2", "sub3"}) {
        const std::string line = "throughput payload_bytes=64 participant=" + name;
        const auto count = [&](const char* key) { return std::stoull(value(log, line, key)); };
        EXPECT_EQ(count("received") + count("lost"), count("sent")) << log;
        EXPECT_EQ(count("dropped"), count("lost")) << log;
        EXPECT_EQ(count("corrupted"), 0U) << log;
    }
}

INSTANTIATE_TEST_SUITE_P(Registry, DroppingForSlow,
                         testing::ValuesIn(those_that(drops_for_slow, own_in_the_gate(transports_with_settings()))),
                         transport_name);

INSTANTIATE_TEST_SUITE_P(Registry, ToSeveral,
                         testing::ValuesIn(those_that(delivers_to_several,
                                                      own_in_the_gate(transports_with_settings()))),
                         transport_name);

class RunsToSeveral : public ToSeveral {
protected:
    static std::string transport() { return std::string{GetParam()->name}; }
    void TearDown() override {}
};

TEST_P(RunsToSeveral, EachSubscriberHasItsOwnLinesAndTheAggregateHasTheirSums) {
    Program perftest{"--test throughput --verify" + quick + transport()};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
    const auto log = perftest.out();
    EXPECT_EQ(value(log, "config", "subscribers"), "3");
    for (const std::string size : {"64", "102400"}) {
        std::uint64_t received = 0;
        for (const std::string name : {"sub1", "sub2", "sub3"}) {
            const std::string line = "throughput payload_bytes=" + size + " participant=" + name;
            EXPECT_EQ(number(log, line, "lost"), 0U);
            EXPECT_EQ(number(log, line, "corrupted"), 0U);
            EXPECT_EQ(number(log, line, "received"), number(log, line, "sent"));
            received += number(log, line, "received");
            EXPECT_NE(log.find("resources payload_bytes=" + size + " test=throughput role=sub participant=" + name),
                      std::string::npos);
        }
        const std::string all = "aggregate payload_bytes=" + size;
        EXPECT_EQ(number(log, all, "received"), received);
        EXPECT_EQ(number(log, all, "sent") * 3, received);
        EXPECT_LE(std::stod(value(log, all, "rate_min_per_s")) * 3,
                  std::stod(value(log, all, "rate_sum_per_s")) + 0.01);
    }
    EXPECT_EQ(value(log, "end", "throughput"), "6");
}

TEST_P(RunsToSeveral, BurstsReachEachSubscriber) {
    Program perftest{"--test demand --demands 20 --recovery 2" + quick + transport()};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
    EXPECT_EQ(number(perftest.out(), "aggregate", "received"), 3 * number(perftest.out(), "aggregate", "sent"));
}

TEST_P(RunsToSeveral, AKilledSubscriberIsNamedAndEndsTheRun) {
    if (GetParam()->parties == Parties::threads) GTEST_SKIP() << "one process";
    Program perftest{"--test throughput" + endless + transport()};
    ASSERT_TRUE(perftest.says("\nwarmup")) << perftest.err() << perftest.out();
    ::kill(perftest.child(), SIGKILL);

    EXPECT_EQ(perftest.wait(), 1);
    EXPECT_EQ(value(perftest.out(), "end", "status"), "failed");
    EXPECT_NE(perftest.err().find("the subscriber process sub"), std::string::npos) << perftest.err();
    EXPECT_NE(perftest.err().find("killed by signal 9"), std::string::npos) << perftest.err();
}

TEST_P(RunsToSeveral, SubscribersThatAreStartedSeparatelyGetTheirNamesFromThePublisher) {
    if (GetParam()->parties == Parties::threads) GTEST_SKIP() << "one process";
    const std::string port = " --port " + std::to_string(free_port());
    const std::string common = "--test throughput" + quick + transport() + port;
    Program first{common + " --role sub"};
    Program publisher{common + " --role pub"};
    Program second{common + " --role sub"};
    Program third{common + " --role sub"};

    EXPECT_EQ(publisher.wait(), 0) << publisher.err() << publisher.out();
    std::vector<std::string> names;
    for (Program* one : {&first, &second, &third}) {
        EXPECT_EQ(one->wait(), 0) << one->err() << one->out();
        names.push_back(value(one->out(), "throughput", "participant"));
        const std::string line = "throughput payload_bytes=64 participant=" + names.back();
        EXPECT_EQ(value(publisher.out(), line, "duration_ns"), value(one->out(), line, "duration_ns"));
    }
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{"sub1", "sub2", "sub3"}));
}

INSTANTIATE_TEST_SUITE_P(Registry, RunsToSeveral,
                         testing::ValuesIn(those_that(delivers_to_several, own_in_the_gate(transports_of_one_host()))),
                         transport_name);

TEST(Several, AMissingSubscriberEndsTheRunAndTheErrorStatesHowManyHaveConnected) {
    const bool one_came = within_some_limit([](const std::string& limit) {
        const std::string common =
            "--test throughput --transport tcp --subscribers 2 --port " + std::to_string(free_port());
        Program publisher{common + " --role pub" + limit};
        Program subscriber{common + " --role sub"};
        EXPECT_EQ(publisher.wait(), 1);
        if (publisher.err().find(" within the time limit (1 of 2 have)") == std::string::npos) return false;
        EXPECT_EQ(subscriber.wait(), 1);
        EXPECT_NE(subscriber.err().find("the peer gave up: no subscriber"), std::string::npos) << subscriber.err();
        return true;
    });
    EXPECT_TRUE(one_came);
}

TEST(Several, RefusedOptionsGiveOneLineThatNamesThePossibleValues) {
    const std::string throughput = "--test throughput --subscribers 2 --transport ";
    const std::vector<std::pair<std::string, std::string>> refusals{
        {throughput + "udp",
         "perftest: --subscribers 2: udp reaches only one subscriber; transports that reach several are "},
        {"--test latency --transport tcp --subscribers 2",
         "perftest: --subscribers is for --test throughput and demand"},
        {throughput + "tcp --slow-subscriber drop",
         "perftest: --slow-subscriber drop: tcp cannot drop messages for one subscriber; transports that can are "},
        {"--test throughput --transport tcp --subscribers 0",
         "perftest: --subscribers 0: not a number from 1 to 64\n"}};
    for (const auto& [line, answer] : refusals) {
        Program perftest{line};

        EXPECT_EQ(perftest.wait(), 2) << line;
        const auto said = perftest.err();
        EXPECT_TRUE(said.starts_with(answer)) << said;
        EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    }
}

}  // namespace
}  // namespace tacholog
