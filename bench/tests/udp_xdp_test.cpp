// AF_XDP over a real Ethernet between two hosts.
#include <algorithm>
#include <array>
#include <optional>

#include "tests/cable.hpp"
#include "tests/program.hpp"
#include "transports/transport.hpp"
#include "transports/xdp_endpoint.hpp"

namespace tacholog {
namespace {

class UdpXdp : public testing::Test {
protected:
    void SetUp() override {
        if (!cable_.missing().empty()) GTEST_SKIP() << "needs " << cable_.missing();
    }

    /// Starts both sides, each on its own host.
    void start(const std::string& options) {
        const std::string common = options + " --transport udp-xdp --address " + Cable::publishers_address;
        cable_.within("pub", [&] { publisher_.emplace(common + " --role pub"); });
        cable_.within("sub", [&] { subscriber_.emplace(common + " --role sub"); });
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

const std::string quick = " --duration 0.2 --warmup 0.05";

TEST_F(UdpXdp, AnswersEverySizePastTheIpStack) {
    start("--test latency --verify --sizes 16,1448,1449,64KiB" + quick);

    expect_success();
    for (const std::string size : {"16", "1448", "1449", "65536"}) {
        const std::string line = "latency payload_bytes=" + size;
        EXPECT_GT(std::stoll("0" + value(log(), line, "samples")), 0) << log();
        EXPECT_EQ(value(log(), line, "corrupted"), "0");
    }
    // The kernel of the publisher's host counts no datagram: they went another way.
    EXPECT_EQ(value(log(), "path", "udp_out_datagrams"), "0") << log();
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

TEST_F(UdpXdp, AnswersAndStreamsWhileBothSidesSleepForEachOther) {
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

TEST_F(UdpXdp, AKilledRunLeavesTheInterfaceAsItWas) {
    start("--test latency --sizes 64 --duration 600 --warmup 0.05 --timeout 2");
    ASSERT_TRUE(publisher_->says("\nwarmup")) << publisher_->err() << log();
    EXPECT_TRUE(Cable::watched());
    ::kill(publisher_->pid(), SIGKILL);
    publisher_->wait();
    EXPECT_EQ(subscriber_->wait(), 1);
    EXPECT_FALSE(Cable::watched());

    start("--test latency --sizes 64" + quick);
    expect_success();
}

TEST(UdpXdpAlone, OneCommandCannotBeBothSides) {
    Program both{"--test latency --transport udp-xdp"};

    EXPECT_EQ(both.wait(), 2);
    EXPECT_NE(both.err().find("each side needs a network interface of its own"), std::string::npos) << both.err();
}

TEST(XdpEndpoint, IsReadAsItWasWritten) {
    const auto read = parse_xdp_endpoint("0a:1b:2c:3d:4e:ff/10.0.0.2:40000/1234");

    ASSERT_TRUE(read);
    EXPECT_EQ(read->text(), "0a:1b:2c:3d:4e:ff/10.0.0.2:40000/1234");
    EXPECT_EQ(read->token, 1234U);
}

TEST(XdpEndpoint, AnythingElseIsRefused) {
    for (const char* text :
         {"", "/", "0a:1b:2c:3d:4e:ff", "0a:1b:2c:3d:4e:ff/", "0a-1b-2c-3d-4e-ff/10.0.0.2:40000/1",
          "0g:1b:2c:3d:4e:ff/10.0.0.2:40000/1", "0a:1b:2c:3d:4e:ff/10.0.0.2/1", "10.0.0.2:40000/1"}) {
        EXPECT_FALSE(parse_xdp_endpoint(text)) << text;
    }
}

TEST(XdpFrame, GivesBackWhatItCarriesWithoutThePadding) {
    std::array<std::byte, 60> frame{};
    write_headers(frame.data(), {}, {}, 3);
    frame[sizeof(UdpFrame)] = std::byte{7};

    EXPECT_EQ(carried(frame).size(), 3U);
    EXPECT_EQ(carried(frame).front(), std::byte{7});
}

TEST(XdpFrame, ALengthBeyondTheFrameCarriesNothing) {
    std::array<std::byte, 60> frame{};
    write_headers(frame.data(), {}, {}, 19);

    EXPECT_TRUE(carried(frame).empty());
    EXPECT_TRUE(carried(std::span{frame}.first(sizeof(UdpFrame) - 1)).empty());
}

}  // namespace
}  // namespace tacholog
