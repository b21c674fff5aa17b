// The exact text of each dialect that other tools print, with their column widths.
#include "tests/reported.hpp"

namespace tacholog {
namespace {

Config with_intervals(Test test) {
    Config config = config_of(test);
    config.options.intervals = true;
    return config;
}

Config without_headers(Test test) {
    Config config = with_intervals(test);
    config.options.no_headers = true;
    return config;
}

TEST(Rti, LatencyIsHalfARoundTripInWholeMicroseconds) {
    const auto histogram = round_trips();

    EXPECT_EQ(written("rti", latency(histogram)),
              "Length:  1024  Latency: Ave     11 us  Std    9.1 us  Min     10 us  Max    101 us  50%     10 us  "
              "90%     15 us  99%    101 us  99.99%    101 us  99.9999%    101 us \n");
}

TEST(Rti, Throughput) {
    EXPECT_EQ(written("rti", throughput()),
              "Length:  1024  Packets:   200000  Packets/s(ave):   66666  Mbps(ave):   546.1  Lost:    10 (0.00%) \n");
}

TEST(Rti, WideNumbersPushTheColumns) {
    ThroughputResult result{31457280, 0, 1120, {215763, 0, 0, std::nullopt}, 30'117'800'000, std::nullopt};

    EXPECT_EQ(
        written("rti", result),
        "Length: 31457280  Packets:     1120  Packets/s(ave):      37  Mbps(ave):  9350.1  Lost: 215763 (99.48%) \n");
}

TEST(Rti, TheLogHoldsResultsOnly) {
    const auto histogram = round_trips();
    const LatencyInterval interval{1024, 0, 1'000'000'000, &histogram, 30'999};
    const auto text = written("rti", config_of(tacholog::Test::latency), Host{}, interval, latency(histogram), End{});

    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(Rti, IntervalsOfLatencyAreCumulative) {
    const auto histogram = round_trips();
    Histogram slow;
    for (int count = 0; count < 100; ++count) slow.record(60'000);
    const auto text = written("rti", with_intervals(tacholog::Test::latency),
                              LatencyInterval{1024, 0, 1'000'000'000, &histogram, 30'999},
                              LatencyInterval{1024, 1, 1'000'000'000, &slow, 60'000});

    EXPECT_EQ(text,
              "\n\n********** New data length is 1024\n"
              "One way Latency:     15 us  Ave     11 us  Std    9.1 us  Min     10 us  Max    101 \n"
              "One way Latency:     30 us  Ave     21 us  Std   11.3 us  Min     10 us  Max    101 \n");
}

TEST(Rti, IntervalsOfThroughputAverageTheirRatesAndAddTheirCounts) {
    EXPECT_EQ(written("rti", with_intervals(tacholog::Test::throughput),
                      ThroughputInterval{1024, 0, 1'000'000'000, 572'288, 0, std::nullopt},
                      ThroughputInterval{1024, 1, 1'000'000'000, 571'712, 12, std::nullopt}),
              "\n\n********** New data length is 1024\n"
              "Packets:   572288  Packets/s:  572288  Packets/s(ave):  572288  Mbps:  4688.2  Mbps(ave):  4688.2"
              "  Lost:     0 (0.00%) \n"
              "Packets:  1144000  Packets/s:  571712  Packets/s(ave):  572000  Mbps:  4683.5  Mbps(ave):  4685.8"
              "  Lost:    12 (0.00%) \n");
}

// The tool's averages are means of whole seconds: the rate of the last few messages alone is none of them.
TEST(Rti, WhatIsLeftBehindTheLastSecondIsNoIntervalOfThroughput) {
    const ThroughputInterval second{1024, 0, 1'000'000'000, 572'288, 0, std::nullopt};
    const ThroughputInterval rest{1024, 1, 1'000, 64, 3, std::nullopt};

    for (const std::string dialect : {"rti", "rti-csv"}) {
        const Config config = with_intervals(tacholog::Test::throughput);
        EXPECT_EQ(written(dialect, config, second, rest, throughput()), written(dialect, config, second, throughput()))
            << dialect;
    }
}

TEST(Rti, AnotherSizeBeginsAnew) {
    const auto text = written("rti", with_intervals(tacholog::Test::throughput), throughput(),
                              ThroughputInterval{64, 0, 1'000'000'000, 5, 0, std::nullopt});

    EXPECT_NE(text.find("********** New data length is 1024\nLength:  1024"), std::string::npos) << text;
    EXPECT_NE(text.find("********** New data length is 64\nPackets:        5 "), std::string::npos) << text;
}

TEST(RtiCsv, WithoutIntervalsThereIsOneHeader) {
    const auto histogram = round_trips();

    EXPECT_EQ(written("rti-csv", config_of(tacholog::Test::latency), latency(histogram), latency(histogram)),
              "Sample Size (Bytes), Ave (μs), Std (μs), Min (μs), Max (μs), 50% (μs), 90% (μs), 99% (μs), 99.99% (μs), "
              "99.9999% (μs)\n"
              "               1024,       11,      9.1,       10,      101,       10,       15,      101,         101,"
              "           101\n"
              "               1024,       11,      9.1,       10,      101,       10,       15,      101,         101,"
              "           101\n");
}

TEST(RtiCsv, IntervalsBringTitlesAndRepeatTheHeader) {
    const auto histogram = round_trips();

    EXPECT_EQ(written("rti-csv", with_intervals(tacholog::Test::latency),
                      LatencyInterval{1024, 0, 1'000'000'000, &histogram, 30'999}, latency(histogram)),
              "\nIntervals One-Way Latency for 1024 Bytes:\n"
              "Length (Bytes), Latency (μs), Ave (μs), Std (μs), Min (μs), Max (μs)\n"
              "          1024,           15,       11,      9.1,       10,      101\n"
              "\nOne-way Latency Summary:\n"
              "Sample Size (Bytes), Ave (μs), Std (μs), Min (μs), Max (μs), 50% (μs), 90% (μs), 99% (μs), 99.99% (μs), "
              "99.9999% (μs)\n"
              "               1024,       11,      9.1,       10,      101,       10,       15,      101,         101,"
              "           101\n");
}

TEST(RtiCsv, ThroughputWithIntervals) {
    EXPECT_EQ(written("rti-csv", with_intervals(tacholog::Test::throughput),
                      ThroughputInterval{1024, 0, 1'000'000'000, 572'288, 0, std::nullopt},
                      ThroughputInterval{1024, 1, 1'000'000'000, 571'712, 12, std::nullopt}, throughput()),
              "\nInterval Throughput for 1024 Bytes:\n"
              "Length (Bytes), Total Samples,  Samples/s, Avg Samples/s,     Mbps,  Avg Mbps, Lost Samples, "
              "Lost Samples (%)\n"
              "          1024,        572288,     572288,        572288,   4688.2,    4688.2,            0,"
              "             0.00\n"
              "          1024,       1144000,     571712,        572000,   4683.5,    4685.8,           12,"
              "             0.00\n"
              "\nThroughput Summary:\n"
              "Sample Size (Bytes), Total Samples, Avg Samples/s,    Avg Mbps, Lost Samples, Lost Samples (%)\n"
              "               1024,        200000,         66666,       546.1,           10,             0.00\n");
}

TEST(RtiCsv, WithoutHeadersThereAreRowsOnly) {
    EXPECT_EQ(written("rti-csv", without_headers(tacholog::Test::throughput),
                      ThroughputInterval{1024, 0, 1'000'000'000, 572'288, 0, std::nullopt}, throughput()),
              "          1024,        572288,     572288,        572288,   4688.2,    4688.2,            0,"
              "             0.00\n"
              "               1024,        200000,         66666,       546.1,           10,             0.00\n");
}

TEST(Hmbdc, ProgressThenTheRoundTripInSeconds) {
    const auto histogram = round_trips();
    const LatencyInterval interval{1024, 0, 1'000'000'000, &histogram, 30'999};

    EXPECT_EQ(written("hmbdc", config_of(tacholog::Test::latency),
                      Warmup{1024, 500, 2'100'000'000, Outcome::steady, {}}, interval, interval, latency(histogram)),
              "Started Pinger with the first 500 values ignored(x), good(.), congested(C), press ctrl-c to get "
              "results\n"
              "xx..\n"
              "PingGT1K : msgSize=1024 msgPerSec=50\n"
              "round trip time (sec):(100/101):mean=0.000022820 std_dev=1.838e-05 min=0.000020000 max=0.000203000 "
              "sampleSize=100\n");
}

TEST(Hmbdc, TheTypeSaysHowTheMessageGoes) {
    const auto histogram = round_trips();
    Config zero_copy = config_of(tacholog::Test::latency);
    zero_copy.data_path = "zero-copy";
    LatencyResult small = latency(histogram);
    small.payload_bytes = 99;

    EXPECT_NE(written("hmbdc", zero_copy, latency(histogram)).find("Ping0cpy : msgSize=1024 "), std::string::npos);
    EXPECT_NE(written("hmbdc", zero_copy, small).find("\nPing : msgSize=99 "), std::string::npos);
}

TEST(Hmbdc, NothingCameBack) {
    const Histogram empty;

    EXPECT_EQ(written("hmbdc", latency(empty)),
              "\nPingGT1K : msgSize=1024 msgPerSec=1\n"
              "round trip time (sec):(0/1):NA sampleSize=0\n"
              "Nothing comes back - multicast might be disabled (need to disable firewall)\n");
}

TEST(Ecal, ABlockOfTheSenderAndOneOfTheReceiver) {
    const auto histogram = round_trips();

    EXPECT_EQ(written("ecal", config_of(tacholog::Test::latency), latency(histogram)),
              "--------------------------------------------\n"
              "Runs                    : 101\n"
              "Message size            : 1024 B\n"
              "Memory buffer           : 1\n"
              "Frequency               : as fast as possible   \n"
              "Zero copy               : OFF\n"
              "Messages sent           : 101\n"
              "--------------------------------------------\n"
              "--------------------------------------------\n"
              "Messages received             : 100\n"
              "Message size received         : 1 kB\n"
              "Message average latency       : 11 us\n"
              "Message min latency           : 10 us @ 0\n"
              "Message max latency           : 101 us @ 99\n"
              "Throughput                    : 85 MB/s\n"
              "                              : 0 GB/s\n"
              "                              : 88 kMsg/s\n"
              "--------------------------------------------\n");
}

TEST(Ecal, ASumOfNothingHasTheRateThatTheToolPrintsOfIt) {
    Histogram quick;
    quick.record(1999);
    const auto text = written("ecal", latency(quick));

    EXPECT_NE(text.find("Message average latency       : 0 us\n"), std::string::npos);
    EXPECT_NE(text.find("Throughput                    : -2147483648 MB/s\n"
                        "                              : -2147483648 GB/s\n"
                        "                              : -2147483648 kMsg/s\n"),
              std::string::npos);
}

TEST(FastRtps, TheThroughputTableStandsAtTheEnd) {
    Config config = config_of(tacholog::Test::demand);
    config.options.recovery_ns = {0, 5'000'000};

    EXPECT_EQ(
        written("fastrtps", config, ClockFacts{1, 22.2018}, demand(), End{}),
        "Recovery times: 0, 5, \n"
        "Publisher's clock access overhead: 0.0222018 us\n"
        "\n"
        "[            TEST           ][                    PUBLISHER                      ]"
        "[                            SUBSCRIBER                        ]\n"
        "[ Bytes,Demand,Recovery Time][Sent Samples,Send Time(us),   Packs/sec,  MBits/sec]"
        "[Rec Samples,Lost Samples,Rec Time(us),   Packs/sec,  MBits/sec]\n"
        "[------,------,-------------][------------,-------------,------------,-----------]"
        "[-----------,------------,------------,------------,-----------]\n"
        "   1024,   100,            5,        17200,      1005207,   17110.897,    140.172,       16999,         201,"
        "     1009646,   16836.601,    137.925\n"
        "\n"
        "\x1b[32mEVERYTHING STOPPED FINE\x1b[m\n");
    EXPECT_EQ(written("fastrtps", config_of(tacholog::Test::demand), demand()).find("1024"), std::string::npos);
}

TEST(FastRtps, TheRowsOfATableAreSortedBySize) {
    DemandResult small = demand();
    small.payload_bytes = 64;
    const auto text = written("fastrtps", demand(), small, End{});
    const auto early = written("fastrtps-1", demand(), small, End{});

    EXPECT_LT(text.find("     64,   100,"), text.find("   1024,   100,")) << text;
    EXPECT_NE(early.find("----]\n     64,    100,"), std::string::npos) << early;
}

TEST(FastRtps, LatencyIsHalfARoundTripWithThreeDecimals) {
    const auto histogram = round_trips();

    EXPECT_EQ(written("fastrtps", ClockFacts{1, 43.2}, latency(histogram), End{false, 1, 0, 0, 1, ""}),
              "Overhead 0.0432 us\n"
              "Printing round-trip times in us, statistics for 100 samples\n"
              "   Bytes, Samples,   stdev,    mean,     min,     50%,     90%,     99%,  99.99%,     max\n"
              "--------,--------,--------,--------,--------,--------,--------,--------,--------,--------,\n"
              "    1024,     100,   9.190,  11.410,  10.000,  10.008,  10.008,  15.504,  15.504, 101.500 \n");
}

TEST(FastRtps, TheFirstGenerationHasNeitherRecoveryTimesNorPacketRatesInItsTable) {
    DemandResult at_once = demand();
    at_once.demand.recovery_ns = 0;

    EXPECT_EQ(
        written("fastrtps-1", demand(), demand(), at_once, End{}),
        "************************************************************************\n"
        "FAST-RTPS THROUGHPUT TEST - RECOVERY TIME = 5\n"
        "************************************************************************\n"
        "[     TEST     ][              PUBLISHER              ][                     SUBSCRIBER                 ]\n"
        "[ Bytes, Demand][Sent Samples,Send Time(us), MBits/sec][Rec Samples,Lost Samples,Rec Time(us), MBits/sec]\n"
        "[------,-------][------------,-------------,----------][-----------,------------,------------,----------]\n"
        "   1024,    100,       17200,      1005207,   140.173,       16999,         201,      1009645,   137.926\n"
        "   1024,    100,       17200,      1005207,   140.173,       16999,         201,      1009645,   137.926\n"
        "************************************************************************\n"
        "FAST-RTPS THROUGHPUT TEST - RECOVERY TIME = 0\n"
        "************************************************************************\n"
        "[     TEST     ][              PUBLISHER              ][                     SUBSCRIBER                 ]\n"
        "[ Bytes, Demand][Sent Samples,Send Time(us), MBits/sec][Rec Samples,Lost Samples,Rec Time(us), MBits/sec]\n"
        "[------,-------][------------,-------------,----------][-----------,------------,------------,----------]\n"
        "   1024,    100,       17200,      1005207,   140.173,       16999,         201,      1009645,   137.926\n"
        "EVERYTHING STOPPED FINE\n");
}

TEST(FastRtps, TheFirstGenerationPrintsWholeRoundTrips) {
    const auto histogram = round_trips();

    EXPECT_EQ(written("fastrtps-1", latency(histogram), latency(histogram)),
              "Printing round-trip times in us, statistics for 100 samples\n"
              "   Bytes, Samples,   stdev,    mean,     min,     50%,     90%,     99%,  99.99%,     max\n"
              "--------,--------,--------,--------,--------,--------,--------,--------,--------,--------,\n"
              "    1024,     100,   18.00,   22.82,   20.00,   20.02,   20.02,   31.01,   31.01,  203.00 \n"
              "    1024,     100,   18.00,   22.82,   20.00,   20.02,   20.02,   31.01,   31.01,  203.00 \n");
}

}  // namespace
}  // namespace tacholog
