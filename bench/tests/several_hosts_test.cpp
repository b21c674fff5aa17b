// Tests of runs whose sides are on different hosts. The hosts may have different clocks, and a switch distributes
// multicast.
#include <sys/mount.h>

#include <array>
#include <fstream>
#include <memory>

#include "tests/cable.hpp"
#include "tests/program.hpp"

namespace tacholog {
namespace {

class TwoHosts : public testing::Test {
protected:
    void SetUp() override {
        if (!cable_.missing().empty()) LEAVE_OUT << "needs " << cable_.missing();
    }

    /// Starts the publisher, calls `aside`, and starts the subscriber. `aside` makes the subscriber's host look like
    /// another one.
    template <typename Aside>
    void start(const std::string& options, Aside&& aside) {
        cable_.within("pub", [&] { publisher_.emplace(options + to_publisher() + " --role pub"); });
        cable_.within("sub", [&] {
            aside_ = aside();
            subscriber_.emplace(options + to_publisher() + " --role sub");
        });
    }

    /// Runs a latency test between two hosts, and checks that the messages of both sizes arrive intact. Both sides get
    /// the publisher's address. `here` is appended to the address on the publisher's host, and `there` on the
    /// subscriber's host: they are empty, or each names the interface of its host.
    void expect_round_trips(const std::string& transport, const std::string& address, const std::string& here,
                            const std::string& there) {
        const std::string common =
            "--test latency --verify --sizes 64,100KiB --duration 0.2 --warmup 0.05 --transport " + transport +
            " --address " + address;
        cable_.within("pub", [&] { publisher_.emplace(common + here + " --role pub"); });
        cable_.within("sub", [&] { subscriber_.emplace(common + there + " --role sub"); });
        EXPECT_EQ(publisher_->wait(), 0) << publisher_->err() << publisher_->out();
        EXPECT_EQ(subscriber_->wait(), 0) << subscriber_->err();
        for (const std::string size : {"64", "102400"}) {
            const std::string line = "latency payload_bytes=" + size;
            EXPECT_GT(number(publisher_->out(), line, "samples"), 0U) << publisher_->out();
            EXPECT_EQ(number(publisher_->out(), line, "corrupted"), 0U) << publisher_->out();
        }
    }

    static std::string to_publisher() { return std::string{" --address "} + Cable::publishers_address; }

    Cable cable_;
    std::optional<Program> publisher_;
    std::optional<Program> subscriber_;
    bool aside_ = false;
};

constexpr std::array over_sockets{"tcp", "udp", "udp-reliable", "udp-multicast", "udp-wan"};

const std::string one_way =
    "--test latency --basis one-way --rate 500 --transport udp --sizes 64 --duration 0.2 --warmup 0.05";

/// Makes another boot id visible to programs that this thread starts later. Such programs seem to run on another
/// machine. Returns whether the boot id could be replaced.
bool another_boot() {
    const std::filesystem::path fake = std::filesystem::temp_directory_path() / ("boot-" + std::to_string(::getpid()));
    std::ofstream{fake} << "00000000-1111-2222-3333-444444444444\n";
    const bool done = ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                      ::mount(fake.c_str(), "/proc/sys/kernel/random/boot_id", nullptr, MS_BIND, nullptr) == 0;
    std::filesystem::remove(fake);
    return done;
}

/// Gives another clock to programs that this thread starts later, as in a container that was moved to this host.
/// Returns whether this was possible.
bool another_clock() {
    constexpr int new_time_space = 0x80;  // CLONE_NEWTIME
    return ::unshare(new_time_space) == 0;
}

TEST_F(TwoHosts, OneWayLatencyIsMeasuredIfBothHostsReadTheSameClock) {
    start(one_way, [] { return true; });

    EXPECT_EQ(publisher_->wait(), 0) << publisher_->err() << publisher_->out();
    EXPECT_EQ(subscriber_->wait(), 0) << subscriber_->err();
    EXPECT_GT(number(publisher_->out(), "latency", "samples"), 0U);
}

TEST_F(TwoHosts, OneWayLatencyIsRefusedIfTheHostsReadDifferentClocks) {
    for (bool (*const aside)() : {another_boot, another_clock}) {
        start(one_way, aside);
        if (!aside_) LEAVE_OUT << "needs the right to make mount and time namespaces";

        EXPECT_EQ(publisher_->wait(), 1) << publisher_->out();
        EXPECT_EQ(subscriber_->wait(), 1) << subscriber_->out();
        EXPECT_NE(publisher_->err().find("the two sides do not read one clock"), std::string::npos)
            << publisher_->err();
        EXPECT_EQ(publisher_->out().find("\nlatency "), std::string::npos) << publisher_->out();
    }
}

TEST_F(TwoHosts, RoundTripsNeedNoCommonClock) {
    start("--test latency --transport udp --sizes 64 --duration 0.2 --warmup 0.05", another_clock);
    if (!aside_) LEAVE_OUT << "needs the right to make time namespaces";

    EXPECT_EQ(publisher_->wait(), 0) << publisher_->err() << publisher_->out();
    EXPECT_GT(number(publisher_->out(), "latency", "samples"), 0U);
}

TEST_F(TwoHosts, EachSocketTransportConnectsOverIpv6) {
    for (const std::string transport : over_sockets) {
        SCOPED_TRACE(transport);
        expect_round_trips(transport, Cable::publishers_v6_address, "", "");
        if (transport == "tcp") continue;
        EXPECT_GT(number(publisher_->out(), "path", "udp6_out_datagrams"), 0U) << publisher_->out();
        EXPECT_EQ(number(publisher_->out(), "path", "udp_out_datagrams"), 0U) << publisher_->out();
    }
}

TEST_F(TwoHosts, EachSocketTransportConnectsAtALinkLocalAddressWithTheInterfaceOfEachSide) {
    const std::string here = std::string{"%"} + Cable::publishers_interface;
    const std::string there = std::string{"%"} + Cable::subscribers_interface;
    for (const std::string transport : over_sockets) {
        SCOPED_TRACE(transport);
        expect_round_trips(transport, Cable::publishers_link_address, here, there);
        EXPECT_EQ(value(publisher_->out(), "config", "address"), Cable::publishers_link_address + here);
    }
}

constexpr std::array hearers{"one", "two", "three"};

/// A publisher and three subscribers, each connected by a cable to one switch.
class Switch : public Network {
public:
    static constexpr const char* publishers_address = "10.88.0.1";
    static constexpr const char* publishers_v6_address = "fd00:88::1";

    Switch() : Network({"pub", "one", "two", "three", "mid"}, {"ip"}) {
        step("ip -n " + space("mid") + " link add br0 type bridge");
        step("ip -n " + space("mid") + " link set br0 up");
        int host = 1;
        for (const char* name : {"pub", "one", "two", "three"}) {
            const std::string port = "port" + std::to_string(host);
            step("ip link add eth netns " + space(name) + " type veth peer name " + port + " netns " + space("mid"));
            step("ip -n " + space(name) + " addr add 10.88.0." + std::to_string(host) + "/24 dev eth");
            step("ip -n " + space(name) + " -6 addr add fd00:88::" + std::to_string(host++) + "/64 dev eth nodad");
            step("ip -n " + space(name) + " link set eth up");
            step("ip -n " + space("mid") + " link set " + port + " master br0 up");
        }
    }

    /// Lets a host lose one in ten UDP datagrams that arrive there. Returns whether the host could be set up for this.
    static bool lose_at(const char* name) {
        return run("ip netns exec " + space(name) +
                   " nft 'table netdev loss { chain in { type filter hook ingress device eth priority 0; "
                   "policy accept; meta l4proto udp numgen random mod 10 == 3 counter drop; }; };'");
    }

    static bool has_lost_at(const char* name) {
        return run("ip netns exec " + space(name) + " nft list table netdev loss | grep -q 'packets [1-9]'");
    }
};

/// Parameter: the publisher's address, IPv4 or IPv6.
class OverASwitch : public testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        if (!switch_.missing().empty()) LEAVE_OUT << "needs " << switch_.missing();
    }

    void run_and_expect_everything(const std::string& options) {
        const std::string common = "--transport udp-multicast --subscribers 3 --verify --duration 0.3 --warmup 0.05" +
                                   options + " --address " + GetParam();
        switch_.within("pub", [&] { programs_.push_back(std::make_unique<Program>(common + " --role pub")); });
        for (const char* name : hearers) {
            switch_.within(name, [&] { programs_.push_back(std::make_unique<Program>(common + " --role sub")); });
        }
        for (const auto& program : programs_) EXPECT_EQ(program->wait(), 0) << program->err() << program->out();
        const auto log = programs_.front()->out();
        for (const std::string name : {"sub1", "sub2", "sub3"}) {
            const std::string line = "throughput payload_bytes=20000 participant=" + name;
            EXPECT_GT(number(log, line, "received"), 0U) << log;
            EXPECT_EQ(number(log, line, "received"), number(log, line, "sent")) << log;
            EXPECT_EQ(number(log, line, "corrupted") + number(log, line, "duplicated"), 0U) << log;
        }
    }

    Switch switch_;
    std::vector<std::unique_ptr<Program>> programs_;
};

TEST_P(OverASwitch, OneStreamReachesAllSubscribersOfTheGroup) {
    run_and_expect_everything(" --test throughput --sizes 20000 --rate 500");
    const auto log = programs_.front()->out();

    // Each datagram left the publisher's host only once for all subscribers. Three separate streams would send three
    // times as many.
    constexpr std::uint64_t pieces = 14;  // of 20000 bytes, at an MTU of 1500
    const auto messages = number(log, "warmup", "messages") + number(log, "throughput", "sent");
    const std::string counter =
        std::string_view{GetParam()} == Switch::publishers_address ? "udp_out_datagrams" : "udp6_out_datagrams";
    EXPECT_GE(number(log, "path", counter), pieces * messages) << log;
    EXPECT_LT(number(log, "path", counter), 2 * pieces * messages) << log;
}

TEST_P(OverASwitch, MessagesThatOneSubscriberLosesAreSentAgain) {
    if (!Switch::lose_at("two")) LEAVE_OUT << "needs nft";

    run_and_expect_everything(" --test throughput --sizes 20000 --rate 200");
    EXPECT_TRUE(Switch::has_lost_at("two"));
}

INSTANTIATE_TEST_SUITE_P(Families, OverASwitch,
                         testing::Values(Switch::publishers_address, Switch::publishers_v6_address),
                         [](const testing::TestParamInfo<const char*>& one) {
                             return one.param == std::string_view{Switch::publishers_address} ? "Ipv4" : "Ipv6";
                         });

}  // namespace
}  // namespace tacholog
