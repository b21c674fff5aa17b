// Tests of runs that end early for a reason that the program can handle: the log says how the run ended, and nothing is
// left behind.
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "base/clock.hpp"
#include "machine/environment.hpp"
#include "machine/helper_program.hpp"
#include "tests/kernel_files.hpp"
#include "tests/program.hpp"
#include "tests/reported.hpp"

namespace tacholog {
namespace {

class EndsBySignal : public testing::TestWithParam<int> {};

TEST_P(EndsBySignal, LogIsComplete) {
    Program perftest{"--test throughput --transport shm --sizes 64" + endlessly};
    ASSERT_TRUE(perftest.says("affinity "));
    ::kill(perftest.pid(), GetParam());

    EXPECT_EQ(perftest.wait(), 1);
    EXPECT_NE(perftest.out().find("error text=\"stopped by a signal\""), std::string::npos) << perftest.out();
    EXPECT_NE(perftest.out().find("\nend status=failed"), std::string::npos) << perftest.out();
}

INSTANTIATE_TEST_SUITE_P(Each, EndsBySignal, testing::Values(SIGINT, SIGTERM, SIGHUP, SIGQUIT),
                         [](const auto& tested) { return "signal_" + std::to_string(tested.param); });

// A program that is started by nohup ignores SIGHUP.
TEST(SignalsThatAreIgnored, DoNotEndTheRun) {
    const auto ignore = [] { return ::signal(SIGHUP, SIG_IGN) != SIG_ERR; };
    Program perftest{"--test throughput --transport shm --sizes 64 --duration 1.5 --warmup 0", PERFTEST, ignore};
    ASSERT_TRUE(perftest.says("start "));
    ::kill(perftest.pid(), SIGHUP);

    EXPECT_EQ(perftest.wait(), 0) << perftest.err();
}

// The sanitizers need more address space than the limit allows.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(WithoutMemory, TheLogStatesThatMemoryIsMissing) {
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
#endif

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

TEST(MemoryOfAControlGroup, IsItsLimitMinusItsMemoryInUseWithoutPageCache) {
    std::string folder = std::filesystem::temp_directory_path() / "tacholog-group-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    const auto write = [&](const char* name, const char* text) { std::ofstream{folder + "/" + name} << text; };
    write("memory.current", "700\n");
    write("memory.stat", "anon 400\ninactive_file 200\nactive_file 100\n");
    write("memory.max", "max\n");
    EXPECT_EQ(memory_left_in_group(folder), std::nullopt);
    write("memory.max", "1000\n");
    EXPECT_EQ(memory_left_in_group(folder), 600U);
    write("memory.max", "100\n");
    EXPECT_EQ(memory_left_in_group(folder), 0U);
    std::filesystem::remove_all(folder);
    EXPECT_EQ(memory_left_in_group(folder), std::nullopt);
    EXPECT_TRUE(available_memory_bytes());
}

TEST(MemoryOfThisProcess, IsTheSmallestAmountThatItsGroupOrAParentGroupLeaves) {
    const FilesOfTheKernel files;
    files.write("/proc/meminfo", "MemTotal: 8 kB\nMemAvailable:       4 kB\n");
    EXPECT_EQ(available_memory_bytes(files.root()), 4096U);

    files.write("/proc/self/cgroup", "0::/user.slice/run.scope\n");
    files.write("/sys/fs/cgroup/user.slice/memory.current", "200\n");
    files.write("/sys/fs/cgroup/user.slice/memory.max", "1200\n");
    files.write("/sys/fs/cgroup/user.slice/run.scope/memory.current", "100\n");
    files.write("/sys/fs/cgroup/user.slice/run.scope/memory.max", "max\n");
    EXPECT_EQ(available_memory_bytes(files.root()), 1000U);
}

// The files of kernel 5.10 in a container started with `docker run -m`: the path is that of the host, and does not
// exist in the container.
TEST(MemoryOfThisProcess, IsReadFromControlGroupsOfVersion1) {
    const FilesOfTheKernel files;
    files.write("/proc/meminfo", "MemAvailable:       4 kB\n");
    files.write("/proc/self/cgroup",
                "12:cpu,cpuacct:/docker/1f\n5:memory:/docker/1f\n0::/system.slice/docker.service\n");
    files.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    files.write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "700\n");
    EXPECT_EQ(available_memory_bytes(files.root()), 4096U) << "so much is no limit";

    files.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1000\n");
    files.write("/sys/fs/cgroup/memory/memory.stat",
                "inactive_file 7\ntotal_inactive_file 200\ntotal_active_file 100\n");
    EXPECT_EQ(available_memory_bytes(files.root()), 600U);

    files.write("/sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes", "500\n");
    files.write("/sys/fs/cgroup/memory/docker/1f/memory.usage_in_bytes", "100\n");
    EXPECT_EQ(available_memory_bytes(files.root()), 400U) << "of a host, whose groups are all there";
}

TEST(MemoryOfThisProcess, StatesHowMuchOfItIsSharedAndInHugePages) {
    const FilesOfTheKernel files;
    EXPECT_FALSE(shared_memory_in_use(files.root()));
    files.write("/proc/self/status", "VmHWM:\t    9000 kB\nRssShmem:\t    6144 kB\nHugetlbPages:\t    2048 kB\n");
    EXPECT_FALSE(shared_memory_in_use(files.root())) << "the kernel does not say how much of it is in huge pages";
    files.write("/proc/self/smaps_rollup",
                "7f00-7fff ---p 00000000 00:00 0 [rollup]\nAnonHugePages:      8192 kB\nShmemPmdMapped:     4096 kB\n"
                "FilePmdMapped:         0 kB\nShared_Hugetlb:     2048 kB\nPrivate_Hugetlb:       0 kB\n");

    const auto shared = shared_memory_in_use(files.root());

    ASSERT_TRUE(shared);
    EXPECT_EQ(shared->bytes, 8192U * 1024);
    EXPECT_EQ(shared->huge_page_bytes, 6144U * 1024);
    files.write("/proc/self/status", "RssShmem:\t       0 kB\n");
    files.write("/proc/self/smaps_rollup", "ShmemPmdMapped:        0 kB\nShared_Hugetlb:        0 kB\n");
    EXPECT_FALSE(shared_memory_in_use(files.root())) << "a process without shared memory";
}

/// Sends signals to this thread, so that system calls return early.
class InterruptedBySignals {
public:
    InterruptedBySignals() : thread_(::pthread_self()) {
        struct sigaction action{};
        action.sa_handler = [](int) {};
        ::sigaction(SIGUSR1, &action, &before_);
        sender_ = std::thread{[this] {
            while (!over_) {
                ::pthread_kill(thread_, SIGUSR1);
                sleep_until(now_ns() + 1'000'000);
            }
        }};
    }
    InterruptedBySignals(const InterruptedBySignals&) = delete;
    InterruptedBySignals& operator=(const InterruptedBySignals&) = delete;
    ~InterruptedBySignals() {
        over_ = true;
        sender_.join();
        ::sigaction(SIGUSR1, &before_, nullptr);
    }

private:
    pthread_t thread_;
    struct sigaction before_{};
    std::atomic<bool> over_{false};
    std::thread sender_;
};

// Regression: a message that was sent too early had a lateness of 1.8e19 ns.
TEST(ASleep, LastsToItsEndEvenIfSignalsInterruptIt) {
    const InterruptedBySignals signals;
    const Nanoseconds end_ns = now_ns() + 50'000'000;
    sleep_until(end_ns);

    EXPECT_GE(now_ns(), end_ns);
}

// Regression: the run waited up to a minute for the program to start, before it looked at the signal.
TEST(AProgramThatTheRunNeeds, IsNotWaitedForAfterASignal) {
    sigset_t ending;
    ::sigemptyset(&ending);
    ::sigaddset(&ending, SIGTERM);
    ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &ending, nullptr), 0);
    ::raise(SIGTERM);
    const HelperProgram::Order order{.words = {"/bin/sleep", "600"}, .patience = plenty};
    const auto program = HelperProgram::start(order, [](const HelperProgram&) { return false; });
    const timespec now{};
    EXPECT_EQ(::sigtimedwait(&ending, nullptr, &now), SIGTERM);
    ::pthread_sigmask(SIG_UNBLOCK, &ending, nullptr);

    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().text, "stopped by a signal");
}

// Regression: an unreadable answer was subtracted twice, so that the log said lost=18446744073709551566.
TEST(LostMessages, AreNeverNegative) {
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
