// Tests that kill either role with SIGKILL at any time. After a kill, the other side must end by itself and give a
// reason, and nothing must be left behind. The gate, which runs for each change, uses our own transports and the same
// few times in each run. The nightly run uses random times. If TACHOLOG_KILLS=100 is set, a hundred kills are tried for
// each transport. A failure prints the seed of its random times, and TACHOLOG_SEED repeats these times.
#include <sched.h>
#include <sys/mount.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <random>
#include <set>

#include "tests/cable.hpp"
#include "tests/program.hpp"
#include "tests/transports.hpp"

namespace tacholog {
namespace {

unsigned long number_from(const char* variable, unsigned long otherwise) {
    const char* asked = std::getenv(variable);
    return asked == nullptr ? otherwise : std::strtoul(asked, nullptr, 10);
}

unsigned long kills() {
    return number_from("TACHOLOG_KILLS", tries(2, 20));
}

/// Files of middleware libraries that keep shared memory by name. A process that is killed leaves them behind,
/// whichever program uses the library. `fastdds shm clean` removes those of Fast DDS. The C library names semaphores
/// "sem.". The next RouDi takes over the files of iceoryx. Those of iceoryx2 stay if both sides are killed at the same
/// time, and those of Aeron stay until its next run.
bool is_of_library(const std::string& file) {
    constexpr std::array<std::string_view, 7> begins{"fastrtps_", "fast_datasharing_", "sem.", "iceoryx_mgmt", "root",
                                                     "iox2_",     "tacholog-aeron-"};
    return std::ranges::any_of(begins, [&file](std::string_view begin) { return file.starts_with(begin); });
}

/// A folder that the programs of a test see as /dev/shm, so that files of other programs on this machine are not
/// counted.
class OwnSharedMemory {
public:
    OwnSharedMemory() { EXPECT_NE(::mkdtemp(folder_.data()), nullptr) << folder_; }
    OwnSharedMemory(const OwnSharedMemory&) = delete;
    OwnSharedMemory& operator=(const OwnSharedMemory&) = delete;
    ~OwnSharedMemory() { std::filesystem::remove_all(folder_); }

    /// Called in a new process before it runs the program. Returns false if this is not permitted.
    bool enter() const {
        const uid_t user = ::geteuid();
        const gid_t group = ::getegid();
        if (::unshare(CLONE_NEWNS) != 0) {
            if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
            std::ofstream{"/proc/self/setgroups"} << "deny";
            std::ofstream{"/proc/self/uid_map"} << user << ' ' << user << " 1";
            std::ofstream{"/proc/self/gid_map"} << group << ' ' << group << " 1";
        }
        return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               ::mount(folder_.c_str(), "/dev/shm", nullptr, MS_BIND, nullptr) == 0;
    }

    bool allowed() const {
        const pid_t child = ::fork();
        if (child == 0) ::_exit(enter() ? 0 : 1);
        int status = 1;
        ::waitpid(child, &status, 0);
        return status == 0;
    }

    std::set<std::string> files() const {
        std::set<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator{folder_})
            if (!is_of_library(entry.path().filename())) names.insert(entry.path().filename());
        return names;
    }

private:
    std::string folder_ = "/dev/shm/tacholog-tests-XXXXXX";
};

/// Whether the process has an address space. A zombie does not have one, and counts as dead.
bool alive(pid_t pid) {
    std::ifstream maps{"/proc/" + std::to_string(pid) + "/maps"};
    return maps.peek() != std::ifstream::traits_type::eof();
}

bool dies(pid_t pid) {
    for (const Deadline deadline{plenty}; alive(pid); Program::pause()) {
        if (deadline.passed()) return false;
    }
    return true;
}

class AtAnyMoment : public testing::TestWithParam<const Transport*> {
protected:
    void SetUp() override {
        if (GetParam()->parties == Parties::threads) GTEST_SKIP() << "one process";
        if (GetParam()->parties == Parties::hosts) cable_.emplace();
        if (cable_ && !cable_->missing().empty()) LEAVE_OUT << "needs " << cable_->missing();
        if (!shared_memory_.allowed()) LEAVE_OUT << "needs the right to make mount namespaces";
        ::printf("TACHOLOG_SEED=%u\n", seed_);
    }

    void TearDown() override {
        if (IsSkipped()) return;
        for (const Deadline deadline{plenty}; !shared_memory_.files().empty() && !deadline.passed(); Program::pause())
            continue;  // a side may not have ended yet
        EXPECT_EQ(shared_memory_.files(), std::set<std::string>{});
    }

    std::string line() {
        static const std::array<std::string, 6> tests{"latency",
                                                      "throughput",
                                                      "demand",
                                                      "latency --rate 1000",
                                                      "latency --rate 1000 --basis one-way",
                                                      "throughput --instances 5 --probe-every 3"};
        return "--test " + tests[random_() % tests.size()] + " --transport " + std::string{GetParam()->name} +
               " --sizes 64,100KiB" + endlessly;
    }

    void start(std::optional<Program>& program, const std::string& words) const {
        program.emplace(words, PERFTEST, [this] { return shared_memory_.enter(); });
    }

    /// The side runs on a host of its own if the transport needs that.
    void start_side(std::optional<Program>& side, const std::string& role, const std::string& common) const {
        if (!cable_) return start(side, common + " --role " + role);
        cable_->within(role.c_str(),
                       [&] { start(side, common + " --role " + role + " --address " + Cable::publishers_address); });
    }

    bool takes_two_commands() const { return GetParam()->parties == Parties::hosts; }

    /// Half of the times lie in the first 40 ms, in which the sides connect.
    void wait_a_moment() {
        const long microseconds = static_cast<long>(random_() % (random_() % 2 == 0 ? 40'000 : 500'000));
        const timespec time{0, microseconds * 1000};
        ::nanosleep(&time, nullptr);
    }

    /// The survivor has either ended by itself or was killed with the other side; in both cases its output must have an
    /// error line. A library may print lines of its own before that.
    static void expect_report(Program& survivor) {
        EXPECT_EQ(survivor.wait(), 1) << survivor.err() << survivor.out();
        EXPECT_NE(("\n" + survivor.err()).find("\nperftest: "), std::string::npos) << survivor.err();
    }

    const unsigned seed_ = static_cast<unsigned>(number_from("TACHOLOG_SEED", nightly() ? std::random_device{}() : 1));
    std::mt19937 random_{seed_};
    OwnSharedMemory shared_memory_;
    std::optional<Cable> cable_;  ///< used only for transports between hosts
};

TEST_P(AtAnyMoment, AKilledRoleEndsTheOtherRoleWithAnErrorMessage) {
    for (unsigned long round = 0; round < kills(); ++round) {
        const bool publisher_dies = random_() % 2 == 0;
        // If a side is killed before both have connected, the other one ends at its time limit.
        const std::string common = line() + "--timeout 2 --port " + std::to_string(free_port());
        SCOPED_TRACE(common + (publisher_dies ? ", publisher killed" : ", subscriber killed"));
        std::optional<Program> publisher;
        std::optional<Program> subscriber;
        start_side(publisher, "pub", common);
        start_side(subscriber, "sub", common);
        wait_a_moment();
        ::kill(publisher_dies ? publisher->pid() : subscriber->pid(), SIGKILL);

        expect_report(publisher_dies ? *subscriber : *publisher);
        if (HasFailure()) return;
    }
    EXPECT_FALSE(cable_ && Cable::watched());
}

TEST_P(AtAnyMoment, AKilledParentEndsAllItsChildren) {
    if (takes_two_commands()) GTEST_SKIP() << "no command is both sides";
    for (unsigned long round = 0; round < kills(); ++round) {
        const std::string both = line();
        SCOPED_TRACE(both);
        std::optional<Program> perftest;
        start(perftest, both);
        wait_a_moment();
        // The subscriber, and the programs that the run needs; empty if none has been started yet.
        const auto children = perftest->children();
        ::kill(perftest->pid(), SIGKILL);
        perftest->wait();

        for (const pid_t child : children) EXPECT_TRUE(dies(child)) << child;
        if (HasFailure()) return;
    }
}

TEST_P(AtAnyMoment, AKilledChildEndsItsParentWithAnErrorMessage) {
    if (takes_two_commands()) GTEST_SKIP() << "no command is both sides";
    for (unsigned long round = 0; round < kills(); ++round) {
        const std::string both = line();
        SCOPED_TRACE(both);
        std::optional<Program> perftest;
        start(perftest, both);
        wait_a_moment();
        pid_t child = 0;
        for (const Deadline deadline{plenty}; child == 0 && !deadline.passed();) child = perftest->child();
        ASSERT_GT(child, 0);
        ::kill(child, SIGKILL);

        expect_report(*perftest);
        if (HasFailure()) return;
    }
}

TEST_P(AtAnyMoment, AKilledBrokerEndsTheRunWithAnErrorMessage) {
    if (GetParam()->start_companion == nullptr || GetParam()->reach != Reach::network) GTEST_SKIP() << "no broker";
    for (const std::string test : {"latency", "throughput", "latency --rate 1000 --basis one-way"}) {
        Program perftest{"--test " + test + " --transport " + std::string{GetParam()->name} + " --sizes 64" +
                         endlessly};
        ASSERT_TRUE(perftest.says("\nwarmup")) << perftest.err() << perftest.out();
        const pid_t broker = perftest.companion();
        ASSERT_GT(broker, 0);
        ::kill(broker, SIGKILL);

        expect_report(perftest);
        EXPECT_NE(perftest.err().find("was killed by signal 9"), std::string::npos) << perftest.err();
    }
}

INSTANTIATE_TEST_SUITE_P(Registry, AtAnyMoment,
                         testing::ValuesIn(own_in_the_gate({all_transports().begin(), all_transports().end()})),
                         transport_name);

}  // namespace
}  // namespace tacholog
