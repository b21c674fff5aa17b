// Tests of keyed data: messages of several instances, written in turn. Each instance is checked separately.
#include "base/instances.hpp"

#include "tests/program.hpp"
#include "tests/reported.hpp"
#include "tests/transports.hpp"

namespace tacholog {
namespace {

std::vector<std::uint64_t> numbers(std::uint64_t instances, std::size_t count) {
    InTurn turn{instances};
    std::vector<std::uint64_t> found;
    for (std::size_t at = 0; at < count; ++at) found.push_back(turn.next());
    return found;
}

TEST(Instances, AreWrittenInTurnAndEachInstanceHasItsOwnNumbers) {
    const std::uint64_t one = std::uint64_t{1} << 48;

    EXPECT_EQ(numbers(3, 7), (std::vector<std::uint64_t>{0, one, 2 * one, 1, one + 1, 2 * one + 1, 2}));
}

TEST(Instances, ASingleInstanceHasTheNumbersOfAnUnkeyedTopic) {
    EXPECT_EQ(numbers(1, 4), (std::vector<std::uint64_t>{0, 1, 2, 3}));
}

TEST(Instances, MessagesAreCountedOverAllInstances) {
    InTurn turn{3};
    for (std::uint64_t count = 0; count < 7; ++count) {
        EXPECT_EQ(turn.count(), count);
        turn.next();
    }
}

/// Returns a sequence that has counted only the messages at these indexes. Index 0 is the first message that a
/// publisher with three instances writes.
KeyedSequence those_at(const std::vector<std::size_t>& places, std::uint64_t first = 0) {
    const auto written = numbers(3, 20);
    KeyedSequence sequence{3};
    sequence.restart(first);
    for (const std::size_t place : places) sequence.arrived(written[place]);
    return sequence;
}

TEST(KeyedSequence, MessagesInTheWrittenOrderHaveNoFault) {
    const auto sequence = those_at({0, 1, 2, 3, 4});

    EXPECT_EQ(sequence.received(), 5U);
    EXPECT_EQ(sequence.next(), 5U);
    EXPECT_EQ(sequence.lost(5) + sequence.duplicated() + sequence.reordered(), 0U);
}

TEST(KeyedSequence, MissingMessagesAreLostAndAnInstanceWithoutMessagesIsNotHeard) {
    const auto sequence = those_at({0, 2, 3, 5});

    EXPECT_EQ(sequence.lost(6), 2U);
    EXPECT_EQ(sequence.heard(), 2U);
}

TEST(KeyedSequence, MessagesOfTwoInstancesMayOvertakeEachOther) {
    const auto sequence = those_at({1, 0, 2, 4, 3, 5});

    EXPECT_EQ(sequence.reordered(), 0U);
    EXPECT_EQ(sequence.lost(6), 0U);
    EXPECT_EQ(sequence.next(), 6U);
}

TEST(KeyedSequence, AMessageThatIsOvertakenWithinItsInstanceIsReordered) {
    const auto sequence = those_at({3, 0, 1, 2});

    EXPECT_EQ(sequence.reordered(), 1U);
    EXPECT_EQ(sequence.received(), 4U);
    EXPECT_EQ(sequence.lost(4), 0U);
}

TEST(KeyedSequence, ADuplicateIsNotReceivedTwice) {
    const auto sequence = those_at({0, 1, 1, 4, 1});

    EXPECT_EQ(sequence.received(), 3U);
    EXPECT_EQ(sequence.duplicated(), 2U);
}

TEST(KeyedSequence, MessagesOfTheWarmUpAreStaleInEachInstance) {
    // The messages 0 to 4 belong to the warm-up: two of the first instance, two of the second and one of the third.
    const auto sequence = those_at({3, 4, 5, 6, 7}, 5);

    EXPECT_EQ(sequence.received(), 3U);
    EXPECT_EQ(sequence.lost(8), 0U);
    EXPECT_EQ(sequence.duplicated() + sequence.reordered(), 0U);
}

TEST(Instances, IndexAndNumberOfAMessageCanBeConvertedIntoEachOther) {
    const auto written = numbers(3, 20);
    for (std::uint64_t place = 0; place < written.size(); ++place) {
        EXPECT_EQ(number_at(place, 3), written[place]);
        EXPECT_EQ(index_of(written[place], 3), place);
    }
}

TEST(Newest, AMessageIsLateOnlyAfterANewerMessageOfItsInstance) {
    const auto written = numbers(3, 9);
    Newest newest{3};

    EXPECT_TRUE(newest.advance(written[4]));
    EXPECT_TRUE(newest.advance(written[0]));
    EXPECT_FALSE(newest.advance(written[1]));
    EXPECT_FALSE(newest.advance(written[4]));
    EXPECT_FALSE(newest.advance(std::uint64_t{3} << 48));
    EXPECT_EQ(newest.heard(), 2U);
}

TEST(Newest, InstancesHeardBeforeARestartDoNotCount) {
    const auto written = numbers(3, 9);
    Newest newest{3};
    for (std::size_t place = 0; place < 4; ++place) newest.advance(written[place]);
    newest.restart(4);

    EXPECT_EQ(newest.heard(), 0U);
    EXPECT_FALSE(newest.advance(written[3]));
    EXPECT_TRUE(newest.advance(written[6]));
    EXPECT_EQ(newest.heard(), 1U);
}

TEST(KeyedSequence, AMessageOfAnUnknownInstanceIsForeign) {
    auto sequence = those_at({0});

    EXPECT_EQ(sequence.arrived(std::uint64_t{3} << 48), Arrival::foreign);
    EXPECT_EQ(sequence.received(), 1U);
}

TEST(KeyedSequence, ARestartForgetsThePreviousPhase) {
    auto sequence = those_at({0, 1, 2, 3, 3, 1});
    sequence.restart(6);
    for (const std::size_t place : {6U, 7U, 10U}) sequence.arrived(numbers(3, 20)[place]);

    EXPECT_EQ(sequence.received(), 3U);
    EXPECT_EQ(sequence.duplicated() + sequence.reordered(), 0U);
    EXPECT_EQ(sequence.lost(11), 2U);
    EXPECT_EQ(sequence.heard(), 2U);
}

class KeyedOver : public testing::TestWithParam<const Transport*> {
protected:
    std::string transport() const { return " --transport " + std::string{GetParam()->name}; }
};

/// Seven instances are written in turn, so each gets at least a seventh of the messages. An instance is missing only if
/// all of its messages were lost, which can happen on a busy machine with a transport that loses messages.
void expect_heard(const std::string& log, const std::string& kind, const std::string& received_as) {
    const auto received = number(log, kind, received_as);
    const auto lost = number(log, kind, "lost");
    const auto written = std::min<std::uint64_t>(7, received + lost);
    const auto heard = number(log, kind, "instances_heard");

    EXPECT_LE(heard, std::min<std::uint64_t>(7, received)) << log;
    EXPECT_LE((written - heard) * std::max<std::uint64_t>(1, (received + lost) / 7), lost) << log;
}

TEST_P(KeyedOver, EveryInstanceIsHeardInMessagesOfTheSmallestSize) {
    Program perftest{"--test throughput --instances 7 --sizes 16 --rate 2000 --duration 0.05 --warmup 0.01 --verify" +
                     transport()};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
    const auto log = perftest.out();
    EXPECT_EQ(number(log, "config", "instances"), 7U);
    EXPECT_EQ(number(log, "throughput", "instances"), 7U);
    expect_heard(log, "throughput", "received");
    EXPECT_EQ(number(log, "throughput", "corrupted"), 0U);
    if (GetParam()->reliability == Reliability::best_effort) return;
    EXPECT_EQ(number(log, "throughput", "received"), number(log, "throughput", "sent"));
}

TEST_P(KeyedOver, EveryInstanceIsAnsweredInRoundTrips) {
    for (const std::string loop : {"", " --rate 2000"}) {
        Program perftest{"--test latency --instances 7 --sizes 16 --duration 0.05 --warmup 0.01 --verify" + loop +
                         transport()};

        EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
        const auto log = perftest.out();
        EXPECT_EQ(number(log, "latency", "instances"), 7U) << log;
        expect_heard(log, "latency", "samples");
        EXPECT_EQ(number(log, "latency", "corrupted"), 0U) << log;
        EXPECT_EQ(number(log, "latency", "duplicated") + number(log, "latency", "reordered"), 0U) << log;
        if (GetParam()->reliability == Reliability::reliable) {
            EXPECT_EQ(number(log, "latency", "lost"), 0U) << log;
        }
    }
}

TEST_P(KeyedOver, EveryInstanceIsHeardOneWay) {
    Program perftest{
        "--test latency --basis one-way --instances 7 --sizes 16 --rate 2000 --duration 0.05 --warmup 0.01" +
        transport()};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
    const auto log = perftest.out();
    expect_heard(log, "latency", "samples");
    EXPECT_EQ(number(log, "latency", "duplicated") + number(log, "latency", "reordered"), 0U) << log;
    EXPECT_GT(number(log, "latency", "samples"), 0U) << log;
}

INSTANTIATE_TEST_SUITE_P(Registry, KeyedOver, testing::ValuesIn(own_in_the_gate(transports_of_one_host())),
                         transport_name);

std::string run_mock(const std::string& options, const std::string& test = "throughput") {
    return log_of_run("--test " + test + " --transport mock --sizes 64 --rate 5000 --warmup 0.02 " + options, 50);
}

TEST(Keyed, AnInstanceWhoseMessagesAreAllLostIsNotHeard) {
    const auto log = run_mock("--instances 10 --set faults=lose=10");

    EXPECT_EQ(number(log, "throughput", "instances_heard"), 9U) << log;
    const auto before = number(log, "warmup", "messages");
    const auto lost = (before + number(log, "throughput", "sent")) / 10 - before / 10;
    EXPECT_EQ(number(log, "throughput", "lost"), lost) << log;
}

TEST(Keyed, MessagesAreOutOfOrderOnlyWithinTheirInstance) {
    const auto apart = run_mock("--instances 4 --set faults=reorder=5");
    const auto alone = run_mock("--instances 1 --set faults=reorder=5");

    EXPECT_EQ(number(apart, "throughput", "reordered"), 0U) << apart;
    // Up to two of these messages may not count as reordered. The first may belong to the warm-up. The last may never
    // be overtaken, because no message follows it.
    EXPECT_GE(number(alone, "throughput", "reordered") + 2, number(alone, "throughput", "sent") / 5) << alone;
}

TEST(Keyed, AnInstanceThatIsNeverAnsweredIsNotHeard) {
    for (const std::string test : {"latency", "latency --basis one-way"}) {
        const auto log = run_mock("--instances 10 --set faults=lose=10", test);

        EXPECT_EQ(number(log, "latency", "instances_heard"), 9U) << log;
        EXPECT_GT(number(log, "latency", "lost"), 0U) << log;
    }
}

TEST(Keyed, AnswersAreOutOfOrderOnlyWithinTheirInstance) {
    for (const std::string test : {"latency", "latency --basis one-way"}) {
        const auto apart = run_mock("--instances 4 --set faults=reorder=5", test);
        const auto alone = run_mock("--instances 1 --set faults=reorder=5", test);

        EXPECT_EQ(number(apart, "latency", "reordered"), 0U) << apart;
        EXPECT_GT(number(alone, "latency", "reordered"), 0U) << alone;
    }
}

TEST(Keyed, TheAggregateStatesTheInstancesHeard) {
    for (const std::string several : {" --subscribers 2", " --publishers 2"}) {
        Program perftest{"--test throughput --transport shm --instances 5 --sizes 64 --duration 0.05 --warmup 0.01" +
                         several};

        EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
        EXPECT_EQ(number(perftest.out(), "aggregate", "instances"), 5U) << perftest.out();
        EXPECT_EQ(number(perftest.out(), "aggregate", "instances_heard"), 5U) << perftest.out();
    }
}

TEST(Keyed, EachSubscriberReportsTheInstancesThatItHeard) {
    Program perftest{
        "--test demand --transport tcp --subscribers 2 --instances 5 --demands 20 --recovery 2 --sizes 64 "
        "--duration 0.05 --warmup 0.01"};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
    const std::string line = "demand payload_bytes=64 demand=20 recovery_time_ns=2000000 participant=";
    for (const char* subscriber : {"sub1", "sub2"}) {
        EXPECT_EQ(number(perftest.out(), line + subscriber, "instances_heard"), 5U) << perftest.out();
    }
}

TEST(Keyed, SidesWithDifferentNumbersOfInstancesRefuseEachOther) {
    expect_refusal("--test throughput --transport tcp --sizes 64", " --instances 3", "", "--instances=3");
}

TEST(Keyed, TheLogOfAnUnkeyedTopicDoesNotMentionInstances) {
    auto result = throughput();
    EXPECT_EQ(written(result, config_of(tacholog::Test::throughput)).find("instances"), std::string::npos);

    result.instances = Instances{10, 9};
    EXPECT_NE(written(result).find(" corrupted=0 instances=10 instances_heard=9 duration_ns="), std::string::npos);
}

}  // namespace
}  // namespace tacholog
