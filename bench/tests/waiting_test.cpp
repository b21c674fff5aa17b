// Tests of how a side waits, asleep or polling. In both cases it must keep its time limit, and notice if the other side
// ends.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "cli/options.hpp"
#include "tests/patience.hpp"
#include "tests/program.hpp"
#include "tests/transports.hpp"
#include "transports/parking.hpp"

namespace {
thread_local int yields = 0;
}  // namespace

// Replaces the function of the C library, and counts the calls of this thread.
extern "C" int sched_yield() noexcept {
    ++yields;
    return static_cast<int>(::syscall(SYS_sched_yield));
}

namespace tacholog {
namespace {

constexpr Nanoseconds nap_ns = 20'000'000;

TEST(Parking, ASleepingThreadIsWoken) {
    Parking parking;
    std::atomic<bool> there = false;
    std::thread waker{[&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        there = true;
        parking.wake();
    }};
    // The sleep is as long as the time limit, so without a wake-up the test would take all of it.
    const auto is_there = [&] { return there.load(); };
    const Nanoseconds start = now_ns();
    EXPECT_TRUE(parking.park(is_there, plenty, [] { return false; }, to_nanoseconds(plenty)));
    EXPECT_LT(now_ns() - start, to_nanoseconds(plenty) / 2);
    waker.join();
}

TEST(Parking, NoWakeIsLostBetweenTwoThreadsThatTakeTurns) {
    constexpr int turns = 20000;
    Parking mine;
    Parking theirs;
    std::atomic<int> turn = 0;
    const auto play = [&turn](Parking& own, Parking& other, int first) {
        for (int next = first; next < turns; next += 2) {
            const auto is_mine = [&] { return turn.load(std::memory_order_acquire) == next; };
            // The sleep is as long as the time limit, so the test fails if a single wake-up is lost.
            if (!own.park(is_mine, plenty, [] { return false; }, to_nanoseconds(plenty))) return false;
            turn.store(next + 1, std::memory_order_release);
            other.wake();
        }
        return true;
    };
    bool played = false;
    std::thread second{[&] { played = play(theirs, mine, 1); }};
    EXPECT_TRUE(play(mine, theirs, 0));
    second.join();
    EXPECT_TRUE(played);
}

TEST(Parking, AllSleepingThreadsAreWoken) {
    constexpr int rounds = 3000;
    constexpr int sleepers = 3;
    Parking readers;
    Parking writer;
    std::atomic<int> round = 0;
    std::atomic<int> seen = 0;
    std::atomic<int> failed = 0;
    const auto never = [] { return false; };
    const auto read = [&] {
        for (int next = 1; next <= rounds; ++next) {
            if (!readers.park([&] { return round.load() >= next; }, plenty, never, to_nanoseconds(plenty))) ++failed;
            ++seen;
            writer.wake();
        }
    };
    std::vector<std::thread> threads;
    for (int count = 0; count < sleepers; ++count) threads.emplace_back(read);
    for (int next = 1; next <= rounds; ++next) {
        round = next;
        readers.wake();
        EXPECT_TRUE(writer.park([&] { return seen == next * sleepers; }, plenty, never, to_nanoseconds(plenty)));
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(failed, 0);
}

TEST(Parking, WaitingEndsAtItsTimeLimit) {
    Parking parking;
    const Nanoseconds start = now_ns();

    EXPECT_FALSE(parking.park([] { return false; }, Patience{30}, [] { return false; }, nap_ns));
    EXPECT_GE(now_ns() - start, 29'000'000);
    EXPECT_FALSE(parking.park([] { return false; }, Patience{0}, [] { return false; }, nap_ns));
}

TEST(Parking, AMissingPeerIsNoticedEvenIfNobodyWakesTheThread) {
    Parking parking;
    const Nanoseconds start = now_ns();

    EXPECT_FALSE(parking.park([] { return false; }, plenty, [] { return true; }, nap_ns));
    EXPECT_LT(now_ns() - start, to_nanoseconds(plenty) / 2);
}

TEST(Waiting, UntilATimeDoesNotEndEarlier) {
    for (const Waiting waiting : {Waiting::busy_poll, Waiting::block, Waiting::spin_then_block}) {
        const Nanoseconds until = now_ns() + 2'000'000;
        wait_until(until, waiting);
        EXPECT_GE(now_ns(), until) << to_text(waiting);
    }
}

// A thousand turns took 28 us on an AMD EPYC. On other machines, they take 5 or 50 us.
TEST(Waiting, ByPollingYieldsTheCpuAfterATimeInsteadOfANumberOfTurns) {
    const int before = yields;
    const Nanoseconds start = now_ns();
    BusyPoll poll{plenty};
    while (yields == before) ASSERT_TRUE(poll.wait());

    EXPECT_GE(now_ns() - start, BusyPoll::spin_ns);
}

TEST(Waiting, BySpinThenBlockSpinsForATime) {
    const Nanoseconds start = now_ns();
    BusyPoll poll{plenty, Waiting::spin_then_block};
    while (poll.wait()) {
    }

    EXPECT_GE(now_ns() - start, BusyPoll::spin_ns);
}

TEST(Waiting, MakesNoSystemCallIfNoCpuIsShared) {
    const int before = yields;
    wait_until(now_ns() + 2'000'000, Waiting::busy_poll, Yield::no);
    BusyPoll poll{Patience{2}, Waiting::busy_poll, Yield::no};
    while (poll.wait()) {
    }

    EXPECT_EQ(yields, before);
}

class EveryTransportSleeps : public testing::TestWithParam<std::tuple<const Transport*, Waiting>> {
protected:
    static const Transport& transport() { return *std::get<0>(GetParam()); }
    static std::string name() { return std::string{to_text(std::get<1>(GetParam()))}; }
    static std::string options() {
        return " --sizes 64 --transport " + std::string{transport().name} + " --wait " + name();
    }

    /// The processor time of a role, divided by the elapsed time.
    static double busy(const std::string& log, const std::string& role) {
        const std::string line = "resources payload_bytes=64 test=" + value(log, "config", "test") + " role=" + role;
        const auto ns = [&](const char* key) { return std::stod(value(log, line, key)); };
        return (ns("user_ns") + ns("system_ns")) / ns("duration_ns");
    }
};

TEST_P(EveryTransportSleeps, TheLogStatesHowBothSidesWaited) {
    Program perftest{"--test latency --verify" + briefly + options()};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
    EXPECT_EQ(value(perftest.out(), "config", "waiting"), name());
    EXPECT_EQ(value(perftest.out(), "latency", "corrupted"), "0");
    EXPECT_NE(value(perftest.out(), "latency", "samples"), "0");
}

TEST_P(EveryTransportSleeps, AStreamArrivesCompletely) {
    Program perftest{"--test throughput --verify" + briefly + options()};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
    EXPECT_EQ(value(perftest.out(), "throughput", "corrupted"), "0");
    EXPECT_NE(value(perftest.out(), "throughput", "received"), "0");
    if (transport().reliability == Reliability::reliable) {
        EXPECT_EQ(value(perftest.out(), "throughput", "lost"), "0");
    }
}

/// These tests compare times, so they run only at night.
class MeasuredSleep : public EveryTransportSleeps {};

TEST_P(MeasuredSleep, BothSidesUseLittleCpuAtALowRate) {
    if (transport().name == "mock") GTEST_SKIP() << "what it holds is let go by the clock, which it looks at often";
    for (const std::string test : {"throughput", "latency"}) {
        Program perftest{"--rate 50 --duration 1 --warmup 0.05 --test " + test + options()};

        EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
        EXPECT_LT(busy(perftest.out(), "pub"), 0.5) << perftest.out();
        EXPECT_LT(busy(perftest.out(), "sub"), 0.5) << perftest.out();
        EXPECT_NE(value(perftest.out(), test, test == "latency" ? "samples" : "received"), "0");
    }
}

// The process is stopped, for example by Ctrl-Z, a debugger or a frozen container. The kernel then interrupts some
// system calls that wait with a timeout.
TEST_P(EveryTransportSleeps, ASideThatWasStoppedInItsSleepContinuesToWait) {
    Program perftest{"--test throughput --rate 50 --duration 0.2 --warmup 0.01" + options()};
    ASSERT_TRUE(perftest.says("\nwarmup")) << perftest.err() << perftest.out();
    std::vector<pid_t> sides{perftest.pid()};
    if (const pid_t child = perftest.child(); child > 0) sides.push_back(child);
    for (int times = 0; times < 3; ++times) {
        for (const pid_t side : sides) ::kill(side, SIGSTOP);
        for (const pid_t side : sides) ::kill(side, SIGCONT);
        Program::pause();
    }

    EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
}

/// Tests of a side that sleeps without being woken, or polls first and then sleeps. kill_test.cpp tests sides that only
/// poll.
class EveryTransportMissesASide : public EveryTransportSleeps {};

TEST_P(EveryTransportMissesASide, ASubscriberThatIsKilledWakesThePublisherAndEndsTheRun) {
    if (transport().parties == Parties::threads) GTEST_SKIP() << "one process";
    for (const std::string test : {"latency", "throughput", "demand"}) {
        Program perftest{"--test " + test + endlessly + options()};
        ASSERT_TRUE(perftest.says("\nwarmup")) << perftest.err() << perftest.out();
        const pid_t child = perftest.child();
        ASSERT_GT(child, 0);
        ::kill(child, SIGKILL);

        EXPECT_EQ(perftest.wait(), 1);
        EXPECT_EQ(value(perftest.out(), "end", "status"), "failed");
        EXPECT_NE(perftest.out().find("error text="), std::string::npos);
        EXPECT_NE(perftest.err().find("killed by signal 9"), std::string::npos) << perftest.err();
        EXPECT_EQ(::kill(child, 0), -1) << "the child was not reaped";
    }
}

const Ways asleep{Waiting::block, Waiting::spin_then_block};
INSTANTIATE_TEST_SUITE_P(Registry, EveryTransportSleeps,
                         testing::ValuesIn(in_ways(own_in_the_gate(transports_of_one_host()), asleep)),
                         transport_and_waiting_name);
INSTANTIATE_TEST_SUITE_P(Registry, EveryTransportMissesASide,
                         testing::ValuesIn(in_ways(transports_of_one_host(), tries(Ways{Waiting::block}, asleep))),
                         transport_and_waiting_name);
INSTANTIATE_TEST_SUITE_P(Registry, MeasuredSleep,
                         testing::Combine(testing::ValuesIn(transports_of_one_host()), testing::ValuesIn(asleep)),
                         transport_and_waiting_name);

TEST(Waiting, DoesNotCountTheTimeInWhichTheProcessWasStoppedAsSilence) {
    Silence silence{Patience{100}};
    sleep_until(now_ns() + 150'000'000);
    EXPECT_FALSE(silence.passed()) << "one look counts for 20 ms, however long it took";
    int looks = 1;
    while (!silence.passed()) {
        sleep_until(now_ns() + 25'000'000);
        ++looks;
    }
    EXPECT_EQ(looks, 5);
}

TEST(Waiting, SidesThatWaitInDifferentWaysRefuseEachOther) {
    expect_refusal("--test latency --transport shm", "", " --wait block", "--wait=busy-poll here, --wait=block there");
}

}  // namespace
}  // namespace tacholog
