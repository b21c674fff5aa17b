// Tests of the settings that transports declare: their allowed values, the values in effect, and their names in the
// log.
#include "base/settings.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "tests/program.hpp"
#include "tests/transports.hpp"

namespace tacholog {
namespace {

constexpr std::array declared{
    Setting{.name = "way", .values = "fast|safe", .default_value = "safe", .meaning = "how"},
    Setting{.name = "queue-length",
            .values = "N",
            .default_value = "library",
            .meaning = "how many",
            .check = whole_number<1, 100>},
    Setting{.name = "note", .values = "TEXT", .default_value = "none", .meaning = "anything"},
};

std::string refusal(const Setting& setting, std::string_view value) {
    const auto checked = check_value(setting, value);
    return checked ? "" : checked.error().text;
}

TEST(Settings, ThatAreNotGivenHaveTheirDefaults) {
    EXPECT_EQ(in_effect(declared, {{"way", "fast"}}),
              (Settings{{"way", "fast"}, {"queue-length", "library"}, {"note", "none"}}));
}

TEST(Settings, AcceptOneOfTheirWords) {
    EXPECT_EQ(refusal(declared[0], "fast"), "");
    EXPECT_EQ(refusal(declared[0], "fas"), "--set way=fas: not one of fast, safe");
}

TEST(Settings, AcceptNumbersWithinTheirBounds) {
    EXPECT_EQ(refusal(declared[1], "1"), "");
    EXPECT_EQ(refusal(declared[1], "100"), "");
    for (const char* value : {"0", "101", "-1", "1x", " 1", "99999999999999999999"})
        EXPECT_EQ(refusal(declared[1], value),
                  "--set queue-length=" + std::string{value} + ": not a whole number from 1 to 100");
}

TEST(Settings, AcceptTheirDefaultEvenIfItIsNotANumber) {
    EXPECT_EQ(refusal(declared[1], "library"), "");
}

TEST(Settings, HaveNamesWithoutHyphensInTheLog) {
    EXPECT_EQ(log_key("queue-length"), "queue_length");
    EXPECT_EQ(log_key("faults"), "faults");
}

TEST(Settings, OfEveryTransportHaveNamesDefaultsAndMeanings) {
    for (const Transport* transport : all_transports()) {
        std::set<std::string_view> names;
        for (const Setting& setting : transport->settings) {
            const std::string where = std::string{transport->name} + " " + std::string{setting.name};
            EXPECT_TRUE(names.insert(setting.name).second) << where;
            EXPECT_EQ(setting.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos)
                << where;
            EXPECT_FALSE(setting.values.empty()) << where;
            EXPECT_FALSE(setting.default_value.empty()) << where << ": a log leaves out what is empty";
            EXPECT_FALSE(setting.meaning.empty()) << where;
            EXPECT_EQ(refusal(setting, setting.default_value), "") << where;
        }
    }
}

TEST(Settings, AreListedWithDefaultAndMeaning) {
    Program listed{"--list-transports --verbose"};
    ASSERT_EQ(listed.wait(), 0) << listed.err();
    EXPECT_NE(listed.out().find("\n    --set congestion=NAME  (default kernel)\n"), std::string::npos) << listed.out();
    EXPECT_NE(listed.out().find("algorithm of congestion control"), std::string::npos) << listed.out();
}

TEST(Settings, AreAllInTheLog) {
    Program both{"--test latency --transport tcp --sizes 64 --duration 0.05 --warmup 0"};
    ASSERT_EQ(both.wait(), 0) << both.err();
    EXPECT_NE(both.out().find("\nsettings congestion=kernel nagle=off\n"), std::string::npos) << both.out();
    Program without{"--test latency --transport shm --sizes 64 --duration 0.05 --warmup 0"};
    ASSERT_EQ(without.wait(), 0) << without.err();
    EXPECT_EQ(without.out().find("\nsettings"), std::string::npos) << without.out();
}

TEST(Settings, MustBeTheSameOnBothSides) {
    expect_refusal("--test latency --transport tcp --sizes 64", " --set congestion=reno", "", "congestion");
}

}  // namespace
}  // namespace tacholog
