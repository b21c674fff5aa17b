#include "cli/options.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/text.hpp"
#include "cli/option_table.hpp"
#include "machine/environment.hpp"
#include "transports/transport.hpp"

namespace tacholog {
namespace {

Result<Options> parse(const std::string& line) {
    std::istringstream words{line};
    std::vector<std::string> arguments{"perftest"};
    for (std::string word; words >> word;) arguments.push_back(word);
    std::vector<char*> pointers;
    for (auto& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    return parse_options(static_cast<int>(arguments.size()), pointers.data());
}

TEST(Options, DefaultsEqualTheDefaultsInTheHelp) {
    const auto options = parse("--test latency --transport shm");

    ASSERT_TRUE(options);
    EXPECT_EQ(options->role, Role::both);
    EXPECT_EQ(options->duration_s, 5);
    EXPECT_EQ(options->warmup_s, std::nullopt);
    EXPECT_EQ(options->handling.touch, Touch::write_read);
    EXPECT_EQ(options->sizes.front(), 16U);
    EXPECT_EQ(options->address, "127.0.0.1");
    EXPECT_EQ(options->command, "perftest --test latency --transport shm");
}

TEST(Options, AFlagMayBeGivenTwice) {
    const auto options = parse("--test latency --transport shm --verify --verify");

    ASSERT_TRUE(options) << options.error().text;
    EXPECT_TRUE(options->handling.verify);
}

TEST(Options, ADemandTestHasACaseForEachSizeDemandAndRecoveryTime) {
    const auto options = parse("--test demand --transport shm --sizes 64,1KiB --demands 5,6 --recovery 0,2");

    ASSERT_TRUE(options);
    const auto measured = cases(*options);
    ASSERT_EQ(measured.size(), 8U);
    EXPECT_EQ(measured[0], (Case{64, Demand{5, 0}}));
    EXPECT_EQ(measured[1], (Case{64, Demand{5, 2'000'000}}));
    EXPECT_EQ(measured[2], (Case{64, Demand{6, 0}}));
    EXPECT_EQ(measured[7], (Case{1024, Demand{6, 2'000'000}}));
}

TEST(Options, SizesMayHaveUnits) {
    const auto sizes = parse_sizes("16,64B,1KiB,32MiB");

    ASSERT_TRUE(sizes);
    EXPECT_EQ(*sizes, (std::vector<std::size_t>{16, 64, 1024, 33554432}));
}

TEST(Options, CpuListsMayHaveRanges) {
    const auto cpus = parse_cpus("0,2-4");

    ASSERT_TRUE(cpus);
    EXPECT_EQ(*cpus, (std::vector<int>{0, 2, 3, 4}));
}

TEST(Options, HelpNeedsNoOtherOption) {
    const auto options = parse("--help");

    ASSERT_TRUE(options);
    EXPECT_EQ(options->request, Request::help);
}

struct Wrong {
    const char* line;
    const char* message;
};

class WrongOptions : public testing::TestWithParam<Wrong> {};

TEST_P(WrongOptions, AreNamedInTheMessage) {
    const auto options = parse(GetParam().line);

    ASSERT_FALSE(options);
    EXPECT_NE(options.error().text.find(GetParam().message), std::string::npos) << options.error().text;
    EXPECT_EQ(options.error().text.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongOptions,
    testing::Values(
        Wrong{"--test latency --transport shm --test throughput", "--test is given twice"},
        Wrong{"--test latency --transport shm --transport shm", "--transport is given twice"},
        Wrong{"--test latency --transport shm --sizes 64 --sizes=64", "--sizes is given twice"},
        Wrong{"--transport shm", "--test is missing"}, Wrong{"--test latency", "--transport is missing"},
        Wrong{"--test speed --transport shm", "--test speed: not one of latency, throughput"},
        Wrong{"--test demand --transport shm --rate 5", "a demand test is paced by --recovery"},
        Wrong{"--test sustain --transport shm", "--test sustain needs --latency-goal"},
        Wrong{"--test sustain --transport shm --latency-goal p98=1ms", "p98=1ms: not STATISTIC=TIME"},
        Wrong{"--test sustain --transport shm --latency-goal p99=1ms --rate 5", "within --rate-range"},
        Wrong{"--test sustain --transport shm --latency-goal p99=1ms --rate-range 5", "not LOWEST,HIGHEST"},
        Wrong{"--test sustain --transport shm --latency-goal p99=1ms --rate-range 10,99", "has too few messages"},
        Wrong{"--test sustain --transport shm --latency-goal p99=1ms --trial-duration 9",
              "must not be longer than --duration"},
        Wrong{"--test sustain --transport shm --latency-goal p99=1ms --exceed-ratio 1", "not a ratio from 0 to less"},
        Wrong{"--test sustain --transport shm --latency-goal p99=1ms --goal-width 0", "not a ratio from 0.001 to"},
        Wrong{"--test sustain --transport shm --latency-goal p99=1ms --trials 0", "not a whole number from 1 to"},
        Wrong{"--test latency --transport shm --loss-goal 0.1", "--loss-goal is for --test sustain"},
        Wrong{"--test latency --transport shm --demands 5", "--demands is for --test demand"},
        Wrong{"--test throughput --transport shm --recovery 5", "--recovery is for --test demand"},
        Wrong{"--test demand --transport shm --demands 0", "--demands: '0' is not a number of messages"},
        Wrong{"--test demand --transport shm --demands 1,1", "--demands: '1' is there twice"},
        Wrong{"--test demand --transport shm --recovery 0.5", "'0.5' is not a number of milliseconds"},
        Wrong{"--test demand --transport shm --recovery 60001", "'60001' is not a number of milliseconds"},
        Wrong{"--test latency --transport shm --output a --output b", "--output is given twice"},
        Wrong{"--test throughput --transport shm --rate 0", "--rate 0: not a positive number"},
        Wrong{"--test throughput --transport shm --rate nan", "--rate nan"},
        Wrong{"--test latency --transport shm --verify --touch none", "--verify needs --touch"},
        Wrong{"--test latency --transport shm --basis one-way", "--basis one-way needs --test latency and"},
        Wrong{"--test throughput --transport shm --rate 5 --basis one-way", "--basis one-way needs"},
        Wrong{"--test latency --transport shm --rate 5 --basis one-way --verify", "one-way with --verify"},
        Wrong{"--test throughput --transport shm --instances 0", "--instances 0: not a number from 1 to"},
        Wrong{"--test demand --transport shm --instances 65537", "not a number from 1 to 65536"},
        Wrong{"--test latency --transport tcp --batch-bytes 4KiB", "is for --test throughput and demand"},
        Wrong{"--test throughput --transport tcp --batch-bytes 64KiB,16", "64KiB,16: not a size from"},
        Wrong{"--test throughput --transport tcp --batch-bytes 1048577", "1048577: not a size from 16 to 1MiB"},
        Wrong{"--test latency --transport tcp --set congestion=../x", "../x: not the name of an algorithm"},
        Wrong{"--test latency --transport tcp --set congestion=abcdefghijklmnop", "not the name of an algor"},
        Wrong{"--test latency --transport shm --set faults=lose=2",
              "--set faults: shm has no such setting; those that it has: none"},
        Wrong{"--test latency --transport mock --set faults=lose=0",
              "--set faults=lose=0: 'lose=0' is neither hold=TIME"},
        Wrong{"--test latency --transport mock --set faults=", "--set faults=: not NAME=VALUE"},
        Wrong{"--test latency --transport mock --set =x", "--set =x: not NAME=VALUE"},
        Wrong{"--test latency --transport mock --set faults", "--set faults: not NAME=VALUE"},
        Wrong{"--test latency --transport mock --set fault=x", "those that it has: faults"},
        Wrong{"--test latency --transport tcp --set nagle=yes", "--set nagle=yes: not one of on, off"},
        Wrong{"--test latency --transport shm --realtime 0", "--realtime 0: not a whole number from 1 to 98"},
        Wrong{"--test latency --transport shm --realtime 99", "--realtime 99: not a whole number from 1 to 98"},
        Wrong{"--test latency --transport shm --realtime high", "--realtime high: not a whole number"},
        Wrong{"--test latency --transport shm --numa -1", "--numa -1: not a whole number from 0 to 1023"},
        Wrong{"--test latency --transport shm --numa 1024", "--numa 1024: not a whole number from 0 to 1023"},
        Wrong{"--test latency --transport tcp --congestion reno", "--set congestion=VALUE"},
        Wrong{"--test latency --transport mock --mock lose=2", "--set faults=VALUE"},
        Wrong{"--test latency --transport mock --set faults=lose=2 --set faults=lose=3", "--set faults is given twice"},
        Wrong{"--test throughput --transport tcp --probe-every 0", "--probe-every 0: not a number from 1"},
        Wrong{"--test throughput --transport tcp --batch-bytes 0", "--batch-bytes 0: not a size"},
        Wrong{"--test latency --transport shm --wait park", "--wait park: not one of busy-poll, block"},
        Wrong{"--test latency --transport shm --sizes 8", "'8' is out of range"},
        Wrong{"--test latency --transport shm --sizes 64,64B", "'64B' is there twice"},
        Wrong{"--test latency --transport shm --sizes 64,,1", "'' is not a size"},
        Wrong{"--test latency --transport shm --sizes 1kB", "'1kB' is not a size"},
        Wrong{"--test latency --transport shm --sizes 99999999999999999999", "is not a size"},
        Wrong{"--test latency --transport shm --sizes 1024MiB", "out of range"},
        Wrong{"--test latency --transport shm --duration -1", "--duration -1"},
        Wrong{"--test latency --transport shm --warmup soon", "--warmup soon"},
        Wrong{"--test latency --transport shm --cpu-pub 4-2", "'4-2' is not a list of CPUs"},
        Wrong{"--test latency --transport shm --role pub --cpu-sub 1", "--cpu-sub with --role pub"},
        Wrong{"--test latency --transport shm --role sub --cpu-pub 1", "--cpu-pub with --role sub"},
        Wrong{"--test latency --transport shm --role pub --port 0", "--port 0 with --role pub"},
        Wrong{"--test latency --transport shm --port 65536", "--port 65536"},
        Wrong{"--test latency --transport shm --address nobody.invalid", "nobody.invalid: no such host"},
        Wrong{"--test latency --transport shm --frequency 5", "--frequency: no such option"},
        Wrong{"--test latency --transport shm --size 64", "--size: no such option; there is --sizes"},
        Wrong{"--test latency --transport shm --size=64", "--size: no such option; there is --sizes"},
        Wrong{"--test latency --transport shm --duration 1e30", "1e30: more than 86400 seconds"},
        Wrong{"--test latency --transport shm -x", "-x: no such option"},
        Wrong{"--test latency --transport", "--transport: its value is missing"},
        Wrong{"--test latency --transport shm now", "'now': options only"}));

TEST(Options, TheLengthOfIntervalsAndTheTimeLimitOfAnswersAreOptions) {
    const auto options = parse("--test latency --transport shm --interval-length 0.1 --answer-limit 2");
    ASSERT_TRUE(options) << options.error().text;
    EXPECT_EQ(options->interval_s, 0.1);
    EXPECT_EQ(options->answer_limit_s, 2);
    const auto plain = parse("--test latency --transport shm");
    EXPECT_EQ(plain->interval_s, 1);
    EXPECT_EQ(plain->answer_limit_s, std::nullopt);
}

TEST(Options, ASettingOfATransportHasTheGivenValueOrItsDefault) {
    const auto given = parse("--test latency --transport mock --set faults=lose=10,hold=1ms");
    ASSERT_TRUE(given) << given.error().text;
    EXPECT_EQ(given->settings, (Settings{{"capacity", "none"}, {"faults", "lose=10,hold=1ms"}}));
    EXPECT_EQ(parse("--test latency --transport mock")->settings, (Settings{{"capacity", "none"}, {"faults", "none"}}));
    EXPECT_EQ(parse("--test latency --transport mock --set faults=none")->settings,
              (Settings{{"capacity", "none"}, {"faults", "none"}}));
    EXPECT_TRUE(parse("--test latency --transport shm")->settings.empty());
}

TEST(Options, AnIntervalIsNotShorterThanItsMinimum) {
    const auto options = parse("--test latency --transport shm --interval-length 0.001");
    ASSERT_FALSE(options);
    EXPECT_EQ(options.error().text, "--interval-length 0.001: less than 0.01 seconds");
}

TEST(Options, ATimeLimitOfAnswersIsOnlyForAClosedLoop) {
    const auto options = parse("--test latency --transport shm --rate 10 --answer-limit 2");
    ASSERT_FALSE(options);
    EXPECT_NE(options.error().text.find("--answer-limit is for --test latency without --rate"), std::string::npos);
}

}  // namespace
}  // namespace tacholog
