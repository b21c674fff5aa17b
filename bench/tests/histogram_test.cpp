#include "base/histogram.hpp"

#include <gtest/gtest.h>

#include "rig/one_way.hpp"

namespace tacholog {
namespace {

Histogram one_to(std::uint64_t last) {
    Histogram histogram;
    for (std::uint64_t value = 1; value <= last; ++value) histogram.record(value);
    return histogram;
}

TEST(Histogram, PercentilesAreNearestRankAndExactForSmallValues) {
    const auto histogram = one_to(1000);

    EXPECT_EQ(histogram.percentile_ns(500'000), 500);
    EXPECT_EQ(histogram.percentile_ns(900'000), 900);
    EXPECT_EQ(histogram.percentile_ns(990'000), 990);
    EXPECT_EQ(histogram.percentile_ns(999'000), 999);
}

TEST(Histogram, ARankBetweenTwoValuesGivesTheLargerValue) {
    Histogram histogram;
    for (const std::uint64_t value : {10, 20, 30}) histogram.record(value);

    EXPECT_EQ(histogram.percentile_ns(500'000), 20);
}

TEST(Histogram, APercentileWithFewerThanOneSampleAboveItIsLeftOut) {
    EXPECT_EQ(one_to(99).percentile_ns(990'000), std::nullopt);
    EXPECT_NE(one_to(100).percentile_ns(990'000), std::nullopt);
    EXPECT_EQ(Histogram{}.percentile_ns(500'000), std::nullopt);
}

TEST(Histogram, ABinIsAtMostOne1024thOfItsValueWide) {
    Histogram histogram;
    for (std::uint64_t value = 1; value < Histogram::top_ns; value = value * 17 / 16 + 1) histogram.record(value);

    for (const auto& bin : histogram.bins()) {
        EXPECT_LE((bin.upper_ns - bin.lower_ns + 1) * 1024, std::max<std::uint64_t>(bin.lower_ns, 1024));
    }
}

TEST(Histogram, EveryValueLiesWithinItsBin) {
    for (const std::uint64_t value :
         {0ULL, 1ULL, 2047ULL, 2048ULL, 2049ULL, 4095ULL, 4096ULL, 1'000'003ULL, 60'000'000'000ULL}) {
        Histogram histogram;
        histogram.record(value);

        ASSERT_EQ(histogram.bins().size(), 1U);
        EXPECT_LE(histogram.bins()[0].lower_ns, value);
        EXPECT_GE(histogram.bins()[0].upper_ns, value);
    }
}

TEST(Histogram, BinsAreAscendingAndDoNotOverlap) {
    const auto bins = one_to(100'000).bins();

    for (std::size_t at = 1; at < bins.size(); ++at) EXPECT_EQ(bins[at].lower_ns, bins[at - 1].upper_ns + 1);
}

TEST(Histogram, AValueAboveTheRangeIsCountedAndCanBeTheMaximumButIsInNoBin) {
    Histogram histogram;
    histogram.record(5);
    histogram.record(120'000'000'000);

    EXPECT_EQ(histogram.count(), 2U);
    EXPECT_EQ(histogram.overflow(), 1U);
    EXPECT_EQ(histogram.max_ns(), 120'000'000'000U);
    EXPECT_EQ(histogram.bins().size(), 1U);
    EXPECT_EQ(histogram.value_at_rank(2), 120'000'000'000U);
}

TEST(Histogram, APercentileIsNeverAboveTheMaximum) {
    Histogram histogram;
    for (int count = 0; count < 10; ++count) histogram.record(1'000'000);

    EXPECT_EQ(histogram.percentile_ns(900'000), 1'000'000);
}

TEST(Histogram, MeanAndStdAreExact) {
    Histogram histogram;
    for (const std::uint64_t value : {2, 4, 4, 4, 5, 5, 7, 9}) histogram.record(value);

    EXPECT_DOUBLE_EQ(histogram.mean_ns(), 5);
    EXPECT_DOUBLE_EQ(histogram.std_ns(), 2);
}

TEST(Histogram, StdIsExactForASmallSpreadAroundALargeMean) {
    Histogram histogram;
    for (int pair = 0; pair < 1'000'000; ++pair) {
        histogram.record(50'000'000'000);
        histogram.record(50'000'000'010);
    }

    EXPECT_NEAR(histogram.std_ns(), 5, 0.1);
}

TEST(Histogram, MergingTwoHistogramsEqualsRecordingAllTheirValues) {
    auto merged = one_to(3000);
    Histogram tail;
    Histogram both = one_to(3000);
    for (const std::uint64_t value : {1'000'000ULL, 70'000'000'000ULL}) {
        tail.record(value);
        both.record(value);
    }
    merged.merge(tail);
    merged.merge(Histogram{});

    EXPECT_EQ(merged.count(), both.count());
    EXPECT_EQ(merged.overflow(), 1U);
    EXPECT_EQ(merged.min_ns(), 1U);
    EXPECT_EQ(merged.max_ns(), 70'000'000'000U);
    EXPECT_DOUBLE_EQ(merged.mean_ns(), both.mean_ns());
    EXPECT_EQ(merged.bins().size(), both.bins().size());
}

TEST(Histogram, IsEmptyAfterClearing) {
    auto histogram = one_to(5000);
    histogram.record(90'000'000'000);
    histogram.clear();
    histogram.record(7);

    EXPECT_EQ(histogram.count(), 1U);
    EXPECT_EQ(histogram.overflow(), 0U);
    EXPECT_EQ(histogram.max_ns(), 7U);
    EXPECT_EQ(histogram.bins().size(), 1U);
}

TEST(Histogram, ArrivesCompleteAfterSendingInFrames) {
    Histogram sent;
    for (std::uint64_t value = 1; value < 3'000'000; value = value * 101 / 100 + 1) sent.record(value);
    sent.record(Histogram::top_ns + 1);
    HistogramReader reader;
    reader.histogram.record(7);  // must be removed, because it belongs to an earlier histogram
    const auto frames = frames_of(sent, 42);
    ASSERT_GT(frames.size(), 1U);
    for (std::size_t at = 0; at < frames.size(); ++at) {
        EXPECT_LE(frames[at].text.size(), longest_text);
        const auto whole = reader.add(frames[at]);
        ASSERT_TRUE(whole.has_value()) << whole.error().text;
        EXPECT_EQ(*whole, at + 1 == frames.size());
    }

    EXPECT_EQ(reader.duration_ns, 42);
    const Histogram& arrived = reader.histogram;
    EXPECT_EQ(arrived.count(), sent.count());
    EXPECT_EQ(arrived.overflow(), 1U);
    EXPECT_EQ(arrived.mean_ns(), sent.mean_ns());
    EXPECT_EQ(arrived.std_ns(), sent.std_ns());
    EXPECT_EQ(arrived.max_ns(), sent.max_ns());
    EXPECT_EQ(arrived.percentile_ns(900'000), sent.percentile_ns(900'000));
    EXPECT_EQ(arrived.bins().size(), sent.bins().size());
}

TEST(Histogram, AnEmptyHistogramCanBeSent) {
    HistogramReader reader;
    const auto frames = frames_of(Histogram{}, 1);

    ASSERT_EQ(frames.size(), 1U);
    const auto whole = reader.add(frames.front());
    EXPECT_TRUE(whole.has_value() && *whole);
    EXPECT_EQ(reader.histogram.count(), 0U);
    EXPECT_TRUE(reader.histogram.bins().empty());
}

TEST(Histogram, ImpossibleBinsAreRefused) {
    for (const char* bins : {"x,", "99999999999999999999:1,", "60000000001:5,", "18446744073709551615:1,", "1:1:1,",
                             ":,", "5:0,", "5:1", "5:1,5:1,", "2049:1,"}) {
        HistogramReader reader;
        EXPECT_FALSE(reader.add({FrameKind::histogram, {1, 0, 1, 0, 5, 5, 5, 0, 25, 0}, bins}).has_value()) << bins;
        EXPECT_TRUE(reader.histogram.bins().empty()) << bins;
    }
}

/// The frame of a histogram of 5 ns, 7 ns, 7 ns and 61 s, with one number changed. The order of the numbers
/// is that of HistogramFrame.
Frame one_number_changed(std::size_t place, std::uint64_t number) {
    Histogram histogram;
    for (const std::uint64_t value : {5ULL, 7ULL, 7ULL, 61'000'000'000ULL}) histogram.record(value);
    Frame frame = frames_of(histogram, 1).front();
    frame.numbers.at(place) = number;
    return frame;
}

TEST(Histogram, NumbersThatContradictTheBinsAreRefused) {
    HistogramReader honest;
    const auto whole = honest.add(one_number_changed(0, 1));
    ASSERT_TRUE(whole.has_value() && *whole);
    EXPECT_EQ(honest.histogram.count(), 4U);
    const std::vector<std::pair<std::size_t, std::uint64_t>> changes{
        {2, 0},          {2, 3},          {2, 5},
        {2, UINT64_MAX},                                    // count
        {3, 0},          {3, 2},          {3, UINT64_MAX},  // overflow
        {4, 4},          {4, 6},          {4, 62'000'000'000},
        {4, UINT64_MAX},                                        // smallest
        {5, 0},          {5, 7},          {5, 60'000'000'000},  // largest
        {6, 0},          {6, UINT64_MAX}, {7, 1},
        {9, 0},          {9, UINT64_MAX}};  // sum and squares
    for (const auto& [place, number] : changes) {
        HistogramReader reader;
        EXPECT_FALSE(reader.add(one_number_changed(place, number)).has_value()) << place << " " << number;
    }
}

// Regression: clearing ran from the bin of the smallest value to that of the largest. The next frame then wrote far
// beyond the last bin.
TEST(Histogram, AMinimumAboveTheMaximumIsRefusedAndTheNextHistogramIsRead) {
    HistogramReader reader;
    EXPECT_FALSE(reader.add({FrameKind::histogram, {1, 0, 1, 0, 60'000'000'000, 0}, ""}).has_value());
    EXPECT_FALSE(reader.add({FrameKind::histogram, {1, 0, 1, 0, 60'000'000'000, 0}, "5:1,"}).has_value());
    const auto next = reader.add({FrameKind::histogram, {1}, ""});
    EXPECT_TRUE(next.has_value() && *next);
}

TEST(Histogram, AnEndlessSequenceOfPartsIsRefused) {
    HistogramReader reader;
    EXPECT_TRUE(reader.add({FrameKind::histogram, {0}, "5:1,"}).has_value());
    EXPECT_FALSE(reader.add({FrameKind::histogram, {0}, ""}).has_value());
    EXPECT_TRUE(reader.add({FrameKind::histogram, {0}, "5:1,"}).has_value());
    EXPECT_FALSE(reader.add({FrameKind::histogram, {0}, "5:1,"}).has_value());
}

/// A histogram with 2^doublings equal values.
Histogram many(std::uint64_t value_ns, unsigned doublings) {
    Histogram histogram;
    histogram.record(value_ns);
    for (unsigned count = 0; count < doublings; ++count) histogram.merge(Histogram{histogram});
    return histogram;
}

// The sum of these values is 2^65.1 ns. Its square does not fit into 128 bits.
TEST(Histogram, TheDeviationIsExactIfTheSumExceeds64Bits) {
    Histogram histogram = many(10'000'000'000, 31);
    histogram.merge(many(10'000'002'000, 31));

    EXPECT_EQ(histogram.count(), std::uint64_t{1} << 32);
    EXPECT_EQ(histogram.mean_ns(), 10'000'001'000.0);
    EXPECT_EQ(histogram.std_ns(), 1000.0);
    EXPECT_EQ(many(59'999'999'999, 40).std_ns(), 0.0);
}

// Regression: the result overflowed, because the product of the count and the deviation has more than 64 bits.
TEST(Histogram, ALargeDeviationOfManyValuesIsExact) {
    Histogram histogram = many(1, 31);
    histogram.merge(many(20'000'000'001, 31));

    EXPECT_EQ(histogram.std_ns(), 10'000'000'000.0);
}

TEST(Histogram, TheDeviationIsExactIfTheMeanIsNotAnInteger) {
    Histogram histogram;
    for (const std::uint64_t value : {1, 2, 4}) histogram.record(value);

    EXPECT_NEAR(histogram.std_ns(), 1.2472191, 1e-7);
}

// Regression: if all values are in one bin, this bin holds both p99.9 and the maximum. The whole bin was counted as the
// largest thousandth of the values. So the largest thousandth seemed to take all of the time.
TEST(Histogram, TheLargestThousandthOfEqualValuesTakesAThousandthOfTheTime) {
    EXPECT_NEAR(many(250'000'000, 12).share_of_largest(), 0.001, 0.0001);
}

TEST(Histogram, TheShareOfTimeOfTheLargestThousandthIsComputed) {
    Histogram histogram;
    for (int count = 0; count < 9990; ++count) histogram.record(1000);
    for (int count = 0; count < 10; ++count) histogram.record(1'000'000);

    EXPECT_NEAR(histogram.share_of_largest(), 10'000'000.0 / 19'990'000.0, 0.001);
    EXPECT_EQ(many(1000, 9).share_of_largest(), 0) << "of 512 there is no thousandth";
    EXPECT_EQ(Histogram{}.share_of_largest(), 0);
}

TEST(Histogram, TheLargestThousandthMayBeAboveTheRange) {
    Histogram histogram;
    for (int count = 0; count < 999; ++count) histogram.record(60'000'000);
    histogram.record(120'000'000'000);

    EXPECT_NEAR(histogram.share_of_largest(), 120'000.0 / (120'000 + 59'940), 0.001);
}

}  // namespace
}  // namespace tacholog
