// Tests of how intervals are passed from the measuring thread to the reporting thread: nothing is lost, duplicated or
// mixed, however slow the reporting thread is.
#include "rig/handover.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "rig/count_intervals.hpp"
#include "tests/program.hpp"

namespace tacholog {
namespace {

TEST(HandOver, ReturnsRecordsInTheirOrder) {
    HandOver<int> records{3};
    EXPECT_EQ(records.oldest(), nullptr);
    records.current() = 1;
    ASSERT_TRUE(records.hand_over());
    records.current() = 2;
    ASSERT_TRUE(records.hand_over());
    records.current() = 3;

    EXPECT_FALSE(records.hand_over()) << "the third is the one that is filled";
    EXPECT_EQ(records.current(), 3);
    ASSERT_NE(records.oldest(), nullptr);
    EXPECT_EQ(*records.oldest(), 1);
    records.give_back();
    EXPECT_TRUE(records.hand_over());
    EXPECT_EQ(*records.oldest(), 2);
    records.give_back();
    EXPECT_EQ(*records.oldest(), 3);
    records.give_back();
    EXPECT_EQ(records.oldest(), nullptr);
}

// A million samples in short intervals. The reporting thread is sometimes late. Samples that it could not take in time
// must be in a later interval.
TEST(HandOver, LosesNoSampleBetweenTwoThreads) {
    constexpr std::uint64_t samples = 1'000'000;
    HandOver<LatencyRecord> records{2};
    std::atomic<bool> done{false};
    Histogram total;
    std::uint64_t intervals = 0;
    const auto collect = [&] {
        while (LatencyRecord* record = records.oldest()) {
            total.merge(record->histogram);
            record->histogram.clear();
            ++intervals;
            records.give_back();
        }
    };
    std::thread reporting{[&] {
        while (!done) {
            collect();
            std::this_thread::yield();
        }
    }};
    for (std::uint64_t sample = 1; sample <= samples; ++sample) {
        records.current().histogram.record(sample);
        if (sample % 10 == 0) static_cast<void>(records.hand_over());
    }
    done = true;
    reporting.join();
    collect();
    total.merge(records.current().histogram);

    EXPECT_EQ(total.count(), samples);
    EXPECT_EQ(total.min_ns(), 1U);
    EXPECT_EQ(total.max_ns(), samples);
    EXPECT_EQ(total.exact().sum, Wide{samples} * (samples + 1) / 2);
    EXPECT_GT(intervals, 0U);
}

TEST(IntervalPlan, HasThreeRecordsIfIntervalsAreReportedLive) {
    const auto plan = plan_intervals(1'000'000'000, 86'400'000'000'000, true, 256);

    EXPECT_EQ(plan.length_ns, 1'000'000'000);
    EXPECT_EQ(plan.records, 3U);
}

TEST(IntervalPlan, HasARecordForEachIntervalIfIntervalsAreReportedLater) {
    const auto plan = plan_intervals(1'000'000'000, 5'000'000'000, false, 256);

    EXPECT_EQ(plan.length_ns, 1'000'000'000);
    EXPECT_EQ(plan.records, 5U + 2U);
}

TEST(IntervalPlan, HasLongerIntervalsIfTooManyWouldBeKept) {
    const auto plan = plan_intervals(100'000'000, 60'000'000'000, false, 256);  // 600 intervals of 0.1 s

    EXPECT_EQ(plan.length_ns, 300'000'000);
    EXPECT_EQ(plan.records, 200U + 2U);
    EXPECT_EQ(plan_intervals(1, INT64_MAX / 2, false, 256).records, 256U + 2U);
}

class EveryLatencyTest : public testing::TestWithParam<const char*> {};

// Each sample must be in exactly one interval, however long the intervals are.
TEST_P(EveryLatencyTest, HasEachSampleInOneInterval) {
    for (const std::string seconds : {"0.01", "0.1", "10"}) {
        Program both{"--transport mock --set faults=lose=50 --sizes 64 --warmup 0 --duration 0.2 --interval-length " +
                     seconds + " " + GetParam()};
        ASSERT_EQ(both.wait(), 0) << both.err() << both.out();
        const std::string log = both.out();
        EXPECT_EQ(value(log, "config", "interval_s"), seconds);
        EXPECT_EQ(sum_of(log, "interval", "messages"), number(log, "latency", "samples")) << log;
    }
}

INSTANTIATE_TEST_SUITE_P(Load, EveryLatencyTest,
                         testing::Values("--test latency --answer-limit 0.01", "--test latency --rate 2000",
                                         "--test latency --rate 2000 --basis one-way"));

class EveryCountingTest : public testing::TestWithParam<const char*> {};

// Each message and each lost message must be counted in exactly one interval. This also holds for the messages after
// the last complete interval.
TEST_P(EveryCountingTest, HasEachMessageInOneInterval) {
    for (const std::string seconds : {"0.01", "0.1", "10"}) {
        Program both{"--transport mock --set faults=lose=50 --sizes 64 --warmup 0 --duration 0.2 --interval-length " +
                     seconds + " " + GetParam()};
        ASSERT_EQ(both.wait(), 0) << both.err() << both.out();
        const std::string log = both.out();
        const std::string kind = value(log, "config", "test");
        EXPECT_EQ(sum_of(log, "interval", "received"), number(log, kind, "received")) << log;
        EXPECT_EQ(sum_of(log, "interval", "lost"), number(log, kind, "lost")) << log;
    }
}

INSTANTIATE_TEST_SUITE_P(Load, EveryCountingTest,
                         testing::Values("--test throughput --rate 2000", "--test throughput --rate 2000 --instances 7",
                                         "--test demand --demands 40 --recovery 20"));

// ---- the counts of a subscriber in each interval ----

constexpr Nanoseconds second = nanoseconds_per_second;

std::vector<std::uint64_t> taken(CountIntervals& intervals, std::uint64_t CountRecord::* what) {
    std::vector<std::uint64_t> all;
    while (const CountRecord* record = intervals.oldest()) {
        all.push_back(record->*what);
        intervals.give_back();
    }
    return all;
}

/// The intervals of a phase whose first message has arrived.
struct Begun : CountIntervals {
    Begun() : CountIntervals{{second, 8}} {
        begin();
        first_came(second);
    }
};

// Regression: if a message was missing at the end of an interval and arrived a little later, one lost message too many
// was counted. Example: a stream loses nothing, but is out of order at the end of every interval. It seemed to lose one
// message in every second interval.
TEST(CountIntervals, ALateMessageIsNotCountedAsLostInTheNextInterval) {
    Begun intervals;
    intervals.hand_over(2 * second, {99, 1});
    intervals.hand_over(3 * second, {200, 0});
    intervals.hand_over(4 * second, {299, 1});
    intervals.hand_over(5 * second, {397, 3});

    EXPECT_EQ(taken(intervals, &CountRecord::lost), (std::vector<std::uint64_t>{1, 0, 0, 2}));
    EXPECT_FALSE(intervals.rest(5 * second, 6 * second, {397, 3}));
}

TEST(CountIntervals, TheLastIntervalEndsAtTheLastMessage) {
    Begun intervals;
    intervals.hand_over(2 * second, {100, 0});
    const auto rest = intervals.rest(2 * second + 300, 4 * second, {130, 7});

    ASSERT_TRUE(rest);
    EXPECT_EQ(rest->duration_ns, 300);
    EXPECT_EQ(rest->messages, 30U);
    EXPECT_EQ(rest->lost, 7U);
}

TEST(CountIntervals, MessagesLostAfterTheLastMessageAreInTheLastInterval) {
    Begun intervals;
    intervals.hand_over(2 * second, {100, 0});
    const auto rest = intervals.rest(2 * second - 1, 2 * second + 200, {100, 7});

    ASSERT_TRUE(rest);
    EXPECT_EQ(rest->duration_ns, 200) << "an interval lasts";
    EXPECT_EQ(rest->messages, 0U);
    EXPECT_EQ(rest->lost, 7U);
}

TEST(CountIntervals, NoIntervalExistsIfNoMessageArrived) {
    CountIntervals intervals{{second, 8}};
    intervals.begin();

    EXPECT_FALSE(intervals.is_over(INT64_MAX));
    EXPECT_FALSE(intervals.rest(0, second, {0, 100}));
}

/// All programs that are started while this object exists run on one CPU, as with taskset.
class OneCpu {
public:
    OneCpu() {
        CPU_ZERO(&before_);
        EXPECT_EQ(::sched_getaffinity(0, sizeof before_, &before_), 0);
        std::size_t first = 0;
        while (!CPU_ISSET(first, &before_)) ++first;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(first, &one);
        EXPECT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    }
    OneCpu(const OneCpu&) = delete;
    OneCpu& operator=(const OneCpu&) = delete;
    ~OneCpu() { ::sched_setaffinity(0, sizeof before_, &before_); }

private:
    cpu_set_t before_{};
};

TEST(Reporting, NotesThatIntervalsAreKeptIfNoCpuIsFree) {
    const OneCpu cpu;
    Program both{"--test throughput --transport shm --sizes 64,128 --warmup 0 --duration 0.2 --interval-length 0.05"};
    ASSERT_EQ(both.wait(), 0) << both.err() << both.out();

    EXPECT_NE(both.out().find("no CPU is free beside those that measure: intervals are kept"), std::string::npos)
        << both.out();
    EXPECT_NE(both.out().find("\ninterval payload_bytes=128 "), std::string::npos) << both.out();
}

TEST(Reporting, ShowsTheLastCompletePhaseOfAKilledRun) {
    const OneCpu cpu;
    Program both{"--test latency --transport shm --sizes 64,128 --warmup 0 --duration 1 --interval-length 0.25"};
    ASSERT_TRUE(both.says("\nwarmup payload_bytes=128")) << both.err() << both.out();
    ::kill(both.pid(), SIGKILL);
    both.wait();

    EXPECT_NE(both.out().find("no CPU is free"), std::string::npos) << both.out();
    EXPECT_EQ(sum_of(both.out(), "interval payload_bytes=64", "messages"), number(both.out(), "latency", "samples"))
        << both.out();
}

TEST(Reporting, NotesThatIntervalsAreLongerIfTooManyWouldBeKept) {
    const OneCpu cpu;
    Program both{"--test latency --transport shm --sizes 64 --warmup 0 --duration 600 --interval-length 0.1"};
    ASSERT_TRUE(both.says("\nwarmup ")) << both.err() << both.out();
    ::kill(both.pid(), SIGTERM);

    EXPECT_EQ(both.wait(), 1);
    EXPECT_EQ(value(both.out(), "end", "status"), "failed") << both.out();
    EXPECT_NE(both.out().find("each lasts 2400 ms"), std::string::npos) << both.out();
}

}  // namespace
}  // namespace tacholog
