// Tests of the demand test: the pace of its bursts, and the table of its cases.
#include <fstream>

#include "cli/lists.hpp"
#include "rig/schedule.hpp"
#include "tests/program.hpp"

namespace tacholog {
namespace {

TEST(Schedule, AShortBurstIsFollowedByAPause) {
    Schedule bursts{1000, Demand{100, 5000}};

    EXPECT_EQ(bursts.due_ns(0), 1000);
    EXPECT_EQ(bursts.begin(0, 1000), 100U);
    EXPECT_TRUE(bursts.is_in_burst(60));
    EXPECT_LE(bursts.due_ns(60), 1020);
    EXPECT_EQ(bursts.begin(60, 1020), 40U);
    EXPECT_FALSE(bursts.is_in_burst(100));
    EXPECT_EQ(bursts.due_ns(100), 6000);
    EXPECT_EQ(bursts.begin(100, 6000), 100U);
}

TEST(Schedule, ABurstLongerThanTheRecoveryTimeIsFollowedWithoutAPause) {
    Schedule bursts{1000, Demand{100, 5000}};
    bursts.begin(0, 1000);

    EXPECT_EQ(bursts.due_ns(100), 6000);
    EXPECT_EQ(bursts.begin(100, 9000), 100U);
    EXPECT_EQ(bursts.due_ns(200), 14000);
}

TEST(Schedule, WithoutARecoveryTimeThereIsNoPause) {
    Schedule bursts{1000, Demand{1, 0}};
    bursts.begin(0, 1000);

    EXPECT_EQ(bursts.due_ns(1), 1000);
}

TEST(Schedule, ARateIsKeptAfterALateMessage) {
    Schedule rate{1000, 1e6};

    EXPECT_EQ(rate.due_ns(3), 4000);
    EXPECT_EQ(rate.begin(3, 9000), 1U);
    EXPECT_EQ(rate.due_ns(4), 5000);
    EXPECT_EQ(rate.due_before(5000), 4U);
}

TEST(Schedule, AtTheMaximumRateAllMessagesAreDueAtTheStart) {
    Schedule none{1000};

    EXPECT_EQ(none.due_ns(1'000'000), 1000);
    EXPECT_EQ(none.begin(7, 1000), UINT64_MAX);
    EXPECT_FALSE(none.is_in_burst(7));
}

TEST(DemandTable, EachLineIsAPayloadAndItsDemands) {
    const auto table = parse_demand_table("16;100;200;\r\n1024;50000\n");

    ASSERT_TRUE(table) << table.error().text;
    EXPECT_EQ(to_text(*table), "16:100:200,1024:50000");
}

struct WrongTable {
    const char* text;
    const char* message;
};

class WrongTables : public testing::TestWithParam<WrongTable> {};

TEST_P(WrongTables, AreRefusedWithTheLineOfTheError) {
    const auto table = parse_demand_table(GetParam().text);

    ASSERT_FALSE(table);
    EXPECT_EQ(table.error().text, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongTables,
    testing::Values(WrongTable{"16;100\n8;100\n", "2: '8' is not a payload in bytes (16 to 268435456)"},
                    WrongTable{"big;100", "1: 'big' is not a payload in bytes (16 to 268435456)"},
                    WrongTable{"99999999999999999999999;1",
                               "1: '99999999999999999999999' is not a payload in bytes "
                               "(16 to 268435456)"},
                    WrongTable{"16;100\n\n32;100\n", "2: empty: a line is 'payload;demand;demand...'"},
                    WrongTable{"", "1: empty: a line is 'payload;demand;demand...'"},
                    WrongTable{"16\n", "1: no demand after the payload: a line is 'payload;demand;demand...'"},
                    WrongTable{"16;0", "1: '0' is not a number of messages (1 to 4294967295)"},
                    WrongTable{"16;4294967296", "1: '4294967296' is not a number of messages (1 to 4294967295)"},
                    WrongTable{"16;1;;2", "1: '' is not a number of messages (1 to 4294967295)"},
                    WrongTable{"16;-1", "1: '-1' is not a number of messages (1 to 4294967295)"},
                    WrongTable{"16;5;5", "1: '5' is there twice"},
                    WrongTable{"16;5\n16;6", "2: payload 16 is there twice"}));

TEST(DemandTable, HasAtMostAThousandPairs) {
    std::string line = "16";
    for (int demand = 1; demand <= 1001; ++demand) (line += ';') += std::to_string(demand);
    const auto table = parse_demand_table(line);

    ASSERT_FALSE(table);
    EXPECT_EQ(table.error().text, "1: more than 1000 demands");
}

class TableFile {
public:
    explicit TableFile(const std::string& text) { std::ofstream{path_} << text; }
    TableFile(const TableFile&) = delete;
    TableFile& operator=(const TableFile&) = delete;
    ~TableFile() { std::filesystem::remove(path_); }
    const std::string& path() const { return path_; }

private:
    std::string path_ = testing::TempDir() + "payloads_demands." + std::to_string(::getpid()) + ".csv";
};

TEST(DemandFile, IsMeasuredLineByLineForEachRecoveryTime) {
    const TableFile file{"64;10;20;\n1024;5\n"};
    Program perftest{
        "--test demand --transport inter-thread --duration 0.02 --warmup 0 --recovery 0,1 --demands-file " +
        file.path()};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err();
    const auto log = perftest.out();
    std::vector<std::string> measured;
    std::istringstream lines{log};
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("demand ")) measured.push_back(line.substr(0, line.find(" sent=")));
    }
    EXPECT_EQ(measured, (std::vector<std::string>{"demand payload_bytes=64 demand=10 recovery_time_ns=0",
                                                  "demand payload_bytes=64 demand=10 recovery_time_ns=1000000",
                                                  "demand payload_bytes=64 demand=20 recovery_time_ns=0",
                                                  "demand payload_bytes=64 demand=20 recovery_time_ns=1000000",
                                                  "demand payload_bytes=1024 demand=5 recovery_time_ns=0",
                                                  "demand payload_bytes=1024 demand=5 recovery_time_ns=1000000"}));
    EXPECT_EQ(value(log, "end", "demand"), "6");
}

TEST(DemandFile, MistakeIsReportedInOneLineWithFileAndLine) {
    const TableFile file{"64;10\n12;10\n"};
    Program perftest{"--test demand --transport inter-thread --demands-file " + file.path()};

    EXPECT_EQ(perftest.wait(), 2);
    EXPECT_EQ(perftest.err(),
              "perftest: --demands-file " + file.path() + ":2: '12' is not a payload in bytes (16 to 268435456)\n");
}

TEST(DemandFile, MissingFileIsNamed) {
    Program perftest{"--test demand --transport inter-thread --demands-file /nowhere/table.csv"};

    EXPECT_EQ(perftest.wait(), 2);
    EXPECT_EQ(perftest.err(), "perftest: --demands-file /nowhere/table.csv: No such file or directory\n");
}

TEST(Demand, BurstsAreCompleteAndStartAtLeastARecoveryTimeApart) {
    Program perftest{
        "--test demand --transport inter-thread --sizes 64 --demands 7 --recovery 20 --duration 0.5 "
        "--warmup 0"};

    EXPECT_EQ(perftest.wait(), 0) << perftest.err();
    const auto sent = std::stoull(value(perftest.out(), "demand", "sent"));
    const auto duration_ns = std::stoull(value(perftest.out(), "demand", "send_duration_ns"));
    EXPECT_EQ(sent % 7, 0U);
    // Each burst starts at least the recovery time after the previous one, even if that one was late. So at most 25
    // bursts fit into half a second.
    EXPECT_LE(sent / 7, 25U);
    EXPECT_GE(duration_ns, (sent / 7 - 1) * 20'000'000);
}

TEST(Demand, ASignalDuringAPauseEndsTheRunWithACompleteLog) {
    Program perftest{"--test demand --transport shm --sizes 64 --demands 1 --recovery 60000 --duration 600 --warmup 0"};
    ASSERT_TRUE(perftest.says("\nwarmup"));
    ::kill(perftest.pid(), SIGTERM);

    EXPECT_EQ(perftest.wait(), 1);
    EXPECT_EQ(value(perftest.out(), "end", "status"), "failed");
}

// Regression: a single message was reported with a rate of 33 Gbit/s. This was the size of the message, divided by the
// time for reading the message.
TEST(Demand, OneMessageHasNoRate) {
    Program both{"--test demand --transport shm --sizes 1MiB --demands 1 --recovery 60000 --duration 0.05 --warmup 0"};
    ASSERT_EQ(both.wait(), 0) << both.err() << both.out();

    EXPECT_EQ(value(both.out(), "demand", "sent"), "1") << both.out();
    for (const char* key : {"offered_rate_per_s", "offered_goodput_bit_per_s", "rate_per_s", "goodput_bit_per_s"})
        EXPECT_EQ(value(both.out(), "demand", key), "") << key;
}

// The test sends bursts of one message, each at least 20 ms after the previous burst. A rate is computed from the
// periods between messages, and there is one period less than messages. If the number of messages were divided by the
// whole time, the rate would therefore be too high.
TEST(Demand, RatesAreComputedFromThePeriodsBetweenMessages) {
    Program both{"--test demand --transport inter-thread --sizes 64 --demands 1 --recovery 20 --duration 1 --warmup 0"};
    ASSERT_EQ(both.wait(), 0) << both.err() << both.out();
    const std::string log = both.out();

    for (const auto& [count, duration, rate] : {std::tuple{"sent", "send_duration_ns", "offered_rate_per_s"},
                                                std::tuple{"received", "receive_duration_ns", "rate_per_s"}}) {
        const auto messages = static_cast<double>(std::stoull(value(log, "demand", count)));
        const auto duration_ns = static_cast<double>(std::stoull(value(log, "demand", duration)));
        ASSERT_GE(messages, 2) << log;
        EXPECT_NEAR(std::stod(value(log, "demand", rate)), (messages - 1) * 1e9 / duration_ns, 0.001) << log;
    }
    EXPECT_LE(std::stod(value(log, "demand", "offered_rate_per_s")), 50.5) << log;
}

}  // namespace
}  // namespace tacholog
