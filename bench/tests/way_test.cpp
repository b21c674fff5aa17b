// Tests of the check of the network path: the counters of the kernel are compared with the bytes that were carried.
#include "rig/way.hpp"

#include <gtest/gtest.h>

namespace tacholog {
namespace {

constexpr std::uint64_t carried = 10'000'000;

Path counted(std::uint64_t ip_octets, std::uint64_t datagrams = 0) {
    return {{{"udp_in_datagrams", datagrams},
             {"udp_out_datagrams", datagrams},
             {"ip_in_octets", ip_octets},
             {"ip_out_octets", 9}}};
}

TEST(WayOfTheData, IsLocalIfTheKernelCountsFewBytesOfIp) {
    EXPECT_EQ(way_taken(Way::local, counted(100'000), carried).agrees, true);
    EXPECT_EQ(way_taken(Way::local, counted(100'000), carried).ip_bytes, 100'009 - 9);
}

TEST(WayOfTheData, AFallbackToTheNetworkIsRecognised) {
    const auto way = way_taken(Way::local, counted(10'500'000, 7000), carried);

    EXPECT_EQ(way.agrees, false);
    EXPECT_EQ(
        words_of_fallback(way),
        "way: the data was expected to stay off the network, but the kernel counted 10500000 bytes of IP for 10000000 "
        "bytes of payloads: the library fell back to the network, or another program used it");
}

TEST(WayOfTheData, IsUdpIfTheKernelCountsEnoughBytesAndDatagrams) {
    EXPECT_EQ(way_taken(Way::udp, counted(10'500'000, 7000), carried).agrees, true);
    EXPECT_EQ(way_taken(Way::udp, counted(10'500'000, 20), carried).agrees, false) << "it went over TCP";
    EXPECT_EQ(way_taken(Way::udp, counted(20'000, 20), carried).agrees, false) << "it went through shared memory";
}

TEST(WayOfTheData, IsTcpIfTheKernelCountsEnoughBytes) {
    EXPECT_EQ(way_taken(Way::tcp, counted(10'500'000), carried).agrees, true);
    const auto way = way_taken(Way::tcp, counted(20'000), carried);
    EXPECT_EQ(way.agrees, false);
    EXPECT_NE(words_of_fallback(way).find("expected to go by tcp"), std::string::npos);
}

TEST(WayOfTheData, IncludesBytesOfIpv6) {
    EXPECT_EQ(way_taken(Way::local, {{{"ip_in_octets", 5}, {"ip6_out_octets", 9'000'000}}}, carried).agrees, false);
}

TEST(WayOfTheData, IsUnknownForLittleData) {
    const auto way = way_taken(Way::local, counted(2'000'000), 1'000'000);

    EXPECT_EQ(way.agrees, std::nullopt);
    EXPECT_EQ(words_of_fallback(way), "");
}

TEST(WayOfTheData, IsUnknownIfTheKernelHasNoCounters) {
    const auto way = way_taken(Way::local, {}, carried);

    EXPECT_EQ(way.agrees, std::nullopt);
    EXPECT_EQ(way.ip_bytes, std::nullopt);
}

}  // namespace
}  // namespace tacholog
