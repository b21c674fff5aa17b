// Tests of the kernel features that a user may request for both sides: a real-time priority, locked memory, memory of
// one NUMA node.
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "machine/tuning.hpp"
#include "tests/program.hpp"

namespace tacholog {
namespace {

/// Runs `work` in a process of its own, and returns the exit status. If `privileged` is false, this process has no
/// privileges.
int status_of(bool privileged, const std::function<int()>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit nothing{0, 0};
        constexpr uid_t nobody = 65534;
        if (!privileged) {
            ::setrlimit(RLIMIT_RTPRIO, &nothing);
            ::setrlimit(RLIMIT_MEMLOCK, &nothing);
            if (::geteuid() == 0 && ::setresuid(nobody, nobody, nobody) != 0) ::_exit(99);
        }
        ::_exit(work());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

int is_refused_with(const Tuning& tuning, const std::string& words) {
    const auto fine = can_apply(tuning);
    if (fine) return 1;
    if (fine.error().text.find(words) == std::string::npos) return 2;
    return fine.error().text.find('\n') == std::string::npos ? 0 : 3;
}

constexpr const char* short_run = "--test latency --transport shm --sizes 64 --duration 0.02 --warmup 0 ";

bool is_permitted(const Tuning& tuning) {
    return can_apply(tuning).has_value();
}

TEST(Tuning, IsDescribedInFixedWords) {
    EXPECT_EQ(Tuning{}.text(), "none");
    EXPECT_EQ((Tuning{50, true, 0}.text()), "real-time priority 50, locked memory, memory of NUMA node 0");
    EXPECT_EQ((Tuning{{}, true, {}}.text()), "locked memory");
}

TEST(Tuning, ThatIsNotPermittedIsRefusedInOneLine) {
    EXPECT_EQ(status_of(false, [] { return is_refused_with({50, false, {}}, "--realtime 50: not permitted: "); }), 0);
    EXPECT_EQ(status_of(false, [] { return is_refused_with({{}, true, {}}, "--lock-memory: not permitted: "); }), 0);
}

TEST(Tuning, OfANodeThatDoesNotExistIsRefusedInOneLine) {
    if (!is_permitted({{}, false, 0})) LEAVE_OUT << "needs a kernel or container that lets memory be bound";
    EXPECT_EQ(is_refused_with({{}, false, 1000}, "--numa 1000: no such node with memory; this machine has 0"), 0);
}

TEST(Tuning, CheckDoesNotChangeThisProcess) {
    const int policy = ::sched_getscheduler(0);
    static_cast<void>(can_apply({50, true, 0}).has_value());
    EXPECT_EQ(::sched_getscheduler(0), policy);
}

TEST(Tuning, IsInEffectAfterItWasApplied) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer locks no memory";
#endif
    if (!is_permitted({50, true, 0})) LEAVE_OUT << "needs the permission to tune";
    const auto work = [] {
        if (!apply({50, true, 0})) return 1;
        sched_param parameters{};
        ::sched_getparam(0, &parameters);
        if (::sched_getscheduler(0) != SCHED_FIFO || parameters.sched_priority != 50) return 2;
        std::ifstream status{"/proc/self/status"};
        for (std::string word; status >> word;) {
            if (word == "VmLck:") return status >> word && word != "0" ? 0 : 3;
        }
        return 4;
    };
    EXPECT_EQ(status_of(true, work), 0);
}

TEST(Tuning, IsInTheLog) {
    Program plain{short_run};
    ASSERT_EQ(plain.wait(), 0) << plain.err();
    EXPECT_EQ(value(plain.out(), "config", "tuning"), "none");
    if (!is_permitted({{}, true, 0})) LEAVE_OUT << "needs the permission to tune";
    Program tuned{std::string{short_run} + "--lock-memory --numa 0"};
    ASSERT_EQ(tuned.wait(), 0) << tuned.err();
    EXPECT_NE(tuned.out().find(" tuning=\"locked memory, memory of NUMA node 0\" "), std::string::npos) << tuned.out();
}

TEST(Tuning, MeasuresWithARealTimePriority) {
    if (!is_permitted({1, false, {}})) LEAVE_OUT << "needs the permission to tune";
    // The sides sleep while they wait, so that they do not take the CPUs away from other programs.
    Program tuned{std::string{short_run} + "--wait block --realtime 1"};
    ASSERT_EQ(tuned.wait(), 0) << tuned.err();
    EXPECT_NE(tuned.out().find(" tuning=\"real-time priority 1\" "), std::string::npos) << tuned.out();
}

TEST(Tuning, MustBeTheSameOnBothSides) {
    if (!is_permitted({{}, true, {}})) LEAVE_OUT << "needs the permission to tune";
    expect_refusal(short_run, " --lock-memory", "", "--lock-memory");
}

}  // namespace
}  // namespace tacholog
