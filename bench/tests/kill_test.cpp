// kill -9 of either role at any moment: the other side ends by itself and says why, and nothing is left behind. A few
// moments each time; TACHOLOG_KILLS=100 tries a hundred a transport.
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

constexpr int few_kills = 5;

int kills() {
    const char* asked = std::getenv("TACHOLOG_KILLS");
    return asked == nullptr ? few_kills : std::atoi(asked);
}

/// Of middleware that keeps them by name: a process of theirs that is killed leaves them behind in any program. Fast
/// DDS has `fastdds shm clean`, and the C library the semaphores of both; the next RouDi takes over what iceoryx left.
/// iceoryx2's stay if both sides are killed at once, and Aeron's until the next run with it.
bool is_of_library(const std::string& file) {
    constexpr std::array<std::string_view, 7> begins{"fastrtps_", "fast_datasharing_", "sem.", "iceoryx_mgmt", "root",
                                                     "iox2_",     "tacholog-aeron-"};
    return std::ranges::any_of(begins, [&file](std::string_view begin) { return file.starts_with(begin); });
}

std::set<std::string> shared_memory_files() {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator{"/dev/shm"})
        if (!is_of_library(entry.path().filename())) names.insert(entry.path());
    return names;
}

/// Whether the process has an address space: a zombie that nobody has reaped yet is dead enough.
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
        if (cable_ && !cable_->missing().empty()) GTEST_SKIP() << "needs " << cable_->missing();
        before_ = shared_memory_files();
        RecordProperty("seed", std::to_string(seed_));
    }

    void TearDown() override {
        if (IsSkipped()) return;
        std::vector<std::string> left = new_files();
        // Another program's files come and go, also those of a test beside this one; what a dead one left stays.
        for (const Deadline deadline{plenty}; !left.empty() && !deadline.passed(); Program::pause()) {
            const auto now = new_files();
            std::erase_if(left, [&](const auto& name) { return !std::binary_search(now.begin(), now.end(), name); });
        }
        EXPECT_EQ(left, std::vector<std::string>{});
    }

    std::vector<std::string> new_files() const {
        std::vector<std::string> found;
        const auto now = shared_memory_files();
        std::set_difference(now.begin(), now.end(), before_.begin(), before_.end(), std::back_inserter(found));
        return found;
    }

    std::string line() {
        static const std::array<std::string, 6> tests{"latency",
                                                      "throughput",
                                                      "demand",
                                                      "latency --rate 1000",
                                                      "latency --rate 1000 --basis one-way",
                                                      "throughput --instances 5 --probe-every 3"};
        return "--test " + tests[random_() % tests.size()] + " --transport " + std::string{GetParam()->name} +
               " --sizes 64,100KiB --timeout 2 --duration 600 --warmup 0.05";
    }

    /// Starts one side, on a host of its own where the transport asks for that.
    void start(std::optional<Program>& side, const std::string& role, const std::string& common) const {
        if (!cable_) {
            side.emplace(common + " --role " + role);
            return;
        }
        cable_->within(role.c_str(),
                       [&] { side.emplace(common + " --role " + role + " --address " + Cable::publishers_address); });
    }

    bool takes_two_commands() const { return GetParam()->parties == Parties::hosts; }

    /// Half of the moments lie in the first 40 ms, where the sides meet and join.
    void wait_a_moment() {
        const long microseconds = static_cast<long>(random_() % (random_() % 2 == 0 ? 40'000 : 500'000));
        const timespec time{0, microseconds * 1000};
        ::nanosleep(&time, nullptr);
    }

    /// Either ends by itself, or has been killed with the other: both are said. A library may print lines of its own
    /// before.
    static void expect_report(Program& survivor) {
        EXPECT_EQ(survivor.wait(), 1) << survivor.err() << survivor.out();
        EXPECT_NE(("\n" + survivor.err()).find("\nperftest: "), std::string::npos) << survivor.err();
    }

    const unsigned seed_ = std::random_device{}();
    std::mt19937 random_{seed_};
    std::set<std::string> before_;
    std::optional<Cable> cable_;  ///< between hosts
};

TEST_P(AtAnyMoment, AKilledRoleEndsTheOtherWhichSaysSo) {
    for (int round = 0; round < kills(); ++round) {
        const bool publisher_dies = random_() % 2 == 0;
        const std::string common = line() + " --port " + std::to_string(free_port());
        SCOPED_TRACE(common + (publisher_dies ? ", publisher killed" : ", subscriber killed"));
        std::optional<Program> publisher;
        std::optional<Program> subscriber;
        start(publisher, "pub", common);
        start(subscriber, "sub", common);
        wait_a_moment();
        ::kill(publisher_dies ? publisher->pid() : subscriber->pid(), SIGKILL);

        expect_report(publisher_dies ? *subscriber : *publisher);
        if (HasFailure()) return;
    }
    EXPECT_FALSE(cable_ && Cable::watched());
}

TEST_P(AtAnyMoment, AKilledParentTakesItsSubscriberAlong) {
    if (takes_two_commands()) GTEST_SKIP() << "no command is both sides";
    for (int round = 0; round < kills(); ++round) {
        const std::string both = line();
        SCOPED_TRACE(both);
        Program perftest{both};
        wait_a_moment();
        const auto children = perftest.children();  // none yet, or the subscriber and what the run needs
        ::kill(perftest.pid(), SIGKILL);
        perftest.wait();

        for (const pid_t child : children) EXPECT_TRUE(dies(child)) << child;
        if (HasFailure()) return;
    }
}

TEST_P(AtAnyMoment, AKilledChildEndsItsParentWhichSaysSo) {
    if (takes_two_commands()) GTEST_SKIP() << "no command is both sides";
    for (int round = 0; round < kills(); ++round) {
        const std::string both = line();
        SCOPED_TRACE(both);
        Program perftest{both};
        wait_a_moment();
        pid_t child = 0;
        for (const Deadline deadline{plenty}; child == 0 && !deadline.passed();) child = perftest.child();
        ASSERT_GT(child, 0);
        ::kill(child, SIGKILL);

        expect_report(perftest);
        if (HasFailure()) return;
    }
}

TEST_P(AtAnyMoment, AKilledBrokerEndsTheRunWhichSaysSo) {
    if (GetParam()->start_companion == nullptr || GetParam()->reach != Reach::network) GTEST_SKIP() << "no broker";
    for (const std::string test : {"latency", "throughput", "latency --rate 1000 --basis one-way"}) {
        Program perftest{"--test " + test + " --transport " + std::string{GetParam()->name} +
                         " --sizes 64 --timeout 20 --duration 600 --warmup 0.05"};
        ASSERT_TRUE(perftest.says("\nwarmup")) << perftest.err() << perftest.out();
        const pid_t broker = perftest.companion();
        ASSERT_GT(broker, 0);
        ::kill(broker, SIGKILL);

        expect_report(perftest);
        EXPECT_NE(perftest.err().find("was killed by signal 9"), std::string::npos) << perftest.err();
    }
}

INSTANTIATE_TEST_SUITE_P(Registry, AtAnyMoment, testing::ValuesIn(all_transports().begin(), all_transports().end()),
                         transport_name);

}  // namespace
}  // namespace tacholog
