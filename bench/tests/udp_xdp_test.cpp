// AF_XDP over a real Ethernet between two hosts: a veth pair between two namespaces.
#include <algorithm>
#include <array>
#include <optional>

#include "tests/network.hpp"
#include "tests/program.hpp"
#include "transports/transport.hpp"
#include "transports/xdp_endpoint.hpp"

namespace tacholog {
namespace {

class Cable : public Network {
public:
    static constexpr const char* publishers_address = "10.99.0.1";

    Cable() : Network({"pub", "sub"}, {"ip"}) {
        step("ip link add one netns " + space("pub") + " type veth peer name two netns " + space("sub"));
        step("ip -n " + space("pub") + " addr add " + publishers_address + "/24 dev one");
        step("ip -n " + space("sub") + " addr add 10.99.0.2/24 dev two");
        step("ip -n " + space("pub") + " link set one up");
        step("ip -n " + space("sub") + " link set two up");
    }
};

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

TEST_F(UdpXdp, AKilledRunLeavesTheInterfaceAsItWas) {
    start("--test latency --sizes 64 --duration 600 --warmup 0.05 --timeout 2");
    ASSERT_TRUE(publisher_->says("\nwarmup")) << publisher_->err() << log();
    ::kill(publisher_->pid(), SIGKILL);
    publisher_->wait();
    EXPECT_EQ(subscriber_->wait(), 1);

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
