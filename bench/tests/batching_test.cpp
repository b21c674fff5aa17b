// Tests of batches: when they are sent, that their messages stay separate, and what arrives over a bad network.
#include <gtest/gtest.h>
#include <poll.h>

#include <iterator>
#include <thread>

#include "tests/lossy_relay.hpp"
#include "tests/messages.hpp"
#include "tests/network.hpp"
#include "tests/program.hpp"
#include "tests/transports.hpp"
#include "transports/ip_endpoint.hpp"
#include "transports/udp_segments.hpp"

namespace tacholog {
namespace transports {
extern const Transport udp;
}  // namespace transports

namespace {

std::vector<const Transport*> transports_with_batches() {
    std::vector<const Transport*> found;
    std::copy_if(all_transports().begin(), all_transports().end(), std::back_inserter(found),
                 [](const Transport* one) { return one->most_batch_bytes > 0; });
    return found;
}

Topic topic_of(std::size_t max_bytes, std::size_t batch_messages, Waiting waiting = Waiting::busy_poll) {
    Topic topic{"test-" + std::to_string(now_ns()), max_bytes, "127.0.0.1"};
    topic.batch_messages = batch_messages;
    topic.waiting = waiting;
    return topic;
}

class EveryTransportWithBatches : public testing::TestWithParam<std::tuple<const Transport*, Waiting>> {
protected:
    static const Transport& transport() { return *std::get<0>(GetParam()); }

    void join(std::size_t max_bytes, std::size_t batch_messages) {
        Topic topic = topic_of(max_bytes, batch_messages, std::get<1>(GetParam()));
        add_needs(transport(), topic);
        auto subscribed = transport().subscribe(topic);
        ASSERT_TRUE(subscribed) << subscribed.error().text;
        subscriber_ = std::move(*subscribed);
        auto advertised = transport().advertise(topic, {subscriber_->endpoint()});
        ASSERT_TRUE(advertised) << advertised.error().text;
        publisher_ = std::move(*advertised);
        expect_match(*publisher_, *subscriber_);
    }

    void flush() {
        const auto flushed = publisher_->flush(plenty);
        ASSERT_TRUE(flushed.has_value()) << flushed.error().text;
        EXPECT_EQ(*flushed, Done::yes);
    }

    std::unique_ptr<Subscriber> subscriber_;
    std::unique_ptr<Publisher> publisher_;
};

TEST_P(EveryTransportWithBatches, HoldsMessagesBackUntilTheBatchIsFull) {
    join(64, 4);
    send_all(*publisher_, 3, 64);
    expect_nothing_more(*subscriber_);
    send(*publisher_, 3, 64);
    expect_all(*subscriber_, 4, 64);
    expect_nothing_more(*subscriber_);
}

TEST_P(EveryTransportWithBatches, SendsAnIncompleteBatchWhenItIsFlushed) {
    join(64, 100);
    flush();
    for (const std::uint64_t number : {1U, 3U}) {
        send_all(*publisher_, 2, 64, number);
        flush();
        expect_all(*subscriber_, 2, 64, number);
    }
    flush();
    expect_nothing_more(*subscriber_);
}

TEST_P(EveryTransportWithBatches, MessagesOfSeveralSizesShareABatch) {
    join(20'000, 9);
    const std::vector<std::size_t> sizes{64, 64, 16, 16, 20'000, 20'000, 17, 20'000, 64};
    for (const std::size_t bytes : sizes) send(*publisher_, bytes, bytes);
    for (const std::size_t bytes : sizes) expect(*subscriber_, bytes, bytes);
}

TEST_P(EveryTransportWithBatches, DeliversAStreamFromAnotherThreadInOrder) {
    constexpr std::uint64_t count = 20'000;
    join(56, 300);
    std::atomic<bool> all_sent = false;
    std::thread sender{[&] {
        send_all(*publisher_, count, 56);
        flush();
        all_sent = true;
    }};
    // With a best-effort transport, a message that has not arrived within this time is lost.
    const Patience silence = transport().reliability == Reliability::reliable ? plenty : Patience{200};
    const auto received = count_in_order(*subscriber_, all_sent, silence, [](std::uint64_t) {}, count);
    sender.join();

    if (transport().reliability == Reliability::reliable) {
        EXPECT_EQ(received, count);
    }
    EXPECT_GT(received, 0U);
}

TEST_P(EveryTransportWithBatches, ALoanThatIsNotPublishedDoesNotAffectOtherMessagesOfTheBatch) {
    join(64, 3);
    send(*publisher_, 1, 64);
    {
        auto loan = publisher_->loan(64);
        ASSERT_TRUE(loan);
        write_message(loan->bytes(), 2, verified);
    }
    send(*publisher_, 3, 64);
    send(*publisher_, 4, 64);
    for (const std::uint64_t number : {1U, 3U, 4U}) expect(*subscriber_, number, 64);
}

TEST_P(EveryTransportWithBatches, AFullTransportReportsThisAndLosesNoMessageOfItsBatches) {
    if (transport().reliability != Reliability::reliable) GTEST_SKIP() << "a best-effort transport is never full";
    join(4096, 7);
    expect_full_without_loss(*publisher_, *subscriber_, 4096, 7);
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryTransportWithBatches,
                         testing::ValuesIn(in_ways(transports_with_batches(), every_way)), transport_and_waiting_name);

/// Writes each group that is not sent yet as OFFSET+BYTES/SEGMENT_BYTES.
std::string text_of(const SegmentGroups& groups) {
    std::ostringstream text;
    for (const auto& group : groups.unsent()) {
        text << (text.tellp() > 0 ? " " : "") << group.offset << '+' << group.bytes << '/' << group.segment_bytes;
    }
    return text.str();
}

TEST(SegmentGroups, AShorterDatagramEndsItsGroupAndALongerDatagramBeginsANewGroup) {
    SegmentGroups groups;
    for (const std::size_t bytes : {88, 88, 40, 40, 40, 88}) groups.add(bytes);

    EXPECT_EQ(text_of(groups), "0+216/88 216+80/40 296+88/88");
}

TEST(SegmentGroups, NoGroupExceedsTheLimitsOfTheKernel) {
    SegmentGroups groups;
    for (int count = 0; count < 129; ++count) groups.add(88);
    EXPECT_EQ(text_of(groups), "0+11264/88 11264+88/88");
    groups.clear();
    for (int count = 0; count < 3; ++count) groups.add(30'000);
    EXPECT_EQ(text_of(groups), "0+60000/30000 60000+30000/30000");
}

TEST(SegmentGroups, UnsentDatagramsAreGroupedAgainAfterTheLimitIsLowered) {
    SegmentGroups groups;
    for (const std::size_t bytes : {50, 90, 90, 90, 90, 40}) groups.add(bytes);
    groups.sent(1);
    groups.limit(2);
    EXPECT_EQ(text_of(groups), "50+180/90 230+180/90 410+40/40");
    groups.limit(1);
    EXPECT_EQ(text_of(groups), "50+90/90 140+90/90 230+90/90 320+90/90 410+40/40");
}

TEST(SegmentGroups, TheLastDatagramCanBeRemovedAgain) {
    SegmentGroups groups;
    for (const std::size_t bytes : {90, 90, 100}) groups.add(bytes);
    groups.take_back(100);
    groups.take_back(90);
    groups.add(90);

    EXPECT_EQ(text_of(groups), "0+180/90");
}

TEST(WholeMessage, IsNotReadFromAnotherStreamOrFromAPartOfAMessage) {
    std::array<std::byte, sizeof(FragmentHeader) + 32> datagram{};
    const auto taken = [&](FragmentHeader header, std::size_t bytes) {
        std::memcpy(datagram.data(), &header, sizeof header);
        return whole_message(std::span{datagram}.first(bytes), 7, 32).size();
    };
    constexpr std::size_t all = datagram.size();

    EXPECT_EQ(taken({7, 0, 0, 32}, all), 32U);
    EXPECT_EQ(taken({8, 0, 0, 32}, all), 0U);
    EXPECT_EQ(taken({7, 0, 1, 32}, all), 0U);
    EXPECT_EQ(taken({7, 0, 0, 33}, all), 0U);
    EXPECT_EQ(taken({7, 0, 0, 0}, sizeof(FragmentHeader)), 0U);
    EXPECT_EQ(taken({7, 0, 0, 32}, 8), 0U);
    EXPECT_EQ(whole_message(datagram, 7, 31).size(), 0U) << "longer than agreed";
}

/// The datagrams go to a socket in place of the subscriber's socket. The test receives them there one by one, and sends
/// them on.
TEST(BatchedUdp, LostOrRepeatedDatagramAffectsOnlyItsOwnMessage) {
    const Fd between = open_relay_socket();
    const Topic topic = topic_of(64, 10);
    auto subscriber = transports::udp.subscribe(topic);
    ASSERT_TRUE(subscriber);
    const auto endpoint = parse_endpoint((*subscriber)->endpoint());
    ASSERT_TRUE(endpoint);
    auto publisher = transports::udp.advertise(topic, {IpEndpoint{local_address(between), endpoint->token}.text()});
    ASSERT_TRUE(publisher) << publisher.error().text;
    send_all(**publisher, 10, 64);
    for (int number = 0; number < 10; ++number) {
        pollfd waiting{between.get(), POLLIN, 0};
        ASSERT_EQ(::poll(&waiting, 1, static_cast<int>(plenty.count())), 1) << "waited for datagram " << number;
        Address source;
        const auto datagram = receive_datagram(between, source);
        ASSERT_EQ(datagram.size(), sizeof(FragmentHeader) + 64);
        for (int copy = number == 3 ? 0 : number == 5 ? 2 : 1; copy > 0; --copy)
            send_datagram(between, datagram, endpoint->address);
    }
    for (const std::uint64_t number : {0U, 1U, 2U, 4U, 5U, 5U, 6U, 7U, 8U, 9U}) expect(**subscriber, number, 64);
}

/// A path with a small MTU. Neither a network card nor the kernel can split larger datagrams on it.
class NarrowPath : public Network {
public:
    NarrowPath() : Network({"narrow"}, {"ip"}) {
        step("ip -n " + space("narrow") + " link set lo mtu 1500");
        step("ip -n " + space("narrow") + " link set lo up");
    }
};

TEST(BatchedUdp, SendsSingleDatagramsIfTheMtuIsTooSmallForSegments) {
    const NarrowPath path;
    if (!path.missing().empty()) LEAVE_OUT << "needs " << path.missing();
    Result<std::unique_ptr<Subscriber>> subscriber{Error{"not there"}};
    Result<std::unique_ptr<Publisher>> publisher{Error{"not there"}};
    path.within("narrow", [&] {
        const Topic topic = topic_of(4000, 6);
        subscriber = transports::udp.subscribe(topic);
        if (subscriber) publisher = transports::udp.advertise(topic, {(*subscriber)->endpoint()});
    });
    ASSERT_TRUE(publisher) << publisher.error().text;
    if ((*publisher)->batched_by() != "udp-segment") LEAVE_OUT << "needs a kernel with UDP_SEGMENT (4.18)";
    for (const std::uint64_t first : {0U, 6U}) {
        send_all(**publisher, 6, 4000, first);
        expect_all(**subscriber, 6, 4000, first);
    }
    EXPECT_EQ((*publisher)->batched_by(), "sendmmsg");
}

TEST(Batching, TheLogStatesTheRequestedBytesAndTheMessagesOfABatch) {
    Program both{"--test throughput --transport udp --sizes 64,3000 --batch-bytes 4KiB --duration 0.05 --warmup 0"};
    ASSERT_EQ(both.wait(), 0) << both.err();
    const std::string log = both.out();

    EXPECT_EQ(value(log, "config", "batch_bytes"), "4096");
    EXPECT_NE(log.find("throughput payload_bytes=64 "), std::string::npos);
    EXPECT_EQ(value(log, "throughput", "batch_messages"), "64");
    const std::string by = value(log, "throughput", "batched_by");
    EXPECT_TRUE(by == "udp-segment" || by == "sendmmsg") << by;  // depends on the kernel
    EXPECT_EQ(value(log.substr(log.find("throughput payload_bytes=3000")), "throughput", "batch_messages"), "1");
}

TEST(Batching, EachOfSeveralSubscribersGetsAllMessages) {
    Program all{
        "--test throughput --transport tcp --subscribers 3 --sizes 64 --batch-bytes 8KiB --duration 0.05 --warmup 0 "
        "--verify"};
    ASSERT_EQ(all.wait(), 0) << all.err();

    EXPECT_EQ(value(all.out(), "aggregate", "batch_messages"), "128");
    EXPECT_EQ(value(all.out(), "aggregate", "corrupted"), "0");
    EXPECT_EQ(std::stoull(value(all.out(), "aggregate", "received")),
              3 * std::stoull(value(all.out(), "aggregate", "sent")));
}

TEST(Batching, AllMessagesAreSentBeforeTheRunEnds) {
    Program both{
        "--test throughput --transport tcp --sizes 64 --batch-bytes 64KiB --rate 100 --duration 0.2 --warmup 0"};
    ASSERT_EQ(both.wait(), 0) << both.err();

    EXPECT_EQ(value(both.out(), "throughput", "received"), value(both.out(), "throughput", "sent"));
}

TEST(Batching, AllMessagesAreSentBeforeTheLastBurstEnds) {
    Program both{
        "--test demand --transport uds --sizes 64 --demands 3 --recovery 20 --batch-bytes 64KiB --duration 0.1 "
        "--warmup 0"};
    ASSERT_EQ(both.wait(), 0) << both.err();

    EXPECT_EQ(value(both.out(), "demand", "received"), value(both.out(), "demand", "sent")) << both.out();
    EXPECT_EQ(std::stoull(value(both.out(), "demand", "sent")) % 3, 0U);
    EXPECT_EQ(value(both.out(), "demand", "batch_messages"), "1024");
}

TEST(Batching, TransportWithoutBatchesIsRefusedAndTheOthersAreNamed) {
    Program both{"--test throughput --transport shm --batch-bytes 4KiB"};

    EXPECT_EQ(both.wait(), 2);
    EXPECT_EQ(both.err(), "perftest: --batch-bytes: shm has no batches; transports that have them are tcp, udp, uds\n");
}

TEST(Batching, OverUdpIsLimitedToTheSizeOfADatagram) {
    Program both{"--test throughput --transport udp --batch-bytes 65KiB"};

    EXPECT_EQ(both.wait(), 2);
    EXPECT_EQ(both.err(), "perftest: --batch-bytes: udp takes up to 64KiB\n");
}

TEST(Batching, PutsLargeMessagesIntoOneBatchOverAStream) {
    Program both{"--test throughput --transport tcp --sizes 64KiB --batch-bytes 256KiB --duration 0.05 --warmup 0"};

    EXPECT_EQ(both.wait(), 0) << both.err();
    EXPECT_NE(both.out().find(" lost=0 duplicated=0 reordered=0 batch_messages=4 batched_by=send"), std::string::npos)
        << both.out();
}

}  // namespace
}  // namespace tacholog
