// Tests with a program between the two sides: a message that waits in a broker is late, not lost.
#include <csignal>

#include "tests/program.hpp"
#include "tests/transports.hpp"

namespace tacholog {
namespace {

Transports transports_with_a_broker() {
    return those_that(
        [](const Transport& one) { return one.start_companion != nullptr && one.reach == Reach::network; },
        own_in_the_gate(transports_of_one_host()));
}

class WithABroker : public testing::TestWithParam<const Transport*> {};

// The broker is stopped until after the end of the phase, for longer than a subscriber waits without messages. The
// subscriber must not send its counts before the broker continues, because all messages that the broker still holds
// would count as lost.
TEST_P(WithABroker, MessagesThatTheBrokerHasNotForwardedYetAreNotLost) {
    for (const std::string test : {"throughput", "latency --basis one-way"}) {
        SCOPED_TRACE(test);
        Program perftest{"--test " + test + " --rate 500 --duration 0.5 --warmup 0.05 --sizes 64 --transport " +
                         std::string{GetParam()->name}};
        ASSERT_TRUE(perftest.says("\nwarmup")) << perftest.err() << perftest.out();
        const pid_t broker = perftest.companion();
        ASSERT_GT(broker, 0);
        ::kill(broker, SIGSTOP);
        for (const Deadline asleep{Patience{1500}}; !asleep.passed();) Program::pause();
        ::kill(broker, SIGCONT);

        EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
        const std::string line = test == "throughput" ? "throughput" : "latency";
        EXPECT_EQ(number(perftest.out(), line + " payload_bytes=64", "lost"), 0U) << perftest.out();
    }
}

TEST_P(WithABroker, AStoppedBrokerEndsTheRunWithAnErrorMessage) {
    for (const std::string test : {"throughput", "latency --basis one-way"}) {
        SCOPED_TRACE(test);
        const bool was_stopped = within_some_limit([&](const std::string& limit) {
            Program perftest{"--test " + test + limit +
                             "--rate 500 --duration 0.5 --warmup 0.05 --sizes 64 --transport " +
                             std::string{GetParam()->name}};
            if (!perftest.says("\nwarmup")) return false;
            const pid_t broker = perftest.companion();
            if (broker == 0) return false;
            ::kill(broker, SIGSTOP);

            EXPECT_EQ(perftest.wait(), 1) << perftest.out();
            EXPECT_NE(perftest.err().find(" within the time limit"), std::string::npos) << perftest.err();
            return true;
        });
        EXPECT_TRUE(was_stopped);
    }
}

INSTANTIATE_TEST_SUITE_P(Registry, WithABroker, testing::ValuesIn(transports_with_a_broker()), transport_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WithABroker);

}  // namespace
}  // namespace tacholog
