// The measuring threads must make no system call for the rig during a phase. The tests trace all threads.
#include <sched.h>

#include "tests/program.hpp"
#include "tests/system_calls.hpp"

namespace tacholog {
namespace {

const double duration_s = tries(0.15, 0.4);  // longer than 50 ms, because the rig once made calls every 50 ms
const Nanoseconds duration_ns = to_nanoseconds(duration_s);

/// `each_its_own`: each side has a CPU that only the measurement uses. `one`: both sides share a CPU, so that a second
/// CPU, if there is one, is left for reporting.
enum class Cpus { each_its_own, one };

bool can_run_on(int cpu) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    return ::sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_ISSET(static_cast<std::size_t>(cpu), &cpus);
}

std::string pins(Cpus cpus) {
    if (!can_run_on(0) || !can_run_on(1)) return "";
    return cpus == Cpus::each_its_own ? " --cpu-pub 0 --cpu-sub 1" : " --cpu-pub 0 --cpu-sub 0";
}

struct Kind {
    const char* name;
    const char* options;
    std::size_t measuring;  ///< threads on both sides
    Nanoseconds least_ns;   ///< of each thread, however busy the host is
};

// The phase of a subscriber may end before the duration is over, because no message follows the last one of the
// schedule.
const Nanoseconds all_but_a_period = duration_ns * 9 / 10;

const std::vector<Kind> kinds{
    {"ClosedLoop", "--test latency", 2, duration_ns},
    {"OpenLoop", "--test latency --rate 5000", 2, all_but_a_period},
    {"OneWay", "--test latency --rate 5000 --basis one-way", 2, all_but_a_period},
    {"Throughput", "--test throughput", 2, all_but_a_period},
    {"ThroughputAtARate", "--test throughput --rate 5000", 2, all_but_a_period},
    {"Probes", "--test throughput --probe-every 10", 2, all_but_a_period},
    {"SeveralPublishers", "--test throughput --publishers 2", 3, all_but_a_period},
    {"SeveralSubscribers", "--test throughput --subscribers 2", 3, all_but_a_period},
    {"Demand", "--test demand --demands 50 --recovery 5", 2, all_but_a_period},
};

class MeasuringThreads : public testing::TestWithParam<std::tuple<Kind, Cpus>> {};

// Each measuring thread must have one long time without system calls. If the rig made a system call during the phase,
// this call would split the long time into two shorter ones. For example, an earlier version of the rig made calls
// every 50 ms and at the edge of each interval. The result of this test does not depend on the speed of the host.
TEST_P(MeasuringThreads, MakeNoSystemCallOfTheRig) {
    const auto& [kind, cpus] = GetParam();
    const TracedProgram both{std::string{kind.options} +
                             " --sizes 64 --warmup 0.02 --interval-length 0.02 --duration " +
                             std::to_string(duration_s) + " --transport inter-thread" + pins(cpus)};
    ASSERT_EQ(both.status(), 0) << both.out();
    ASSERT_NE(value(both.out(), "interval", "index"), "") << both.out();

    std::size_t quiet = 0;
    std::string all;
    for (const auto& [id, thread] : both.threads()) {
        all += std::to_string(id) + " " + thread.name + ": " + std::to_string(thread.longest_quiet_ns() / 1000) +
               " us without a call; calls:" + thread.list() + "\n";
        if (thread.name != "rig-monitor" && thread.longest_quiet_ns() >= kind.least_ns) ++quiet;
    }
    EXPECT_GE(quiet, kind.measuring) << all << both.out();
}

std::string name_of(const testing::TestParamInfo<std::tuple<Kind, Cpus>>& info) {
    return std::string{std::get<0>(info.param).name} + (std::get<1>(info.param) == Cpus::one ? "OnOneCpu" : "");
}

INSTANTIATE_TEST_SUITE_P(EveryTest, MeasuringThreads,
                         testing::Combine(testing::ValuesIn(kinds), testing::Values(Cpus::each_its_own, Cpus::one)),
                         name_of);

}  // namespace
}  // namespace tacholog
