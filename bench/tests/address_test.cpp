// Tests of addresses of both families, of host names, and of runs over the loopback of IPv6.
#include "base/address.hpp"

#include <net/if.h>

#include "tests/program.hpp"
#include "transports/ip_endpoint.hpp"

namespace tacholog {
namespace {

TEST(Address, EndpointTextStaysTheSameAfterReadingAndWriting) {
    for (const std::string text : {"127.0.0.1:7420", "[::1]:7420", "[fd00:99::1]:65535", "[::ffff:10.0.0.1]:1"}) {
        const auto endpoint = parse_endpoint(text + "/1234");
        ASSERT_TRUE(endpoint) << text;
        EXPECT_EQ(endpoint->text(), text + "/1234");
    }
}

TEST(Address, OfIpv6WithoutAPortNeedsNoBrackets) {
    for (const char* text : {"::1", "[::1]"}) {
        const auto address = parse_address(text, 80);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(to_text(*address), "[::1]:80");
        EXPECT_EQ(host_of(*address), "::1");
    }
}

TEST(Address, LinkLocalNamesItsInterfaceByNameOrIndex) {
    const std::string lo = std::to_string(::if_nametoindex("lo"));
    for (const std::string text : {"fe80::1%lo", "[fe80::1%lo]"}) {
        const auto address = parse_address(text, 80);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(to_text(*address), "[fe80::1%lo]:80");
    }
    EXPECT_EQ(host_of(*parse_address("fe80::1%" + lo, 0)), "fe80::1%lo");
    for (const std::string text : {"fe80::1%", "fe80::1%0", "fe80::1%nosuch", "::1%lo", "127.0.0.1%lo", "%lo"}) {
        EXPECT_FALSE(parse_address(text, 0)) << text;
    }
}

TEST(Address, LinkLocalWithoutAnInterfaceIsRefusedAsAnOption) {
    const auto whole = resolve("fe80::1%lo");
    const auto without = resolve("fe80::1");
    const auto with_none = resolve("fe80::1%nosuch");

    ASSERT_TRUE(whole && !without && !with_none);
    EXPECT_EQ(*whole, "fe80::1%lo");
    EXPECT_EQ(without.error().text, "a link-local address needs its interface, as in fe80::1%eth0");
    EXPECT_NE(with_none.error().text.find("an interface of this host"), std::string::npos);
}

TEST(Address, LinkLocalIsSentWithoutItsInterfaceAndThePeerAddsItsOwnInterface) {
    EXPECT_EQ((IpEndpoint{*parse_address("fe80::1%lo", 7420), 5}.text()), "[fe80::1]:7420/5");
    EXPECT_EQ(to_text(parse_endpoint("[fe80::1]:7420/5", "fe80::2%lo")->address), "[fe80::1%lo]:7420");
    EXPECT_EQ(to_text(parse_endpoint("[fd00::1]:7420/5", "fe80::2%lo")->address), "[fd00::1]:7420");
    EXPECT_FALSE(parse_endpoint("[fe80::1%lo]:7420/5", "fe80::2%lo"));
}

TEST(Address, StaysTheSameAfterConversionToSixteenBytesAndBack) {
    for (const std::string text : {"239.192.0.1", "ff12::1:2"}) {
        EXPECT_EQ(to_text(from_bytes(to_bytes(*parse_address(text, 1)), 80)), to_text(*parse_address(text, 80)));
    }
}

TEST(Address, BelongsToAnInterfaceOfThisHostOrToNone) {
    EXPECT_EQ(interface_with(*parse_address("127.0.0.1", 0)), "lo");
    EXPECT_EQ(interface_with(*parse_address("192.0.2.77", 0)), "");
    EXPECT_EQ(interface_with(*parse_address("fe80::1:2:3%lo", 0)), "");
}

TEST(Address, OtherTextIsRefused) {
    for (const char* text : {"", "localhost", "1.2.3", "::g", "[::1", "::1]", "[127.0.0.1]:1", "1.2.3.4 "}) {
        EXPECT_FALSE(parse_address(text, 0)) << text;
    }
    for (const char* text : {"::1:7420/1", "[::1]/1", "[::1]:0/1", "[::1]:7420", "[]:7420/1", "/", ":1/1"}) {
        EXPECT_FALSE(parse_endpoint(text)) << text;
    }
}

TEST(Address, HostNameIsResolvedToAnAddress) {
    const auto found = resolve("localhost");

    ASSERT_TRUE(found) << found.error().text;
    EXPECT_TRUE(*found == "127.0.0.1" || *found == "::1") << *found;
    EXPECT_FALSE(resolve("no such host"));
}

class OverIpv6 : public testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        if (!Listener::open("::1", 0)) LEAVE_OUT << "needs IPv6 on the loopback";
    }
};

TEST_P(OverIpv6, BothRolesConnectAndTheLogStatesTheAddress) {
    const std::string common =
        "--test latency --verify --sizes 64,100KiB --duration 0.1 --warmup 0.05 --address [::1]" +
        (" --port " + std::to_string(free_port())) + " --transport " + GetParam();
    Program publisher{common + " --role pub"};
    Program subscriber{common + " --role sub"};

    EXPECT_EQ(publisher.wait(), 0) << publisher.err() << publisher.out();
    EXPECT_EQ(subscriber.wait(), 0) << subscriber.err();
    EXPECT_EQ(value(publisher.out(), "config", "address"), "::1");
    for (const std::string size : {"64", "102400"}) {
        const std::string line = "latency payload_bytes=" + size;
        EXPECT_GT(number(publisher.out(), line, "samples"), 0U) << publisher.out();
        EXPECT_EQ(number(publisher.out(), line, "corrupted"), 0U) << publisher.out();
    }
}

TEST_P(OverIpv6, AStreamArrives) {
    Program both{"--test throughput --rate 2000 --sizes 1KiB --duration 0.1 --warmup 0.05 --address ::1 --transport " +
                 std::string{GetParam()}};

    EXPECT_EQ(both.wait(), 0) << both.err() << both.out();
    EXPECT_GT(number(both.out(), "throughput", "received"), 0U) << both.out();
}

INSTANTIATE_TEST_SUITE_P(Sockets, OverIpv6, testing::Values("tcp", "udp", "udp-reliable", "udp-wan"),
                         [](const testing::TestParamInfo<const char*>& one) {
                             std::string name{one.param};
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

TEST(Ipv6, BatchesArrive) {
    if (!Listener::open("::1", 0)) LEAVE_OUT << "needs IPv6 on the loopback";
    for (const std::string transport : {"tcp", "udp"}) {
        Program both{
            "--test throughput --rate 5000 --verify --sizes 64 --batch-bytes 4KiB --duration 0.1 --warmup 0.05 "
            "--address ::1 --transport " +
            transport};

        EXPECT_EQ(both.wait(), 0) << both.err() << both.out();
        EXPECT_GT(number(both.out(), "throughput", "received"), 0U) << both.out();
        EXPECT_EQ(number(both.out(), "throughput", "corrupted"), 0U) << both.out();
    }
}

TEST(Ipv6, MulticastOverTheLoopbackIsRefusedWithAdvice) {
    if (!Listener::open("::1", 0)) LEAVE_OUT << "needs IPv6 on the loopback";
    Program both{"--test latency --transport udp-multicast --sizes 64 --address ::1"};

    EXPECT_EQ(both.wait(), 1);
    EXPECT_NE(both.err().find("find the way from ::1 to group [ff12::"), std::string::npos) << both.err();
    EXPECT_NE(both.err().find("give --address one of another interface"), std::string::npos) << both.err();
}

}  // namespace
}  // namespace tacholog
