// Tests of all needs that a middleware may have. Whole runs use a transport that has all of these needs
// (needy/needy.cpp).
#include <sys/wait.h>

#include "tests/program.hpp"

namespace tacholog {
namespace {

const std::string brief = " --sizes 64,1KiB,64KiB --duration 0.05 --warmup 0 ";

class Needy : public testing::Test {
protected:
    static Program run(const std::string& line) { return Program{line, NEEDY_PERFTEST}; }

    static bool runs(const std::string& pid) { return std::filesystem::exists("/proc/" + pid + "/status"); }
};

TEST_F(Needy, SidesThatWaitForEachOtherConnect) {
    auto both = run("--test latency --transport needy --set match=late" + brief);

    EXPECT_EQ(both.wait(), 0) << both.err();
    EXPECT_NE(both.out().find("\nend status=ok latency=3 "), std::string::npos) << both.out();
}

TEST_F(Needy, APublisherThatIsNeverMatchedEndsTheRun) {
    auto both = run("--test throughput --transport needy --set match=never --sizes 64 --timeout 0.5");

    EXPECT_EQ(both.wait(), 1);
    EXPECT_NE(both.err().find(" has not come within the time limit"), std::string::npos) << both.err();
}

TEST_F(Needy, FactsOfBothSidesAreInTheLog) {
    auto both = run("--test latency --transport needy" + brief);

    EXPECT_EQ(both.wait(), 0) << both.err();
    EXPECT_NE(both.out().find("\ntransport role=pub library=Needy library_version=1.2.3\n"), std::string::npos)
        << both.out();
    EXPECT_NE(both.out().find("\ntransport role=sub library=Needy library_version=1.2.3\n"), std::string::npos);
    EXPECT_NE(both.out().find("\nway expected=local carried_bytes="), std::string::npos);
}

TEST_F(Needy, AnObjectionOfTheTransportIsOneLineAndNoLogIsWritten) {
    for (const char* role : {"", " --role pub", " --role sub"}) {
        auto refused = run("--test latency --transport needy --set daemon=stopped" + std::string{role});

        EXPECT_EQ(refused.wait(), 2);
        EXPECT_EQ(refused.err(), "perftest: needyd is not running: start it with needyd --now\n");
        EXPECT_EQ(refused.out(), "");
    }
}

TEST_F(Needy, AMissingProgramIsNamedWithItsPackage) {
    auto refused = run("--test latency --transport needy --set companion=missing");

    EXPECT_EQ(refused.wait(), 2);
    EXPECT_EQ(refused.err(), "perftest: no-such-broker: no such program: install the-broker\n");
}

TEST_F(Needy, ACompanionIsEndedWithTheRunAndBothSidesHaveItsAddress) {
    auto both = run("--test latency --transport needy --set companion=alive" + brief);

    EXPECT_EQ(both.wait(), 0) << both.err();
    EXPECT_EQ(value(both.out(), "companion", "name"), "sleeper");
    EXPECT_NE(both.out().find(" version=\"sleeper 1.0\" "), std::string::npos) << both.out();
    const std::string folder = value(both.out(), "transport", "companion");
    EXPECT_NE(folder.find("tacholog-"), std::string::npos) << both.out();
    const auto first = both.out().find("companion=" + folder);
    EXPECT_NE(both.out().find("companion=" + folder, first + 1), std::string::npos) << "the subscriber knows it too";
    EXPECT_FALSE(std::filesystem::exists(folder));
    EXPECT_FALSE(runs(value(both.out(), "companion", "pid")));
}

TEST_F(Needy, ASubscriberThatIsStartedSeparatelyGetsTheAddressOfTheCompanion) {
    const std::string options =
        "--test latency --transport needy --set companion=alive" + brief + "--port " + std::to_string(free_port());
    auto publisher = run(options + " --role pub");
    auto subscriber = run(options + " --role sub");

    EXPECT_EQ(publisher.wait(), 0) << publisher.err();
    EXPECT_EQ(subscriber.wait(), 0) << subscriber.err();
    const std::string folder = value(publisher.out(), "transport", "companion");
    EXPECT_FALSE(folder.empty());
    EXPECT_EQ(value(subscriber.out(), "transport", "companion"), folder);
    EXPECT_EQ(subscriber.out().find("\ncompanion "), std::string::npos) << "it has started none";
}

TEST_F(Needy, ACompanionIsEndedIfItsRunIsKilled) {
    auto both = run("--test latency --transport needy --set companion=alive --sizes 64 --duration 100");
    ASSERT_TRUE(both.says("\naffinity "));
    const std::string pid = value(both.out(), "companion", "pid");
    ASSERT_TRUE(runs(pid));
    ::kill(both.pid(), SIGKILL);
    both.wait();

    const Deadline deadline{plenty};
    while (runs(pid) && !deadline.passed()) Program::pause();
    EXPECT_FALSE(runs(pid));
}

TEST_F(Needy, ALibraryThatCanStartOnlyOnceGetsANewProcessForEachSize) {
    auto both = run("--test latency --transport needy-once" + brief);

    EXPECT_EQ(both.wait(), 0) << both.err();
    EXPECT_NE(both.out().find("\nend status=ok latency=3 throughput=0 demand=0 errors=0 "), std::string::npos)
        << both.out();
    EXPECT_NE(both.out().find("\nlatency payload_bytes=65536 "), std::string::npos);
    EXPECT_NE(both.out().find("\nresources payload_bytes=65536 test=latency role=sub "), std::string::npos);
}

TEST_F(Needy, SidesThatAreStartedSeparatelyGetANewProcessForEachSize) {
    const std::string options =
        "--test throughput --transport needy-once" + brief + "--port " + std::to_string(free_port());
    auto publisher = run(options + " --role pub");
    auto subscriber = run(options + " --role sub");

    EXPECT_EQ(publisher.wait(), 0) << publisher.err();
    EXPECT_EQ(subscriber.wait(), 0) << subscriber.err();
    for (const Program* side : {&publisher, &subscriber})
        EXPECT_NE(side->out().find("\nend status=ok latency=0 throughput=3 "), std::string::npos) << side->out();
}

TEST_F(Needy, AKilledProcessOfASizeEndsTheRunWithAReason) {
    auto both = run("--test latency --transport needy-once --sizes 64,666 --duration 0.05 --warmup 0");

    EXPECT_EQ(both.wait(), 1);
    EXPECT_NE(both.err().find("process was killed by signal 6"), std::string::npos) << both.err();
    EXPECT_NE(both.out().find("\nlatency payload_bytes=64 "), std::string::npos) << "what was measured before stays";
    EXPECT_NE(both.out().find("\nend status=failed latency=1 throughput=0 demand=0 errors=1 "), std::string::npos)
        << both.out();
}

TEST_F(Needy, ASignalEndsARunWithAProcessForEachSize) {
    auto both = run("--test latency --transport needy-once --sizes 64,128 --duration 100 --warmup 0");
    ASSERT_TRUE(both.says("\nwarmup "));
    ::kill(both.pid(), SIGTERM);

    EXPECT_EQ(both.wait(), 1);
    EXPECT_NE(both.out().find("stopped by a signal"), std::string::npos) << both.out();
    EXPECT_NE(both.out().find("\nend status=failed "), std::string::npos) << both.out();
}

}  // namespace
}  // namespace tacholog
