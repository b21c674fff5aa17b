// Tests of programs that a run needs beside its two sides: how they start, become ready and end.
#include "machine/helper_program.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>

#include "control/control.hpp"
#include "tests/patience.hpp"

namespace tacholog {
namespace {

bool at_once(const HelperProgram&) {
    return true;
}

bool exists(pid_t pid) {
    return ::kill(pid, 0) == 0;
}

TEST(PrivateFolder, IsRemovedWithItsContent) {
    std::string path;
    {
        const auto folder = PrivateFolder::make();
        ASSERT_TRUE(folder) << folder.error().text;
        path = folder->path();
        const auto file = folder->write("a.conf", "port 1\n");
        ASSERT_TRUE(file) << file.error().text;
        EXPECT_EQ(std::filesystem::file_size(*file), 7U);
        EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(HelperProgram, IsReadyAfterItsOutputStatesThisAndEndsWithTheRun) {
    const auto folder = PrivateFolder::make();
    ASSERT_TRUE(folder);
    pid_t pid = 0;
    {
        const auto program = HelperProgram::start(
            {{"/bin/sh", "-c", "echo on its way; sleep 0.05; echo ready; exec sleep 1000"}}, *folder,
            [](const HelperProgram& one) { return one.output().find("ready") != std::string::npos; });
        ASSERT_TRUE(program) << program.error().text;
        pid = (*program)->pid();
        EXPECT_TRUE(exists(pid));
        EXPECT_EQ((*program)->output(), "on its way\nready\n");
        EXPECT_EQ((*program)->trouble(), std::nullopt);
        EXPECT_EQ((*program)->command(), "/bin/sh -c echo on its way; sleep 0.05; echo ready; exec sleep 1000");
    }
    EXPECT_FALSE(exists(pid));
}

TEST(HelperProgram, ThatIgnoresSigtermIsKilled) {
    const auto folder = PrivateFolder::make();
    ASSERT_TRUE(folder);
    pid_t pid = 0;
    {
        const auto program =
            HelperProgram::start({{"/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"}}, *folder,
                                 [](const HelperProgram& one) { return !one.output().empty(); });
        ASSERT_TRUE(program) << program.error().text;
        pid = (*program)->pid();
    }
    EXPECT_FALSE(exists(pid));
}

// The rig blocks SIGTERM, because it receives this signal through a descriptor. SIGTERM would not end a helper program
// that inherited the blocked signal.
TEST(HelperProgram, InheritsNoBlockedSignal) {
    sigset_t both;
    ::sigemptyset(&both);
    ::sigaddset(&both, SIGTERM);
    sigset_t before;
    ::sigprocmask(SIG_BLOCK, &both, &before);
    const auto folder = PrivateFolder::make();
    ASSERT_TRUE(folder);
    const auto program =
        HelperProgram::start({{"/bin/grep", "SigBlk", "/proc/self/status"}}, *folder,
                             [](const HelperProgram& one) { return one.output().find('\n') != std::string::npos; });
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ASSERT_TRUE(program) << program.error().text;
    EXPECT_EQ((*program)->output(), "SigBlk:\t0000000000000000\n");
}

TEST(HelperProgram, ThatEndsBeforeItIsReadyIsAnErrorThatQuotesItsLastLine) {
    const auto folder = PrivateFolder::make();
    ASSERT_TRUE(folder);
    const auto program = HelperProgram::start({{"/bin/sh", "-c", "echo; echo cannot open the port >&2; exit 3"}},
                                              *folder, [](const HelperProgram&) { return false; });
    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().text, "sh has ended with exit status 3: cannot open the port");
}

TEST(HelperProgram, ThatIsNeverReadyIsAnError) {
    const auto folder = PrivateFolder::make();
    ASSERT_TRUE(folder);
    const auto program = HelperProgram::start({{"/bin/sleep", "1000"}, {}, Patience{20}}, *folder,
                                              [](const HelperProgram&) { return false; });
    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().text, "sleep is not ready after 20 ms");
}

TEST(HelperProgram, ThatEndsDuringTheRunIsReported) {
    const auto folder = PrivateFolder::make();
    ASSERT_TRUE(folder);
    // cat ends at once, because its input has ended.
    const auto program = HelperProgram::start({{"/bin/cat", "-"}}, *folder, at_once);
    ASSERT_TRUE(program) << program.error().text;
    const Deadline deadline{plenty};
    std::optional<std::string> trouble;
    while (!trouble && !deadline.passed()) trouble = (*program)->trouble();
    EXPECT_EQ(trouble, "cat has ended with exit status 0");
}

TEST(HelperProgram, IsKilledIfTheProcessThatStartedItIsKilled) {
    int ends[2] = {};
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t parent = ::fork();
    if (parent == 0) {
        const auto folder = PrivateFolder::make();
        const auto program = HelperProgram::start({{"/bin/sh", "-c", "echo here; exec sleep 1000"}}, *folder,
                                                  [](const HelperProgram& one) { return !one.output().empty(); });
        const pid_t pid = program ? (*program)->pid() : -1;
        static_cast<void>(::write(ends[1], &pid, sizeof pid));
        std::error_code ignored;
        std::filesystem::remove_all(folder->path(), ignored);
        ::kill(::getpid(), SIGKILL);
    }
    pid_t pid = -1;
    ASSERT_EQ(::read(ends[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    ::waitpid(parent, nullptr, 0);
    const Deadline deadline{plenty};
    while (exists(pid) && !deadline.passed()) ::usleep(1000);
    EXPECT_FALSE(exists(pid));
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST(HelperProgram, IsStartedWithItsEnvironmentInItsFolder) {
    const auto folder = PrivateFolder::make();
    ASSERT_TRUE(folder);
    const auto program =
        HelperProgram::start({{"/bin/sh", "-c", "echo $WORD $PWD; exec sleep 1000"}, {"WORD=hello"}}, *folder,
                             [](const HelperProgram& one) { return one.output().find('\n') != std::string::npos; });
    ASSERT_TRUE(program) << program.error().text;
    EXPECT_EQ((*program)->output(), "hello " + folder->path() + "\n");
}

TEST(Ports, AcceptConnectionsOnlyWhileAListenerExists) {
    const auto port = free_port("127.0.0.1");
    ASSERT_TRUE(port) << port.error().text;
    EXPECT_GT(*port, 0);
    EXPECT_FALSE(accepts_connections("127.0.0.1", *port));
    const auto listener = Listener::open("127.0.0.1", *port);
    ASSERT_TRUE(listener) << listener.error().text;
    EXPECT_TRUE(accepts_connections("127.0.0.1", *port));
    EXPECT_FALSE(free_port("nowhere"));
}

TEST(Programs, AreFoundOrThePackageToInstallIsNamed) {
    const auto shell = find_program("sh", "dash");
    ASSERT_TRUE(shell) << shell.error().text;
    EXPECT_EQ(shell->substr(shell->size() - 3), "/sh");
    const auto none = find_program("no-such-broker", "broker");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().text, "no-such-broker: no such program: install broker");
}

TEST(Programs, PrintTheirVersionInTheirFirstLine) {
    EXPECT_EQ(first_line_of({"/bin/sh", "-c", "echo; echo ' broker 1.2' >&2; echo more"}), "broker 1.2");
    EXPECT_EQ(first_line_of({"/no/such/program"}), "");
}

}  // namespace
}  // namespace tacholog
