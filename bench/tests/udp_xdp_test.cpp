// Tests of AF_XDP over an Ethernet between two hosts.
#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "tests/cable.hpp"
#include "tests/program.hpp"
#include "transports/transport.hpp"
#include "transports/xdp_endpoint.hpp"

namespace tacholog {
namespace {

class UdpXdp : public testing::Test {
protected:
    void SetUp() override {
        if (!cable_.missing().empty()) LEAVE_OUT << "needs " << cable_.missing();
    }

    /// Each side runs on its own host, and may use its own name of the interface.
    void start(const std::string& options, const std::string& address = Cable::publishers_address,
               const std::string& here = "", const std::string& there = "") {
        const std::string common = options + " --transport udp-xdp --address " + address;
        cable_.within("pub", [&] { publisher_.emplace(common + here + " --role pub"); });
        cable_.within("sub", [&] { subscriber_.emplace(common + there + " --role sub"); });
    }

    void expect_answers(std::initializer_list<const char*> sizes) {
        expect_success();
        for (const std::string size : sizes) {
            const std::string line = "latency payload_bytes=" + size;
            EXPECT_GT(number(log(), line, "samples"), 0U) << log();
            EXPECT_EQ(number(log(), line, "corrupted"), 0U) << log();
        }
        // The kernel of the publisher's host has counted no datagrams, because the datagrams did not pass through its
        // UDP.
        EXPECT_EQ(value(log(), "path", "udp_out_datagrams"), "0") << log();
        EXPECT_EQ(value(log(), "path", "udp6_out_datagrams"), "0") << log();
    }

    void expect_success() {
        EXPECT_EQ(publisher_->wait(), 0) << publisher_->err() << publisher_->out();
        EXPECT_EQ(subscriber_->wait(), 0) << subscriber_->err() << subscriber_->out();
    }

    std::string log() const { return publisher_->out(); }

    Cable cable_;
    std::optional<Program> publisher_;
    std::optional<Program> subscriber_;
};

const std::string& quick = briefly;

TEST_F(UdpXdp, AnswersMessagesOfEachSizeWithoutTheIpStack) {
    start("--test latency --verify --sizes 16,1448,1449,64KiB" + quick);
    expect_answers({"16", "1448", "1449", "65536"});
}

TEST_F(UdpXdp, AnswersMessagesOfEachSizeOverIpv6) {
    start("--test latency --verify --sizes 16,1428,1429,64KiB" + quick, Cable::publishers_v6_address);
    expect_answers({"16", "1428", "1429", "65536"});
}

TEST_F(UdpXdp, AnswersAtALinkLocalAddress) {
    start("--test latency --verify --sizes 64" + quick, Cable::publishers_link_address,
          std::string{"%"} + Cable::publishers_interface, std::string{"%"} + Cable::subscribers_interface);
    expect_answers({"64"});
}

TEST_F(UdpXdp, CarriesAPacedStreamIntact) {
    start("--test throughput --verify --rate 500 --sizes 64,1MiB" + quick);

    expect_success();
    for (const std::string size : {"64", "1048576"}) {
        const std::string line = "throughput payload_bytes=" + size;
        EXPECT_GT(std::stoll("0" + value(log(), line, "received")), 0) << log();
        EXPECT_EQ(value(log(), line, "corrupted"), "0");
        EXPECT_EQ(value(log(), line, "duplicated"), "0");
    }
}

TEST_F(UdpXdp, AnswersAndStreamsWhileBothSidesSleep) {
    for (const std::string waiting : {"block", "spin-then-block"}) {
        start("--test latency --verify --sizes 64,64KiB --wait " + waiting + quick);
        expect_success();
        EXPECT_EQ(value(log(), "config", "waiting"), waiting);
        for (const std::string size : {"64", "65536"}) {
            EXPECT_GT(number(log(), "latency payload_bytes=" + size, "samples"), 0U) << log();
            EXPECT_EQ(number(log(), "latency payload_bytes=" + size, "corrupted"), 0U) << log();
        }
        start("--test throughput --verify --rate 500 --sizes 64 --wait " + waiting + quick);
        expect_success();
        EXPECT_GT(number(log(), "throughput", "received"), 0U) << log();
    }
}

TEST_F(UdpXdp, AKilledRunLeavesTheInterfaceUnchanged) {
    start("--test latency --sizes 64" + endlessly);
    ASSERT_TRUE(publisher_->says("\nwarmup")) << publisher_->err() << log();
    EXPECT_TRUE(Cable::watched());
    ::kill(publisher_->pid(), SIGKILL);
    publisher_->wait();
    EXPECT_EQ(subscriber_->wait(), 1);
    EXPECT_FALSE(Cable::watched());

    start("--test latency --sizes 64" + quick);
    expect_success();
}

TEST(UdpXdpAlone, OneCommandCannotStartBothSides) {
    Program both{"--test latency --transport udp-xdp"};

    EXPECT_EQ(both.wait(), 2);
    EXPECT_NE(both.err().find("each side needs a network interface of its own"), std::string::npos) << both.err();
}

TEST(XdpEndpoint, StaysTheSameAfterWritingAndReading) {
    for (const std::string text : {"0a:1b:2c:3d:4e:ff/10.0.0.2:40000/1234", "0a:1b:2c:3d:4e:ff/[fd00::2]:40000/1234"}) {
        const auto read = parse_xdp_endpoint(text);

        ASSERT_TRUE(read) << text;
        EXPECT_EQ(read->text(), text);
        EXPECT_EQ(read->token, 1234U);
    }
}

TEST(XdpEndpoint, OtherTextIsRefused) {
    for (const char* text :
         {"", "/", "0a:1b:2c:3d:4e:ff", "0a:1b:2c:3d:4e:ff/", "0a-1b-2c-3d-4e-ff/10.0.0.2:40000/1",
          "0g:1b:2c:3d:4e:ff/10.0.0.2:40000/1", "0a:1b:2c:3d:4e:ff/10.0.0.2/1", "10.0.0.2:40000/1"}) {
        EXPECT_FALSE(parse_xdp_endpoint(text)) << text;
    }
}

/// Both addresses must be of the same family.
void write_between(const char* from, const char* to, std::byte* frame, std::size_t bytes) {
    write_headers(frame, {{}, *parse_address(from, 1000)}, {{}, *parse_address(to, 2000)}, bytes);
}

TEST(XdpFrame, ReturnsItsPayloadWithoutThePadding) {
    for (const auto& [family, from, to] :
         {std::tuple{AF_INET, "10.0.0.1", "10.0.0.2"}, std::tuple{AF_INET6, "fd00::1", "fd00::2"}}) {
        std::array<std::byte, 80> frame{};
        frame[header_bytes(family)] = std::byte{7};
        write_between(from, to, frame.data(), 3);

        ASSERT_EQ(carried(frame, family).size(), 3U);
        EXPECT_EQ(carried(frame, family).front(), std::byte{7});
    }
}

TEST(XdpFrame, WithALengthBeyondTheFrameHasNoPayload) {
    for (const auto& [family, from, to] :
         {std::tuple{AF_INET, "10.0.0.1", "10.0.0.2"}, std::tuple{AF_INET6, "fd00::1", "fd00::2"}}) {
        std::array<std::byte, 80> frame{};
        write_between(from, to, frame.data(), 18);
        const auto cut = std::span{frame}.first(header_bytes(family) + 17);

        EXPECT_EQ(carried(frame, family).size(), 18U);
        EXPECT_TRUE(carried(cut, family).empty());
        EXPECT_TRUE(carried(cut.first(header_bytes(family) - 1), family).empty());
    }
}

TEST(XdpFrame, OfIpv6HasTheChecksumOfItsPayload) {
    std::array<std::byte, 80> frame{};
    std::memcpy(frame.data() + sizeof(UdpFrameV6), "abc", 3);
    write_between("fd00::1", "fd00::2", frame.data(), 3);
    UdpFrameV6 headers{};
    std::memcpy(&headers, frame.data(), sizeof headers);

    EXPECT_EQ(ntohs(headers.udp.check), 0x35B9);
    EXPECT_EQ(ntohs(headers.ip.ip6_plen), 11U);
    EXPECT_EQ(ntohs(headers.ethernet.ether_type), ETHERTYPE_IPV6);
}

}  // namespace
}  // namespace tacholog
