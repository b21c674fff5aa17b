// Ends of a run that a program can catch: its log says how it ended, and nothing stays behind.
#include <sys/resource.h>

#include <csignal>

#include "tests/program.hpp"
#include "tests/reported.hpp"

namespace tacholog {
namespace {

class EndsBySignal : public testing::TestWithParam<int> {};

TEST_P(EndsBySignal, InOrder) {
    Program perftest{"--test throughput --transport shm --sizes 64" + endlessly};
    ASSERT_TRUE(perftest.says("affinity "));
    ::kill(perftest.pid(), GetParam());

    EXPECT_EQ(perftest.wait(), 1);
    EXPECT_NE(perftest.out().find("error text=\"stopped by a signal\""), std::string::npos) << perftest.out();
    EXPECT_NE(perftest.out().find("\nend status=failed"), std::string::npos) << perftest.out();
}

INSTANTIATE_TEST_SUITE_P(Each, EndsBySignal, testing::Values(SIGINT, SIGTERM, SIGHUP, SIGQUIT),
                         [](const auto& tested) { return "signal_" + std::to_string(tested.param); });

// nohup has a program ignore it.
TEST(SignalsThatAreIgnored, EndNothing) {
    const auto ignore = [] { return ::signal(SIGHUP, SIG_IGN) != SIG_ERR; };
    Program perftest{"--test throughput --transport shm --sizes 64 --duration 1.5 --warmup 0", PERFTEST, ignore};
    ASSERT_TRUE(perftest.says("start "));
    ::kill(perftest.pid(), SIGHUP);

    EXPECT_EQ(perftest.wait(), 0) << perftest.err();
}

TEST(WithoutMemory, ALogSaysSo) {
    const auto little = [] {
        constexpr rlim_t bytes = rlim_t{400} << 20;
        const rlimit limit{bytes, bytes};
        return ::setrlimit(RLIMIT_AS, &limit) == 0;
    };
    Program perftest{"--test latency --transport tcp --sizes 256MiB --duration 0.1 --warmup 0", PERFTEST, little};

    EXPECT_EQ(perftest.wait(), 1);
    EXPECT_NE(perftest.out().find("out of memory"), std::string::npos) << perftest.out();
    EXPECT_NE(perftest.out().find("\nend status=failed"), std::string::npos) << perftest.out();
}

TEST(MoreMemoryThanThereIs, IsRefusedBeforeTheRun) {
    std::ifstream file{"/proc/meminfo"};
    std::string word;
    std::uint64_t kib = 0;
    while (file >> word && word != "MemAvailable:") continue;
    file >> kib;
    if (kib == 0 || kib > 16ULL << 20) GTEST_SKIP() << "this machine has more than the largest run needs";
    Program perftest{"--test throughput --transport shm --publishers 16 --sizes 256MiB --duration 0.1 --warmup 0"};

    EXPECT_EQ(perftest.wait(), 2);
    EXPECT_NE(perftest.err().find("needs at least 16384 MiB of memory"), std::string::npos) << perftest.err();
    EXPECT_EQ(perftest.out(), "");
}

// An answer that could not be read was taken off twice: lost=18446744073709551566.
TEST(LostMessages, AreNeverFewerThanNone) {
    for (const char* faults : {"hold=100ms,duplicate=1,corrupt-answer=2:0", "hold=100ms,duplicate=2,corrupt-answer=1:0",
                               "hold=50ms,lose=3,duplicate=2,reorder=4,corrupt=5,corrupt-answer=2:0",
                               "stall=50ms/60ms,duplicate=1,lose=4,corrupt-answer=3:0,reorder=2"}) {
        const std::string line = "--test latency --transport mock --sizes 64 --warmup 0 --duration 0.05";
        Program perftest{line + " --answer-limit 0.001 --set faults=" + faults};
        perftest.wait();
        const std::string log = perftest.out();
        const auto at = log.find(" lost=");
        ASSERT_NE(at, std::string::npos) << log;
        EXPECT_LE(std::stoull(log.substr(at + 6)), 1000U) << faults << '\n' << log;
    }
}

}  // namespace
}  // namespace tacholog
