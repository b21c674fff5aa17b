// Runs the tests, many in one process. The last lines name the tests that failed, each with the command that runs only
// this test. If none failed, they name the tests that were left out.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>

#include "base/fd.hpp"
#include "tests/depth.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace tacholog {
namespace {

std::string command;  ///< the beginning of a command that runs one test; the name of the test is appended
std::string running;  ///< the command that runs the current test

void say_which_was_running() {
    if (running.empty()) return;
    static_cast<void>(!::write(STDERR_FILENO, running.data(), running.size()));
}

class Running : public testing::EmptyTestEventListener {
    void OnTestStart(const testing::TestInfo& test) override {
        running = "\nIt ended in the middle of a test. To run it alone: " + command + test.test_suite_name() + "." +
                  test.name() + "\n";
    }
    void OnTestEnd(const testing::TestInfo&) override { running.clear(); }
};

/// Lets only one process on this machine run tests of transports over RouDi. A host can have only one RouDi, and all
/// runs share the resources of this RouDi. The lock is held until this process ends.
class OneRouDi : public testing::EmptyTestEventListener {
    void OnTestStart(const testing::TestInfo& test) override {
        const std::string name = std::string{test.test_suite_name()} + "." + test.name();
        constexpr std::array needs_it{"EndpointAt.", "/iceoryx", "/cyclonedds_shm"};
        if (lock_ || std::ranges::none_of(needs_it, [&](const char* word) { return name.find(word) != name.npos; }))
            return;
        const std::string path = std::filesystem::temp_directory_path() / "tacholog-tests-roudi.lock";
        lock_ = Fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};  // the file may belong to another user
        if (!lock_) lock_ = Fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_CREAT, 0644)};
        if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return;
        std::cout << "waits for the tests of another process over RouDi (" << path << ")" << std::endl;
        EXPECT_EQ(::flock(lock_.get(), LOCK_EX), 0) << path << ": " << std::strerror(errno);
    }

    Fd lock_;
};

template <typename Predicate>
void list(const char* heading, const std::string& before, Predicate&& wanted) {
    const auto& all = *testing::UnitTest::GetInstance();
    for (int suite_at = 0; suite_at < all.total_test_suite_count(); ++suite_at) {
        const auto& suite = *all.GetTestSuite(suite_at);
        for (int at = 0; at < suite.total_test_count(); ++at) {
            const auto& test = *suite.GetTestInfo(at);
            if (!test.should_run() || !wanted(*test.result())) continue;
            if (heading != nullptr) std::cout << std::exchange(heading, nullptr) << '\n';
            std::cout << "  " << before << suite.name() << "." << test.name() << '\n';
        }
    }
    std::cout << std::flush;
}

bool is_left_out(const testing::TestResult& result) {
    for (int at = 0; at < result.total_part_count(); ++at) {
        if (std::strncmp(result.GetTestPartResult(at).message(), "left out", 8) == 0) return true;
    }
    return false;
}

}  // namespace
}  // namespace tacholog

int main(int argc, char** argv) {
    using namespace tacholog;
    command = std::string{nightly() ? "TACHOLOG_TESTS=nightly " : ""} +
              std::filesystem::absolute(argv[0]).lexically_normal().string() + " --gtest_filter=";
    testing::InitGoogleTest(&argc, argv);
    testing::UnitTest::GetInstance()->listeners().Append(new Running);
    testing::UnitTest::GetInstance()->listeners().Append(new OneRouDi);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    ::__sanitizer_set_death_callback(say_which_was_running);
#else
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
        struct sigaction crash{};
        crash.sa_handler = [](int again) {
            say_which_was_running();
            ::raise(again);
        };
        crash.sa_flags = static_cast<int>(SA_RESETHAND);
        ::sigaction(signal, &crash, nullptr);
    }
#endif
    const int failed = RUN_ALL_TESTS();
    if (failed == 0) list("Left out:", "", is_left_out);  // ctest shows the group as skipped if it finds this text
    list("To run alone what failed:", command, [](const testing::TestResult& result) { return result.Failed(); });
    return failed;
}
