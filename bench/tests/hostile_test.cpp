// Peers that are none of ours, or mean harm: refused with a message, or not heard at all; never a crash, never a hang.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <random>

#include "core/address.hpp"
#include "core/control.hpp"
#include "core/message.hpp"
#include "tests/messages.hpp"
#include "tests/program.hpp"
#include "transports/ip_endpoint.hpp"
#include "transports/local_socket.hpp"
#include "transports/transport.hpp"

namespace tacholog {
namespace {

constexpr std::size_t agreed_bytes = 64;

const Transport& transport(std::string_view name) {
    const auto all = all_transports();
    return **std::find_if(all.begin(), all.end(), [&](const Transport* one) { return one->name == name; });
}

std::string random_bytes(std::mt19937& random, std::size_t most) {
    std::string bytes(1 + random() % most, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
}

// ---- a publisher that hands over memory which is not what was agreed ----

class HostileMemory : public testing::TestWithParam<const char*> {
protected:
    /// What a subscriber says to a descriptor of so many bytes, sealed or not.
    static std::string answer_to(off_t bytes, unsigned seals) {
        const Topic topic{"test-" + std::to_string(now_ns()), agreed_bytes, "127.0.0.1"};
        auto subscriber = transport(GetParam()).subscribe(topic);
        EXPECT_TRUE(subscriber);
        const Fd memory{::memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
        EXPECT_EQ(::ftruncate(memory.get(), bytes), 0);
        EXPECT_EQ(::fcntl(memory.get(), F_ADD_SEALS, seals), 0);
        const auto socket = connect_locally((*subscriber)->endpoint());
        EXPECT_TRUE(socket);
        EXPECT_TRUE(send_descriptor(*socket, memory, {agreed_bytes, 0}));
        const auto matched = (*subscriber)->match(plenty);
        return matched ? "" : matched.error().text;
    }
};

TEST_P(HostileMemory, ThatIsTooSmallIsRefusedBeforeItIsTouched) {
    EXPECT_NE(answer_to(4096, F_SEAL_SHRINK).find("not as agreed"), std::string::npos);
}

TEST_P(HostileMemory, ThatCouldBeMadeSmallerIsRefused) {
    EXPECT_NE(answer_to(off_t{64} << 20, 0).find("not as agreed"), std::string::npos);
}

TEST_P(HostileMemory, ThatIsLargeEnoughAndStaysSoIsTaken) {
    EXPECT_EQ(answer_to(off_t{64} << 20, F_SEAL_SHRINK), "");
}

std::string test_name(const testing::TestParamInfo<const char*>& tested) {
    std::string text{tested.param};
    std::replace(text.begin(), text.end(), '-', '_');
    return text;
}

INSTANTIATE_TEST_SUITE_P(Shared, HostileMemory, testing::Values("shm", "shm-zero-copy"), test_name);

// ---- random bytes at the ports where messages are expected ----

class HostileBytes : public testing::TestWithParam<const char*> {
protected:
    /// Random bytes to where this subscriber is, over a socket of its kind; what cannot be sent is not heard either.
    static void harass(const std::string& endpoint, std::mt19937& random) {
        const auto where = parse_endpoint(endpoint.substr(0, endpoint.find('/', endpoint.find('/') + 1)));
        ASSERT_TRUE(where) << endpoint;
        const int kind = std::string_view{GetParam()} == "tcp" ? SOCK_STREAM : SOCK_DGRAM;
        const Fd socket{::socket(AF_INET, kind | SOCK_CLOEXEC, 0)};
        ASSERT_EQ(::connect(socket.get(), where->address.get(), where->address.length()), 0);
        const std::string bytes = random_bytes(random, 200);
        ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
};

TEST_P(HostileBytes, AreNotHeardAndTheMessagesOfTheTruePublisherArrive) {
    constexpr int strangers = 3;  // as many as wait in a listener's queue at once
    std::mt19937 random{7};
    const Topic topic{"test-" + std::to_string(now_ns()), agreed_bytes, "127.0.0.1"};
    auto subscriber = transport(GetParam()).subscribe(topic);
    ASSERT_TRUE(subscriber);
    for (int count = 0; count < strangers; ++count) harass((*subscriber)->endpoint(), random);
    auto publisher = transport(GetParam()).advertise(topic, (*subscriber)->endpoint());
    ASSERT_TRUE(publisher);
    expect_match(**subscriber);
    auto loan = (*publisher)->loan(agreed_bytes);
    ASSERT_TRUE(loan);
    write_message(loan->bytes(), 5, {});
    ASSERT_TRUE(loan->publish(plenty));

    {
        const auto sample = (*subscriber)->take(plenty);
        ASSERT_TRUE(sample && *sample);
        EXPECT_EQ(read_message((*sample)->bytes(), {}).number, 5U);
    }
    subscriber->reset();  // or the publisher would wait for its answers
}

INSTANTIATE_TEST_SUITE_P(Ports, HostileBytes, testing::Values("tcp", "udp", "udp-reliable", "udp-wan"), test_name);

// ---- a peer that speaks our control protocol and means harm ----

const std::string common = "--test throughput --transport shm --sizes 64 --timeout 5 --duration 1 --warmup 0";

/// A publisher that shakes hands as it should, and then says this.
std::string answer_of_subscriber_to(const Frame& frame, const Frame& placement = {FrameKind::affinity, {0, 0}}) {
    const auto stop = Stop::watch();
    const auto listener = Listener::open("127.0.0.1", 0);
    Program subscriber{common + " --role sub --port " + std::to_string(listener->port())};
    auto control = listener->accept(plenty, *stop);
    EXPECT_TRUE(control);
    const auto hello = control->expect(FrameKind::hello, plenty);
    EXPECT_TRUE(hello);
    EXPECT_TRUE(control->send({FrameKind::hello, {protocol_version}, hello->text}));
    EXPECT_TRUE(control->expect(FrameKind::affinity, plenty));
    EXPECT_TRUE(control->send(placement));
    EXPECT_TRUE(control->send(frame));
    EXPECT_EQ(subscriber.wait(plenty), 1) << subscriber.err();
    return subscriber.err();
}

TEST(HostilePublisher, ThatOpensASizeWhichWasNotAgreedIsRefused) {
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{63}, std::uint64_t{1} << 62, UINT64_MAX}) {
        const auto said = answer_of_subscriber_to({FrameKind::open, {bytes}, ""});

        EXPECT_NE(said.find("not agreed"), std::string::npos) << bytes << ": " << said;
    }
}

TEST(HostilePublisher, ThatNamesCpusWhichAreNoneIsRefused) {
    for (const std::string cpus : {"-1", "0-", "99999999999", "x"}) {
        const auto said = answer_of_subscriber_to({FrameKind::open, {64}, ""}, {FrameKind::affinity, {1, 0}, cpus});

        EXPECT_NE(said.find("out of step"), std::string::npos) << cpus << ": " << said;
    }
}

TEST(HostilePublisher, ThatIsOutOfStepIsRefused) {
    for (const auto kind : {FrameKind::hello, FrameKind::ready, FrameKind::phase_done}) {
        const auto said = answer_of_subscriber_to({kind, {1, 2, 3}, "text"});

        EXPECT_NE(said.find("out of step"), std::string::npos) << said;
    }
}

/// Connects to a publisher that has just been started, and sends this.
Fd stranger_at(int port, const std::string& bytes) {
    const auto where = parse_address("127.0.0.1", port);
    for (const Deadline deadline{plenty}; !deadline.passed(); Program::pause()) {
        Fd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        if (::connect(socket.get(), where->get(), where->length()) != 0) continue;
        ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        return socket;
    }
    return Fd{};
}

TEST(ControlPort, LetsStrangersGoWithANoteAndTheTrueSubscriberIn) {
    std::mt19937 random{3};
    const std::string port = std::to_string(free_port());
    Program publisher{common + " --role pub --port " + port};
    for (const std::string& bytes :
         {random_bytes(random, 5000), std::string{"GET / HTTP/1.1\r\n\r\n"}, std::string{}}) {
        EXPECT_TRUE(stranger_at(std::stoi(port), bytes));
    }
    Program subscriber{common + " --role sub --port " + port};

    EXPECT_EQ(subscriber.wait(plenty), 0) << subscriber.err();
    EXPECT_EQ(publisher.wait(plenty), 0) << publisher.err();
    EXPECT_NE(publisher.out().find("note text=\"control port: 3 connections were no subscriber's, and were let go"),
              std::string::npos)
        << publisher.out();
}

TEST(ControlPort, DoesNotWaitLongForAStrangerWhoSaysNothing) {
    const std::string port = std::to_string(free_port());
    Program publisher{common + " --role pub --port " + port};
    const Fd silent = stranger_at(std::stoi(port), "");
    ASSERT_TRUE(silent);
    Program subscriber{common + " --role sub --port " + port};

    EXPECT_EQ(subscriber.wait(plenty), 0) << subscriber.err();
    EXPECT_NE(publisher.out().find("no answer from the peer within the time limit"), std::string::npos)
        << publisher.out();
}

TEST(ControlPort, WhereOnlyStrangersComeNoSubscriberHas) {
    const std::string port = std::to_string(free_port());
    Program publisher{"--test latency --transport shm --timeout 0.5 --role pub --port " + port};
    EXPECT_TRUE(stranger_at(std::stoi(port), "hello?"));

    EXPECT_EQ(publisher.wait(plenty), 1);
    EXPECT_NE(publisher.err().find("no subscriber has connected"), std::string::npos) << publisher.err();
    EXPECT_NE(publisher.out().find("note text=\"control port: 1 connection was no subscriber's"), std::string::npos);
}

TEST(ControlPort, ListensOnLoopbackUnlessToldOtherwise) {
    const int port = free_port();
    Program publisher{common + " --role pub --port " + std::to_string(port)};
    const std::string hex = [&] {
        std::array<char, 8> text{};
        std::snprintf(text.data(), text.size(), "%04X", port);
        return std::string{text.data()};
    }();
    std::string address;
    for (const Deadline deadline{plenty}; address.empty() && !deadline.passed(); Program::pause()) {
        std::ifstream table{"/proc/self/net/tcp"};
        for (std::string line; std::getline(table, line);) {
            const auto at = line.find(":" + hex + " 00000000:0000 0A ");
            if (at != std::string::npos) address = line.substr(at - 8, 8);
        }
    }

    EXPECT_EQ(address, "0100007F");
}

}  // namespace
}  // namespace tacholog
