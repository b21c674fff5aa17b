// Tests that only apply to transports over stream sockets: bytes of foreign programs, wrong lengths, and congestion
// control.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tests/messages.hpp"
#include "tests/program.hpp"
#include "tests/reported.hpp"
#include "transports/ip_endpoint.hpp"
#include "transports/stream.hpp"

namespace tacholog {
namespace transports {
extern const Transport tcp;
}  // namespace transports

namespace {

constexpr std::size_t largest = 64;

/// A subscriber over TCP, and connections to it over which the test sends any bytes.
class StreamOfStrangeBytes : public testing::Test {
protected:
    void SetUp() override {
        auto subscribed = transports::tcp.subscribe({"test-stream", largest, "127.0.0.1"});
        ASSERT_TRUE(subscribed) << subscribed.error().text;
        subscriber_ = std::move(*subscribed);
        const auto endpoint = parse_endpoint(subscriber_->endpoint());
        ASSERT_TRUE(endpoint);
        endpoint_ = *endpoint;
    }

    Fd connected() const {
        Fd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        EXPECT_EQ(::connect(socket.get(), endpoint_.address.get(), endpoint_.address.length()), 0);
        return socket;
    }

    Fd greeted() const {
        Fd socket = connected();
        say(socket, StreamHello{hello_magic, endpoint_.token, largest});
        say(socket, char{});  // the padding between the hello and the first frame
        return socket;
    }

    template <typename Value>
    static void say(const Fd& socket, const Value& value) {
        ASSERT_EQ(::send(socket.get(), &value, sizeof value, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof value));
    }

    std::unique_ptr<Subscriber> subscriber_;
    IpEndpoint endpoint_;
};

TEST_F(StreamOfStrangeBytes, AnOversizedLengthIsRefused) {
    const Fd socket = greeted();
    expect_match(*subscriber_);
    say(socket, StreamFrame{frame_magic, 0xFFFFFFF0});
    const auto sample = subscriber_->take(plenty);

    ASSERT_FALSE(sample);
    EXPECT_NE(sample.error().text.find("4294967280 bytes is announced, 64 are agreed"), std::string::npos)
        << sample.error().text;
}

TEST_F(StreamOfStrangeBytes, BytesThatAreNotAFrameAreRefused) {
    const Fd socket = greeted();
    expect_match(*subscriber_);
    say(socket, std::array<char, 16>{"GET / HTTP/1.1"});

    EXPECT_FALSE(subscriber_->take(plenty));
}

TEST_F(StreamOfStrangeBytes, AStrangerIsRejectedAndTheRealPublisherIsAccepted) {
    const Fd silent_and_gone = connected();
    ::shutdown(silent_and_gone.get(), SHUT_RDWR);
    const Fd stranger = connected();
    say(stranger, StreamHello{hello_magic, endpoint_.token + 1, largest});
    auto publisher = transports::tcp.advertise({"test-stream", largest, "127.0.0.1"}, {subscriber_->endpoint()});
    ASSERT_TRUE(publisher) << publisher.error().text;

    expect_match(*subscriber_);
}

TEST_F(StreamOfStrangeBytes, AnIncompleteMessageMeansThatThePublisherIsGone) {
    {
        const Fd socket = greeted();
        expect_match(*subscriber_);
        say(socket, StreamFrame{frame_magic, largest});
        say(socket, std::uint64_t{1});
    }
    const auto sample = subscriber_->take(plenty);

    ASSERT_FALSE(sample);
    EXPECT_NE(sample.error().text.find("the publisher is gone"), std::string::npos) << sample.error().text;
}

TEST_F(StreamOfStrangeBytes, NoMessageIsSentAfterAnIncompleteMessage) {
    constexpr std::size_t huge = std::size_t{64} * 1024 * 1024;
    auto subscribed = transports::tcp.subscribe({"test-huge", huge, "127.0.0.1"});
    ASSERT_TRUE(subscribed);
    auto publisher = transports::tcp.advertise({"test-huge", huge, "127.0.0.1"}, {(*subscribed)->endpoint()});
    ASSERT_TRUE(publisher);
    {
        auto loan = (*publisher)->loan(huge);
        ASSERT_TRUE(loan);
        const auto sent = loan->publish(Patience{1});
        ASSERT_TRUE(sent.has_value());
        ASSERT_EQ(*sent, Done::not_yet) << "no socket buffer holds so much";
    }
    EXPECT_FALSE((*publisher)->loan(16));
}

TEST(CongestionControl, IsTheRequestedAlgorithmOnBothSides) {
    Program both{"--test latency --transport tcp --set congestion=reno --sizes 64 --duration 0.05 --warmup 0"};

    EXPECT_EQ(both.wait(), 0) << both.err();
    for (const std::string role : {"pub", "sub"}) {
        const auto line = both.out().find("\nsocket role=" + role);
        ASSERT_NE(line, std::string::npos) << both.out();
        EXPECT_EQ(value(both.out().substr(line + 1), "socket", "congestion"), "reno");
    }
}

TEST(CongestionControl, IsTheDefaultOfTheKernelIfNoAlgorithmIsRequested) {
    std::ifstream file{"/proc/sys/net/ipv4/tcp_congestion_control"};
    std::string kernels;
    ASSERT_TRUE(file >> kernels);
    Program both{"--test latency --transport tcp --sizes 64 --duration 0.05 --warmup 0"};

    EXPECT_EQ(both.wait(), 0) << both.err();
    EXPECT_EQ(value(both.out(), "socket", "congestion"), kernels);
}

TEST(CongestionControl, IsRefusedIfTheKernelDoesNotHaveTheAlgorithm) {
    Program both{"--test latency --transport tcp --set congestion=nobody --sizes 64 --duration 0.05"};

    EXPECT_EQ(both.wait(), 2);
    EXPECT_EQ(both.err().find("perftest: --set congestion=nobody: this kernel does not let us use it; it has "), 0U)
        << both.err();
    EXPECT_NE(both.err().find("reno"), std::string::npos) << "every kernel has it";
}

TEST(CongestionControl, IsRefusedForATransportWithoutThisSetting) {
    Program both{"--test latency --transport shm --set congestion=reno"};

    EXPECT_EQ(both.wait(), 2);
    EXPECT_EQ(both.err(), "perftest: --set congestion: shm has no such setting; those that it has: none\n");
}

}  // namespace
}  // namespace tacholog
