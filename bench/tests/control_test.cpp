#include "control/control.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "control/explained.hpp"
#include "tests/patience.hpp"

namespace tacholog {
namespace {

constexpr Patience brief{50};

/// The other end of the control channel is a plain socket, so that a test can send anything.
class ControlTest : public testing::Test {
protected:
    ControlTest() : stop_(Stop::watch()) {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
        control_.emplace(Fd{ends[0]}, *stop_);
        peer_ = Fd{ends[1]};
    }

    void peer_says(const std::string& bytes) const {
        ASSERT_EQ(::send(peer_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    }

    std::string wire(const Frame& frame) {
        EXPECT_TRUE(control_->send(frame));
        std::string bytes(65536, '\0');
        const auto count = ::recv(peer_.get(), bytes.data(), bytes.size(), 0);
        bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        return bytes;
    }

    Result<Stop> stop_;
    std::optional<Control> control_;
    Fd peer_;
};

TEST_F(ControlTest, AFrameArrivesAsItWasSent) {
    peer_says(wire({FrameKind::hello, {1, 2, UINT64_MAX}, "text with \n and \0"}));
    const auto frame = control_->receive(plenty);

    ASSERT_TRUE(frame) << frame.error().text;
    EXPECT_EQ(frame->kind, FrameKind::hello);
    EXPECT_EQ(frame->numbers, (std::vector<std::uint64_t>{1, 2, UINT64_MAX}));
    EXPECT_EQ(frame->number(7), 0U);
}

TEST_F(ControlTest, APeerThatOnlySaysThatItIsAtWorkIsRefusedAfterATimeLimit) {
    const std::string alive = wire({FrameKind::alive});
    const std::string other = wire({FrameKind::ready});
    control_->limit_work(0);
    for (int round = 0; round < 3; ++round) {
        peer_says(alive + other);
        EXPECT_TRUE(control_->expect(FrameKind::alive, plenty));
        EXPECT_TRUE(control_->expect(FrameKind::ready, plenty));
    }
    peer_says(alive);
    EXPECT_TRUE(control_->expect(FrameKind::alive, plenty));
    peer_says(alive);

    const auto again = control_->receive(plenty);

    ASSERT_FALSE(again);
    EXPECT_NE(again.error().text.find("only says that it is at work"), std::string::npos) << again.error().text;
}

TEST_F(ControlTest, AFrameMayArriveByteByByte) {
    const std::string bytes = wire({FrameKind::open, {64}, "somewhere"});
    for (const char byte : bytes) {
        const auto early = control_->poll();
        ASSERT_TRUE(early);
        ASSERT_FALSE(*early);
        peer_says(std::string(1, byte));
    }
    const auto frame = control_->expect(FrameKind::open, plenty);

    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->text, "somewhere");
}

TEST_F(ControlTest, AWebBrowserIsRefused) {
    peer_says("GET / HTTP/1.1\r\n\r\n");
    const auto frame = control_->receive(plenty);

    ASSERT_FALSE(frame);
    EXPECT_NE(frame.error().text.find("not a perftest"), std::string::npos);
}

TEST_F(ControlTest, AForeignGreetingOfTwoBytesIsRefusedWithoutWaiting) {
    peer_says("hi");

    EXPECT_FALSE(control_->receive(plenty));
}

TEST_F(ControlTest, RandomBytesNeverCrashOrHang) {
    std::mt19937 random{1};
    for (int round = 0; round < 2000; ++round) {
        std::string bytes = round % 2 == 0 ? "" : wire({FrameKind::hello, {1, 2}, "abc"});
        for (int count = 0; count < 40; ++count) bytes += static_cast<char>(random());
        if (!bytes.empty() && round % 2 != 0) bytes[random() % 16] = static_cast<char>(random());
        while (true) {
            const auto frame = parse_frame(bytes);
            if (!frame || !*frame) break;
        }
    }
}

TEST_F(ControlTest, AnOversizedLengthIsRefusedBeforeMemoryIsAllocated) {
    std::string bytes = wire({FrameKind::hello});
    bytes[8] = bytes[9] = bytes[10] = static_cast<char>(0xFF);  // the length of the text
    peer_says(bytes);
    const auto frame = control_->receive(plenty);

    ASSERT_FALSE(frame);
    EXPECT_NE(frame.error().text.find("too large"), std::string::npos);
}

TEST_F(ControlTest, SilenceIsAnErrorAfterTheTimeLimit) {
    const auto frame = control_->receive(brief);

    ASSERT_FALSE(frame);
    EXPECT_NE(frame.error().text.find("time limit"), std::string::npos);
}

TEST_F(ControlTest, AClosedConnectionIsNoticedWithoutWaiting) {
    peer_ = Fd{};
    const auto frame = control_->poll();

    ASSERT_FALSE(frame);
    EXPECT_NE(frame.error().text.find("closed the connection"), std::string::npos);
}

TEST_F(ControlTest, TheReasonOfAPeerThatGivesUpIsInTheError) {
    peer_says(wire({FrameKind::abort, {}, "disk on fire"}));
    const auto frame = control_->expect(FrameKind::ready, plenty);

    ASSERT_FALSE(frame);
    EXPECT_NE(frame.error().text.find("disk on fire"), std::string::npos);
}

TEST_F(ControlTest, AnotherProtocolVersionIsRefusedAndBothVersionsAreNamed) {
    peer_says(wire({FrameKind::hello, {protocol_version + 1}, "--test=latency"}));
    const auto greeted = greet_subscriber(*control_, "--test=latency", plenty);

    ASSERT_FALSE(greeted);
    const std::string both =
        "version " + std::to_string(protocol_version) + " here, " + std::to_string(protocol_version + 1) + " there";
    EXPECT_NE(greeted.error().text.find(both), std::string::npos) << greeted.error().text;
}

TEST_F(ControlTest, AnAgreementOfAHundredKilobytesArrivesComplete) {
    const std::string words = "--sizes=" + std::string(100'000, '7');
    Control subscriber{std::move(peer_), *stop_};
    std::thread other{[&] { EXPECT_TRUE(greet_publisher(subscriber, words, plenty)); }};
    const auto greeted = greet_subscriber(*control_, words, plenty);
    other.join();

    EXPECT_TRUE(greeted) << greeted.error().text;
}

// Regression: each write started the time limit again, so that a peer could block a side for hours.
TEST_F(ControlTest, APeerThatReadsSlowlyBlocksASenderOnlyUntilTheTimeLimit) {
    const int little = 1;  // the kernel raises this to its minimum
    ::setsockopt(control_->descriptor(), SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
    std::atomic<bool> is_over{false};
    std::size_t read = 0;
    std::thread slow{[&] {
        std::array<char, 4096> some{};
        while (!is_over) {
            const auto count = ::recv(peer_.get(), some.data(), some.size(), MSG_DONTWAIT);
            read += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
            sleep_until(now_ns() + 50'000'000);
        }
    }};
    const auto sent = control_->send({FrameKind::hello, {}, std::string(longest_text, 'x')});
    is_over = true;
    slow.join();

    ASSERT_FALSE(sent) << "the peer took its time for " << read << " bytes";
    EXPECT_NE(sent.error().text.find("the peer does not read"), std::string::npos) << sent.error().text;
    EXPECT_GT(read, 0U);
}

TEST_F(ControlTest, ATextThatIsTooLongIsRefusedAndNotTruncated) {
    const auto sent = control_->send({FrameKind::hello, {}, std::string(longest_text + 1, 'x')});

    ASSERT_FALSE(sent);
    EXPECT_NE(sent.error().text.find("262145 bytes is too long; it takes 262144"), std::string::npos)
        << sent.error().text;
}

TEST_F(ControlTest, DifferentOptionsAreRefusedAndNamed) {
    peer_says(wire({FrameKind::hello, {protocol_version}, "--test=latency --sizes=64"}));
    const auto greeted = greet_subscriber(*control_, "--test=latency --sizes=16", plenty);

    ASSERT_FALSE(greeted);
    EXPECT_NE(greeted.error().text.find("--sizes=16 here, --sizes=64 there"), std::string::npos);
}

// ---- the reason why a run with several subscribers has failed ----

/// The channels of a publisher to three subscribers, whose other ends are controlled by the test.
class ExplainedTest : public testing::Test {
protected:
    ExplainedTest() : stop_(Stop::watch()) {
        for (const char* name : {"sub1", "sub2", "sub3"}) {
            std::array<int, 2> ends{};
            EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
            channels_.emplace_back(Fd{ends[0]}, *stop_).call_peer(name);
            theirs_.emplace_back(Fd{ends[1]}, *stop_);
        }
    }

    void gives_up(std::size_t who, const std::string& reason) {
        ASSERT_TRUE(theirs_[who].send({FrameKind::abort, {}, reason}));
        dies(who);
    }
    void dies(std::size_t who) { theirs_[who] = Control{Fd{}, *stop_}; }

    std::string explanation(const Error& seen) { return explained(seen, channels_).error().text; }
    std::string explanation(const std::string& seen) { return explanation(Error{seen}); }

    Result<Stop> stop_;
    std::vector<Control> channels_;
    std::vector<Control> theirs_;
};

TEST_F(ExplainedTest, ASubscriberThatDiedIsNamedEvenIfTheTransportDoesNotKnowWhichOneIsGone) {
    dies(1);

    EXPECT_EQ(explanation("publish on 127.0.0.1:5: the subscriber is gone"),
              "control channel: sub2 closed the connection before the run was over "
              "(publish on 127.0.0.1:5: the subscriber is gone)");
    EXPECT_EQ(theirs_[0].reason(brief)->text.substr(0, 36), "the peer gave up: control channel: s");
}

// If a subscriber dies, the publisher closes its end of the transport, and only then tells the remaining subscribers
// the reason. So a remaining subscriber may give up before the reason arrives.
TEST_F(ExplainedTest, ASubscriberThatGaveUpBecauseAnotherDiedIsNotNamedAsTheCause) {
    gives_up(0, "take from ring: the publisher is gone");
    dies(1);

    EXPECT_EQ(explanation(channels_[1].error("sub2 closed the connection before the run was over")),
              "control channel: sub2 closed the connection before the run was over");
    EXPECT_TRUE(explanation("publish: nobody is there").starts_with("control channel: sub2 closed"));
}

TEST_F(ExplainedTest, TheReasonOfASubscriberThatGaveUpIsStatedIfNoSubscriberDied) {
    gives_up(2, "out of memory");

    EXPECT_EQ(explanation("publish: nobody is there"), "sub3 gave up: out of memory");
}

TEST_F(ExplainedTest, ASubscriberThatHasFinishedIsNotTreatedAsDead) {
    dies(0);  // this subscriber had already finished, and said so

    EXPECT_EQ(explanation(channels_[2].error("no answer from sub3 within the time limit")),
              "control channel: no answer from sub3 within the time limit");
}

TEST_F(ExplainedTest, TheOriginalErrorIsStatedIfNoSubscriberGivesAReason) {
    EXPECT_EQ(explanation("publish: no room"), "publish: no room");
}

TEST(Listener, APortInUseIsAnErrorWithItsName) {
    const auto first = Listener::open("127.0.0.1", 0);
    ASSERT_TRUE(first);
    const auto second = Listener::open("127.0.0.1", first->port());

    ASSERT_FALSE(second);
    EXPECT_NE(second.error().text.find(first->name()), std::string::npos);
}

TEST(Listener, ASubscriberThatDoesNotConnectIsAnError) {
    const auto stop = Stop::watch();
    const auto listener = Listener::open("127.0.0.1", 0);

    EXPECT_FALSE(listener->accept(brief, *stop));
}

TEST(Listener, AMissingPublisherIsAnErrorAfterTheTimeLimit) {
    const auto stop = Stop::watch();
    int port = 0;
    {
        const auto listener = Listener::open("127.0.0.1", 0);
        port = listener->port();
    }
    const auto control = connect_control("127.0.0.1", port, brief, *stop);

    ASSERT_FALSE(control);
    EXPECT_NE(control.error().text.find("no publisher at 127.0.0.1"), std::string::npos);
}

}  // namespace
}  // namespace tacholog
