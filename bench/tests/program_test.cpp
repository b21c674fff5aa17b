// Tests of the whole program: its output, and how it ends after an error.
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "control/control.hpp"
#include "machine/environment.hpp"
#include "tests/program.hpp"
#include "tests/transports.hpp"

namespace tacholog {
namespace {

class EveryTransportRuns : public testing::TestWithParam<const Transport*> {
protected:
    static std::string transport() { return " --transport " + std::string{GetParam()->name}; }
};

/// Tests that run over our own transports in the gate, which runs for each change. At night, the tests run over every
/// transport.
class OwnTransportRuns : public EveryTransportRuns {};

/// These tests compare times, so they run only at night.
class MeasuredRuns : public EveryTransportRuns {};

/// These tests do not depend on the transport.
class RepresentativeRuns : public EveryTransportRuns {};

TEST_P(EveryTransportRuns, LatencyHasACompleteLog) {
    Program perftest{"--test latency --verify --sizes 16,100KiB" + briefly + transport()};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
    const auto log = perftest.out();
    EXPECT_TRUE(log.starts_with("perftest version="));
    EXPECT_NE(log.find("\nconfig "), std::string::npos);
    const bool networked = GetParam()->reach == Reach::network;
    EXPECT_EQ(value(log, "config", "reach"), GetParam()->parties == Parties::threads ? "process"
                                             : networked                             ? "network"
                                                                                     : "host");
    EXPECT_EQ(value(log, "warmup", "outcome"), "fixed");
    EXPECT_EQ(value(log, "latency", "corrupted"), "0");
    EXPECT_NE(value(log, "latency", "samples"), "0");
    EXPECT_EQ(value(log, "end", "status"), "ok");
    EXPECT_EQ(value(log, "end", "latency"), "2");
}

TEST_P(OwnTransportRuns, OneWayLatencyIsAboveZero) {
    Program perftest{"--test latency --basis one-way --rate 1000 --sizes 16,100KiB" + briefly + transport()};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
    const auto log = perftest.out();
    EXPECT_EQ(value(log, "latency", "basis"), "one-way");
    EXPECT_EQ(std::stoull(value(log, "latency", "samples")) + std::stoull(value(log, "latency", "lost")),
              std::stoull(value(log, "sending", "sent")));
    EXPECT_GT(std::stoll(value(log, "latency", "min_ns")), 0) << log;
    EXPECT_NE(log.find("note text=\"one-way: both sides read one CLOCK_MONOTONIC"), std::string::npos) << log;
}

TEST_P(EveryTransportRuns, ThroughputCountsAddUp) {
    Program perftest{"--test throughput --verify --sizes 64,100KiB" + briefly + transport()};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
    const auto log = perftest.out();
    const auto sent = std::stoull(value(log, "throughput", "sent"));
    const auto received = std::stoull(value(log, "throughput", "received"));
    const auto lost = std::stoull(value(log, "throughput", "lost"));
    EXPECT_EQ(received + lost, sent);
    EXPECT_EQ(value(log, "throughput", "corrupted"), "0");
    if (GetParam()->reliability == Reliability::reliable) {
        EXPECT_EQ(lost, 0U);
    }
}

TEST_P(MeasuredRuns, SendAllMessagesOfTheirSchedule) {
    Program perftest{"--test throughput --rate 200 --sizes 64 --duration 1 --warmup 0.05" + transport()};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
    // The schedule does not shift, even if messages are late. So the count is exact, unless the run ends during a
    // stall.
    const auto sent = std::stoull(value(perftest.out(), "throughput", "sent"));
    EXPECT_LE(sent, 200U);
    EXPECT_GE(sent, 150U);
    EXPECT_EQ(value(perftest.out(), "config", "load_mode"), "open");
}

TEST_P(OwnTransportRuns, BurstsAreCountedOnBothSides) {
    Program perftest{"--test demand --verify --sizes 64,100KiB --demands 20 --recovery 2" + briefly + transport()};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
    const auto log = perftest.out();
    const auto sent = std::stoull(value(log, "demand", "sent"));
    EXPECT_EQ(sent % 20, 0U);
    EXPECT_EQ(std::stoull(value(log, "demand", "received")) + std::stoull(value(log, "demand", "lost")), sent);
    EXPECT_EQ(value(log, "demand", "corrupted"), "0");
    EXPECT_EQ(value(log, "end", "demand"), "2");
}

TEST_P(RepresentativeRuns, EachSizeStatesTheResourcesOfBothSides) {
    Program perftest{"--test throughput --sizes 64,128" + briefly + transport()};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err() << perftest.out();
    const auto log = perftest.out();
    for (const char* size : {"64", "128"}) {
        for (const char* role : {"pub", "sub"}) {
            const std::string line = "resources payload_bytes=" + std::string{size} + " test=throughput role=" + role;
            ASSERT_NE(log.find("\n" + line + " "), std::string::npos) << log;
            const auto used = std::stoll(value(log, line, "user_ns")) + std::stoll(value(log, line, "system_ns"));
            EXPECT_GT(used, 0) << line;
            // The program cannot use more processor time than all cores have. The kernel counts processor time in ticks
            // of at most 10 ms, so the limit is 20 ms higher for each core.
            const auto cores = static_cast<long long>(std::thread::hardware_concurrency());
            EXPECT_LE(used, cores * (std::stoll(value(log, line, "duration_ns")) + 20'000'000)) << line;
            EXPECT_GT(std::stoll(value(log, line, "peak_memory_bytes")), 1'000'000) << line;
        }
    }
}

TEST_P(OwnTransportRuns, TwoRunsAtTheSameTimeDoNotMixTheirMessages) {
    Program first{"--test latency --verify --sizes 64" + briefly + transport()};
    Program second{"--test throughput --verify --sizes 64" + briefly + transport()};

    EXPECT_EQ(first.wait(), 0) << first.err() << first.out();
    EXPECT_EQ(second.wait(), 0) << second.err() << second.out();
    EXPECT_EQ(value(first.out(), "latency", "corrupted"), "0");
    EXPECT_EQ(value(second.out(), "throughput", "corrupted"), "0");
}

TEST_P(OwnTransportRuns, ASignalEndsTheRunWithACompleteLog) {
    Program perftest{"--test throughput --sizes 64" + endlessly + transport()};
    ASSERT_TRUE(perftest.says("\nwarmup"));
    ::kill(perftest.pid(), SIGTERM);

    EXPECT_EQ(perftest.wait(), 1);
    EXPECT_NE(perftest.out().find("error text=\"stopped by a signal\""), std::string::npos) << perftest.out();
    EXPECT_EQ(value(perftest.out(), "end", "status"), "failed");
    EXPECT_EQ(perftest.err(), "perftest: stopped by a signal\n");
}

TEST_P(EveryTransportRuns, TwoProcessesConnectByPort) {
    if (GetParam()->parties == Parties::threads) GTEST_SKIP() << "one process";
    const int port = free_port();
    const std::string common = "--test throughput --sizes 64 --port " + std::to_string(port) + briefly + transport();
    Program subscriber{common + " --role sub"};
    Program publisher{common + " --role pub"};

    EXPECT_EQ(publisher.wait(), 0) << publisher.err() << publisher.out();
    EXPECT_EQ(subscriber.wait(), 0) << subscriber.err() << subscriber.out();
    for (const char* key : {"sent", "received", "lost", "duration_ns"}) {
        EXPECT_EQ(value(publisher.out(), "throughput", key), value(subscriber.out(), "throughput", key)) << key;
    }
}

TEST_P(OwnTransportRuns, MessagesAboveTheLimitOfTheTransportAreRefused) {
    if (GetParam()->most_bytes == 0) GTEST_SKIP() << "it carries any size";
    const std::string larger = std::to_string(GetParam()->most_bytes + 1);
    Program perftest{"--test latency --sizes 64," + larger + transport()};

    EXPECT_EQ(perftest.wait(), 2);
    EXPECT_EQ(perftest.err(), "perftest: --sizes " + larger + ": " + std::string{GetParam()->name} +
                                  " carries messages of up to " + std::to_string(GetParam()->most_bytes) +
                                  " bytes with these settings\n");
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryTransportRuns, testing::ValuesIn(transports_of_one_host()), transport_name);
INSTANTIATE_TEST_SUITE_P(Registry, OwnTransportRuns, testing::ValuesIn(own_in_the_gate(transports_of_one_host())),
                         transport_name);
INSTANTIATE_TEST_SUITE_P(Representatives, RepresentativeRuns, testing::ValuesIn(representatives()), transport_name);
INSTANTIATE_TEST_SUITE_P(Registry, MeasuredRuns, testing::ValuesIn(transports_of_one_host()), transport_name);

TEST(Perftest, TheLogHasTheCountersOfTheKernelForTheNetworkPath) {
    Program udp{"--test throughput --transport udp --sizes 64 --rate 2000" + briefly};
    Program shm{"--test throughput --transport shm --sizes 64 --rate 2000" + briefly};

    EXPECT_EQ(udp.wait(), 0) << udp.err();
    EXPECT_EQ(shm.wait(), 0) << shm.err();
    if (value(udp.out(), "path", "udp_out_datagrams").empty()) LEAVE_OUT << "needs /proc/self/net/snmp";
    EXPECT_GE(std::stoull(value(udp.out(), "path", "udp_out_datagrams")),
              std::stoull(value(udp.out(), "throughput", "sent")));
    EXPECT_NE(value(shm.out(), "path", "tcp_out_segs"), "");  // the control channel
}

// The sanitizers use extra memory.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// The kernel's ru_maxrss includes the peak of the program that started this program. In a campaign, this is Python. So
// each run seemed to use as much memory as Python.
TEST(Perftest, PeakMemoryDoesNotIncludeTheProgramThatStartedTheRun) {
    const std::vector<char> large(std::size_t{128} * 1024 * 1024, 1);
    Program both{"--test latency --transport udp --sizes 64" + briefly};

    EXPECT_EQ(both.wait(), 0) << both.err();
    for (const std::string role : {"pub", "sub"}) {
        const std::string line = "resources payload_bytes=64 test=latency role=" + role;
        const auto peak_bytes = number(both.out(), line, "peak_memory_bytes");
        EXPECT_EQ(value(both.out(), line, "peak_memory_from"), "VmHWM");
        EXPECT_GT(peak_bytes, 1'000'000U) << both.out();
        EXPECT_LT(peak_bytes, large.size()) << both.out();
    }
}
#endif

TEST(Perftest, AWrongCommandLineGivesOneLineAndExitStatus2) {
    for (const char* line : {"--test latency --transport smoke-signals",
                             "--test latency --transport inter-thread --role pub", "--test latency"}) {
        Program perftest{line};

        EXPECT_EQ(perftest.wait(), 2) << line;
        const auto said = perftest.err();
        EXPECT_TRUE(said.starts_with("perftest: ")) << said;
        EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
        EXPECT_EQ(perftest.out(), "");
    }
}

TEST(Perftest, AMissingPeerFailsTheRunWithinTheTimeLimit) {
    const std::string port = " --port " + std::to_string(free_port());
    for (const std::string role : {"pub", "sub"}) {
        Program perftest{"--test latency --transport shm --timeout 0.2 --role " + role + port};

        EXPECT_EQ(perftest.wait(), 1);
        EXPECT_EQ(value(perftest.out(), "end", "errors"), "1");
        EXPECT_TRUE(perftest.err().starts_with("perftest: no ")) << perftest.err();
    }
}

TEST(Perftest, APortInUseIsNamed) {
    const auto taken = Listener::open("127.0.0.1", 0);
    Program perftest{"--test latency --transport shm --role pub --port " + std::to_string(taken->port())};

    EXPECT_EQ(perftest.wait(), 1);
    EXPECT_EQ(perftest.err(),
              "perftest: listen on 127.0.0.1:" + std::to_string(taken->port()) + ": Address already in use\n");
}

TEST(Perftest, AnErrorWithTheDefaultPortStatesThatThePortIsTheDefault) {
    const std::string here = own_loopback_address(0);
    const std::string run = "--test latency --transport shm --timeout 0.2 --address " + here + " --role ";
    Program lonely{run + "pub"};
    EXPECT_EQ(lonely.wait(), 1);
    const auto taken = Listener::open(here, 7420);
    ASSERT_TRUE(taken) << taken.error().text;
    Program second{run + "pub"};
    const std::string elsewhere = own_loopback_address(1);
    Program seeker{"--test latency --transport shm --timeout 0.2 --role sub --address " + elsewhere};
    Program told{run + "pub --port 7420"};

    EXPECT_EQ(lonely.err(), "perftest: no subscriber has connected to " + here +
                                ":7420 within the time limit; 7420 is the default of --port\n");
    EXPECT_EQ(second.wait(), 1);
    EXPECT_EQ(second.err(),
              "perftest: listen on " + here + ":7420: Address already in use; 7420 is the default of --port\n");
    EXPECT_EQ(seeker.wait(), 1);
    EXPECT_EQ(seeker.err(), "perftest: no publisher at " + elsewhere +
                                ":7420: connect: Connection refused; 7420 is the default of --port\n");
    EXPECT_EQ(told.wait(), 1);
    EXPECT_EQ(told.err(), "perftest: listen on " + here + ":7420: Address already in use\n");
}

TEST(Perftest, SidesWithDifferentOptionsRefuseEachOther) {
    expect_refusal("--test latency --transport shm", " --sizes 128", " --sizes 64",
                   "--sizes=128 here, --sizes=64 there");
}

/// The list is about 40 KB long.
std::string many_sizes(std::size_t last) {
    std::string list;
    for (std::size_t size = 10'000; size < 17'000; ++size) list += std::to_string(size) + ",";
    return list + std::to_string(last);
}

TEST(Perftest, AgreementsOfAnyLengthAreComparedCompletely) {
    const auto note = expect_refusal("--test latency --transport shm", " --sizes " + many_sizes(20'002),
                                     " --sizes " + many_sizes(20'001), ",20002 here, --sizes=...");

    EXPECT_NE(note.find(",20001 there"), std::string::npos) << note;
    EXPECT_LT(note.size(), 1000U);
}

TEST(Perftest, AnAgreementThatIsTooLongForTheControlChannelIsRefused) {
    Program perftest{
        "--test demand --transport shm --demands 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20 --sizes " +
        many_sizes(20'000)};

    EXPECT_EQ(perftest.wait(), 2);
    EXPECT_NE(perftest.err().find("bytes long, and the control channel takes at most 262144"), std::string::npos)
        << perftest.err();
}

TEST(Perftest, TheLogOfTcpStatesHowAcknowledgementsAreAvoided) {
    Program perftest{"--test latency --transport tcp --sizes 64 --duration 0.05 --warmup 0"};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err();
    EXPECT_NE(perftest.out().find("note text=\"tcp: of messages of up to 256 KiB the subscriber leaves the last byte"),
              std::string::npos)
        << perftest.out();
}

TEST(Perftest, AnOutputThatCannotBeWrittenIsNamed) {
    Program perftest{"--test latency --transport shm --output /nowhere/log"};

    EXPECT_EQ(perftest.wait(), 2);
    EXPECT_EQ(perftest.err(), "perftest: --output /nowhere/log: No such file or directory\n");
}

TEST(Perftest, AFullDiskFailsTheRun) {
    Program perftest{"--test latency --transport shm --sizes 64 --output /dev/full" + briefly};

    EXPECT_EQ(perftest.wait(), 1);
    EXPECT_NE(perftest.err().find("write the log"), std::string::npos) << perftest.err();
}

TEST(Perftest, HelpAndListsArePrinted) {
    for (const char* line : {"--help", "--version", "--list-transports"}) {
        Program perftest{line};

        EXPECT_EQ(perftest.wait(), 0);
        EXPECT_NE(perftest.out(), "");
        EXPECT_EQ(perftest.err(), "");
    }
}

TEST(Throughput, OfOneMessageHasNoRate) {
    Program both{"--test throughput --transport shm --sizes 64 --rate 1 --duration 0.05 --warmup 0"};

    EXPECT_EQ(both.wait(), 0) << both.err();
    EXPECT_EQ(value(both.out(), "throughput", "received"), "1");
    EXPECT_EQ(both.out().find(" goodput_bit_per_s="), std::string::npos) << both.out();
}

TEST(Affinity, OfBothSidesToTheSameCpuIsNoted) {
    cpu_set_t cpus;
    ASSERT_EQ(::sched_getaffinity(0, sizeof cpus, &cpus), 0);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &cpus)) ++cpu;
    const std::string one = std::to_string(cpu);
    Program both{"--test latency --transport uds --sizes 64 --duration 0.05 --warmup 0 --cpu-pub " + one +
                 " --cpu-sub " + one};

    EXPECT_EQ(both.wait(), 0) << both.err();
    EXPECT_NE(both.out().find("note text=\"publisher and subscriber share CPU " + one + ": they run by turns"),
              std::string::npos)
        << both.out();
}

TEST(Affinity, OfUnpinnedSidesHasALineAboutThePlacement) {
    Program both{"--test latency --transport shm --sizes 64 --duration 0.05 --warmup 0"};

    EXPECT_EQ(both.wait(), 0) << both.err();
    EXPECT_NE(value(both.out(), "placement", "relation"), "") << both.out();
    EXPECT_NE(value(both.out(), "host", "realtime_throttling"), "") << both.out();
}

TEST(Affinity, OfTwoCpusPutsTheTimeOfACacheLineIntoTheLogOfEachSide) {
    const auto cpus = allowed_cpus();
    if (cpus.size() < 2) GTEST_SKIP() << "this process has one CPU";
    const std::string options =
        "--test throughput --transport uds --sizes 64 --duration 0.05 --warmup 0 --port " + std::to_string(free_port());
    Program pub{options + " --role pub --cpu-pub " + std::to_string(cpus[0])};
    Program sub{options + " --role sub --cpu-sub " + std::to_string(cpus[1])};

    EXPECT_EQ(pub.wait(), 0) << pub.err();
    EXPECT_EQ(sub.wait(), 0) << sub.err();
    EXPECT_NE(value(pub.out(), "placement", "cache_line_ns"), "") << pub.out();
    EXPECT_EQ(value(pub.out(), "placement", "relation"), value(sub.out(), "placement", "relation"));
    EXPECT_EQ(value(pub.out(), "placement", "cache_line_ns"), value(sub.out(), "placement", "cache_line_ns"));
}

TEST(SharedMemory, IsStatedWithItsHugePagesByBothSidesForEachSize) {
    Program both{"--test latency --transport shm --sizes 64,1MiB" + briefly};

    EXPECT_EQ(both.wait(), 0) << both.err();
    for (const std::string role : {"pub", "sub"}) {
        const auto bytes = [&](const std::string& size, const char* key) {
            return number(both.out(), "memory role=" + role + " payload_bytes=" + size, key);
        };
        EXPECT_GT(bytes("64", "shared_memory_bytes"), 0U);
        EXPECT_GE(bytes("1048576", "shared_memory_bytes"), 1048576U);
        EXPECT_LE(bytes("1048576", "shared_huge_page_bytes"), bytes("1048576", "shared_memory_bytes"));
    }
}

TEST(SharedMemory, IsNotStatedWhereThereIsNone) {
    Program both{"--test latency --transport tcp --sizes 64" + briefly};

    EXPECT_EQ(both.wait(), 0) << both.err();
    EXPECT_EQ(both.out().find("shared_memory_bytes"), std::string::npos) << both.out();
}

TEST(Null, MeasuresTheRigWithoutATransport) {
    for (const std::string load : {"", " --rate 2000", " --rate 1000000"}) {
        Program null{"--test latency --transport null --sizes 16,64KiB --verify" + briefly + load};

        EXPECT_EQ(null.wait(), 0) << null.err() << null.out();
        const auto log = null.out();
        EXPECT_NE(value(log, "latency", "samples"), "0");
        EXPECT_EQ(value(log, "latency", "lost"), "0");
        EXPECT_EQ(value(log, "latency", "corrupted"), "0");
        EXPECT_EQ(value(log, "end", "latency"), "2");
    }
}

TEST(Null, IsRefusedForTestsThatNeedASubscriber) {
    for (const std::string test :
         {"throughput", "demand", "sustain --latency-goal p99=1ms", "latency --basis one-way --rate 9"}) {
        Program null{"--transport null --test " + test};

        EXPECT_EQ(null.wait(), 2);
        EXPECT_NE(null.err().find("--transport null reaches no subscriber"), std::string::npos) << null.err();
    }
}

}  // namespace
}  // namespace tacholog
