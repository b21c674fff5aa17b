// Tests of foreign or malicious peers: each must be refused with a message, or ignored. There must never be a crash or
// a hang.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <iterator>
#include <random>
#include <thread>

#include "adapters/name_hash.hpp"
#include "base/address.hpp"
#include "base/meeting_ports.hpp"
#include "base/message.hpp"
#include "cli/options.hpp"
#include "control/control.hpp"
#include "machine/placement.hpp"
#include "rig/side.hpp"
#include "tests/agreed.hpp"
#include "tests/messages.hpp"
#include "tests/program.hpp"
#include "tests/transports.hpp"
#include "transports/broadcast_ring.hpp"
#include "transports/ip_endpoint.hpp"
#include "transports/local_endpoint.hpp"
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

// ---- a publisher that sends shared memory which differs from the agreement ----

class HostileMemory : public testing::TestWithParam<const char*> {
protected:
    static MemoryHead right_head() {
        const bool copied = std::string_view{GetParam()} == "shm";
        const auto shape = RingShape::for_messages(agreed_bytes, 1, copied ? Written::elsewhere : Written::in_place);
        return {.bytes = shape.bytes()};
    }

    /// Offers shared memory of this many bytes, with these seals, to a subscriber. Returns the subscriber's answer.
    static std::string answer_to(off_t bytes, unsigned seals, const MemoryHead& head) {
        const Topic topic{"test-" + std::to_string(now_ns()), agreed_bytes, "127.0.0.1"};
        auto subscriber = transport(GetParam()).subscribe(topic);
        EXPECT_TRUE(subscriber);
        const Fd memory{::memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
        EXPECT_EQ(::ftruncate(memory.get(), bytes), 0);
        EXPECT_EQ(::pwrite(memory.get(), &head, sizeof head, 0), static_cast<ssize_t>(sizeof head));
        EXPECT_EQ(::fcntl(memory.get(), F_ADD_SEALS, seals), 0);
        const auto socket = connect_to_local((*subscriber)->endpoint());
        EXPECT_TRUE(socket);
        EXPECT_TRUE(send_descriptor(*socket, memory, {agreed_bytes, 0}));
        const auto matched = (*subscriber)->match(plenty);
        return matched.has_value() ? "" : matched.error().text;
    }
};

TEST_P(HostileMemory, ThatIsTooSmallIsRefusedBeforeAnyAccess) {
    EXPECT_NE(answer_to(4096, F_SEAL_SHRINK, right_head()).find("not as agreed"), std::string::npos);
}

TEST_P(HostileMemory, WhoseSizeIsNotSealedIsRefused) {
    EXPECT_NE(answer_to(off_t{64} << 20, 0, right_head()).find("not as agreed"), std::string::npos);
}

TEST_P(HostileMemory, ThatIsLargeEnoughAndSealedIsAccepted) {
    EXPECT_EQ(answer_to(off_t{64} << 20, F_SEAL_SHRINK, right_head()), "");
}

TEST_P(HostileMemory, OfAnotherLayoutIsRefusedAndBothVersionsAreNamed) {
    MemoryHead head = right_head();
    head.version = MemoryHead::right_version + 1;
    const std::string versions = "version " + std::to_string(MemoryHead::right_version + 1) + ", this program has " +
                                 std::to_string(MemoryHead::right_version);

    EXPECT_NE(answer_to(off_t{64} << 20, F_SEAL_SHRINK, head).find(versions), std::string::npos);
}

TEST_P(HostileMemory, OfAnotherProgramIsRefused) {
    MemoryHead head = right_head();
    head.magic = 0;

    EXPECT_NE(answer_to(off_t{64} << 20, F_SEAL_SHRINK, head).find("of another program"), std::string::npos);
}

TEST_P(HostileMemory, ThatHoldsAnotherNumberOfBytesIsRefused) {
    MemoryHead head = right_head();
    ++head.bytes;

    EXPECT_NE(answer_to(off_t{64} << 20, F_SEAL_SHRINK, head).find("not as agreed"), std::string::npos);
}

std::string test_name(const testing::TestParamInfo<const char*>& tested) {
    std::string text{tested.param};
    std::replace(text.begin(), text.end(), '-', '_');
    return text;
}

INSTANTIATE_TEST_SUITE_P(Shared, HostileMemory, testing::Values("shm", "shm-zero-copy"), test_name);

// ---- other processes on this host, which can all read the names of local sockets ----

/// Another process that does some work, and reports the outcome as its exit status (0: success). It runs as the same
/// user, or as `nobody`.
class Neighbour {
public:
    enum class User { own, nobody };

    template <typename Work>
    Neighbour(User user, Work&& work) {
        pid_ = ::fork();
        if (pid_ != 0) return;
        constexpr uid_t nobody = 65534;
        if (user == User::nobody && (::setgid(nobody) != 0 || ::setuid(nobody) != 0)) ::_exit(99);
        ::_exit(work() ? 0 : 1);
    }
    Neighbour(const Neighbour&) = delete;
    Neighbour& operator=(const Neighbour&) = delete;
    ~Neighbour() {
        if (pid_ > 0) result();
    }

    int result() {
        int status = 0;
        ::waitpid(std::exchange(pid_, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

private:
    pid_t pid_ = -1;
};

/// Whether other processes on this host can read this name.
bool is_seen(const std::string& name) {
    std::ifstream names{"/proc/net/unix"};
    for (std::string line; std::getline(names, line);) {
        if (line.ends_with("@tacholog/" + name)) return true;
    }
    return false;
}

struct Password {
    std::uint64_t magic = 0x31304B4C4F4F4454;
    std::uint64_t token = 0;
};

/// Whether the other side closes the connection without sending anything.
bool is_turned_away(const Fd& socket) {
    std::array<char, 64> said{};
    return readable(socket, Deadline{plenty}) && ::recv(socket.get(), said.data(), said.size(), 0) <= 0;
}

class LocalNeighbours : public testing::TestWithParam<const char*> {
protected:
    LocalNeighbours() : topic_{"test-" + std::to_string(now_ns()), agreed_bytes, "127.0.0.1"} {
        auto subscriber = transport(GetParam()).subscribe(topic_);
        EXPECT_TRUE(subscriber);
        subscriber_ = std::move(*subscriber);
        endpoint_ = *parse_local_endpoint(subscriber_->endpoint());
    }

    void expect_the_true_publisher_to_be_let_in() {
        auto publisher = transport(GetParam()).advertise(topic_, {subscriber_->endpoint()});
        ASSERT_TRUE(publisher) << publisher.error().text;
        expect_match(*subscriber_);
        send(**publisher, 5, agreed_bytes);
        expect(*subscriber_, 5, agreed_bytes);
        subscriber_.reset();
    }

    Topic topic_;
    std::unique_ptr<Subscriber> subscriber_;
    LocalEndpoint endpoint_;
};

TEST_P(LocalNeighbours, OfAnotherUserAreRejectedEvenIfTheySendTheToken) {
    if (::geteuid() != 0) LEAVE_OUT << "needs root, to become another user";
    Neighbour stranger{Neighbour::User::nobody, [this] {
                           if (!is_seen(endpoint_.name)) return false;
                           const auto socket = connect_locally(endpoint_.name);
                           const Password password{.token = endpoint_.client_token};
                           if (!socket || ::send(socket->get(), &password, sizeof password, MSG_NOSIGNAL) < 0)
                               return !!socket;
                           return is_turned_away(*socket);
                       }};
    EXPECT_EQ(stranger.result(), 0);

    expect_the_true_publisher_to_be_let_in();
}

TEST_P(LocalNeighbours, WithoutTheTokenAreRejectedAndSilentConnectionsBlockNobody) {
    std::vector<Fd> silent;
    for (int count = 0; count < 6; ++count) {
        auto socket = connect_locally(endpoint_.name);
        ASSERT_TRUE(socket);
        silent.push_back(std::move(*socket));
    }
    Neighbour stranger{Neighbour::User::own, [this] {
                           const auto socket = connect_locally(endpoint_.name);
                           const Password password{.token = endpoint_.client_token + 1};
                           return socket && ::send(socket->get(), &password, sizeof password, MSG_NOSIGNAL) > 0 &&
                                  is_turned_away(*socket);
                       }};
    EXPECT_EQ(stranger.result(), 0);

    expect_the_true_publisher_to_be_let_in();
}

TEST_P(LocalNeighbours, OfAnotherUserWhoListenGetNoData) {
    if (::geteuid() != 0) LEAVE_OUT << "needs root, to become another user";
    const std::string name = topic_.name + "-taken";
    Neighbour stranger{Neighbour::User::nobody, [&] {
                           const auto listener = listen_locally(name);
                           if (!listener || !readable(*listener, Deadline{plenty})) return false;
                           return is_turned_away(Fd{::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC)});
                       }};
    for (const Deadline deadline{plenty}; !is_seen(name) && !deadline.passed(); Program::pause()) continue;
    const auto publisher = transport(GetParam()).advertise(topic_, {LocalEndpoint{name, 1, 2}.text()});

    ASSERT_FALSE(publisher);
    EXPECT_NE(publisher.error().text.find("belongs to another user"), std::string::npos) << publisher.error().text;
    EXPECT_EQ(stranger.result(), 0);
}

TEST_P(LocalNeighbours, WhoListenWithoutTheTokenGetOnlyTheFirstMessage) {
    const std::string name = topic_.name + "-taken";
    Neighbour stranger{Neighbour::User::own, [&] {
                           const auto listener = listen_locally(name);
                           if (!listener || !readable(*listener, Deadline{plenty})) return false;
                           const Fd guest{::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC)};
                           Password password;
                           if (!readable(guest, Deadline{plenty})) return false;
                           if (::recv(guest.get(), &password, sizeof password, 0) != sizeof password) return false;
                           ::send(guest.get(), &password, sizeof password, MSG_NOSIGNAL);
                           return is_turned_away(guest);
                       }};
    for (const Deadline deadline{plenty}; !is_seen(name) && !deadline.passed(); Program::pause()) continue;
    const auto publisher = transport(GetParam()).advertise(topic_, {LocalEndpoint{name, 1, 2}.text()});

    ASSERT_FALSE(publisher);
    EXPECT_NE(publisher.error().text.find("is not the subscriber"), std::string::npos) << publisher.error().text;
    EXPECT_EQ(stranger.result(), 0);
}

INSTANTIATE_TEST_SUITE_P(OfThisHost, LocalNeighbours, testing::Values("shm", "shm-zero-copy", "uds"), test_name);

// ---- random bytes at the ports of the transports ----

class HostileBytes : public testing::TestWithParam<const char*> {
protected:
    /// Sends random bytes to the port of this subscriber, over a socket of the same kind. Ignores errors of sending.
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

TEST_P(HostileBytes, AreIgnoredAndMessagesOfTheRealPublisherArrive) {
    constexpr int strangers = 3;  // as many as fit into a listener's queue
    std::mt19937 random{7};
    const Topic topic{"test-" + std::to_string(now_ns()), agreed_bytes, "127.0.0.1"};
    auto subscriber = transport(GetParam()).subscribe(topic);
    ASSERT_TRUE(subscriber);
    for (int count = 0; count < strangers; ++count) harass((*subscriber)->endpoint(), random);
    auto publisher = transport(GetParam()).advertise(topic, {(*subscriber)->endpoint()});
    ASSERT_TRUE(publisher);
    expect_match(**subscriber);
    auto loan = (*publisher)->loan(agreed_bytes);
    ASSERT_TRUE(loan);
    write_message(loan->bytes(), 5, {});
    ASSERT_TRUE(is_done(loan->publish(plenty)));

    {
        const auto sample = (*subscriber)->take(plenty);
        ASSERT_TRUE(sample && *sample);
        EXPECT_EQ(read_message((*sample)->bytes(), {}).number, 5U);
    }
    subscriber->reset();  // otherwise the publisher would wait for its answers
}

INSTANTIATE_TEST_SUITE_P(Ports, HostileBytes, testing::Values("tcp", "udp", "udp-reliable", "udp-wan"), test_name);

// ---- a malicious peer that speaks the control protocol ----

const std::string common = "--test throughput --transport shm --sizes 64 --duration 0.05 --warmup 0";

/// Completes the handshake as a publisher, and then sends this frame. Returns the subscriber's error output.
std::string answer_of_subscriber_to(const Frame& frame, const Frame& placement = {FrameKind::affinity, {0, 0}},
                                    const Frame& run = {FrameKind::run, {1}}) {
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
    EXPECT_TRUE(control->send(run));
    EXPECT_TRUE(control->send(frame));
    EXPECT_EQ(subscriber.wait(), 1) << subscriber.err();
    return subscriber.err();
}

TEST(HostilePublisher, ThatOpensAMessageSizeThatWasNotAgreedIsRefused) {
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{63}, std::uint64_t{1} << 62, UINT64_MAX}) {
        const auto said = answer_of_subscriber_to({FrameKind::open, {bytes}, ""});

        EXPECT_NE(said.find("not agreed"), std::string::npos) << bytes << ": " << said;
    }
}

TEST(HostilePublisher, ThatNamesInvalidCpusIsRefused) {
    for (const std::string cpus : {"-1", "0-", "99999999999", "x"}) {
        const auto said = answer_of_subscriber_to({FrameKind::open, {64}, ""}, {FrameKind::affinity, {1, 0}, cpus});

        EXPECT_NE(said.find("out of step"), std::string::npos) << cpus << ": " << said;
    }
}

TEST(HostilePublisher, ThatSendsAFrameInTheWrongOrderIsRefused) {
    for (const auto kind : {FrameKind::hello, FrameKind::ready, FrameKind::phase_done}) {
        const auto said = answer_of_subscriber_to({kind, {1, 2, 3}, "text"});

        EXPECT_NE(said.find("out of step"), std::string::npos) << said;
    }
}

TEST(HostilePublisher, ThatSendsNoFrameAboutTheRunOrAnOversizedFrameIsRefused) {
    const Frame open{FrameKind::open, {64}, ""};
    const Frame placement{FrameKind::affinity, {0, 0}};
    for (const Frame& run : {Frame{FrameKind::ready}, Frame{FrameKind::run, {1}, std::string(5000, 'x')}}) {
        const auto said = answer_of_subscriber_to(open, placement, run);

        EXPECT_NE(said.find("out of step"), std::string::npos) << said;
    }
}

class HostileSubscriber : public testing::TestWithParam<const char*> {
protected:
    /// Completes the handshake, and then names an address of another host. Returns whether anything was sent to that
    /// address.
    static bool has_them_send(const std::string& more, std::string& complaint) {
        const auto somewhere_else = parse_address("127.74.21.9", 0);
        const bool stream = std::string_view{GetParam()} == "tcp";
        const Fd target{::socket(AF_INET, (stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0)};
        EXPECT_EQ(::bind(target.get(), somewhere_else->get(), somewhere_else->length()), 0);
        if (stream) {
            EXPECT_EQ(::listen(target.get(), 4), 0);
        }
        const std::string line = "--test throughput --transport " + std::string{GetParam()} + " --sizes 64" + briefly;
        const int port = free_port();
        Program publisher{line + more + " --role pub --port " + std::to_string(port)};
        const auto stop = Stop::watch();
        auto control = connect_control("127.0.0.1", port, plenty, *stop);
        EXPECT_TRUE(control);
        EXPECT_TRUE(greet_publisher(*control, agreement_of(line), plenty));
        EXPECT_TRUE(control->send({FrameKind::affinity, {}, " " + to_text(SideCpus{boot_identity(), {0}, {0}})}));
        EXPECT_TRUE(control->expect(FrameKind::affinity, plenty));
        EXPECT_TRUE(control->expect(FrameKind::run, plenty));
        EXPECT_TRUE(control->expect(FrameKind::open, plenty));
        EXPECT_TRUE(control->send({FrameKind::open, {64}, IpEndpoint{local_address(target), 77}.text()}));
        EXPECT_TRUE(control->send({FrameKind::ready}));
        EXPECT_TRUE(control->send({FrameKind::facts}));
        const bool allowed = !more.empty();
        bool sent = allowed && readable(target, Deadline{plenty});
        if (allowed) control = Error{"gone"};
        EXPECT_EQ(publisher.wait(), 1);
        if (!allowed) sent = readable(target, Deadline{Patience{0}});  // everything that the publisher sent has arrived
        complaint = publisher.err();
        return sent;
    }
};

TEST_P(HostileSubscriber, CannotMakeThePublisherSendToAnotherHost) {
    std::string complaint;

    EXPECT_FALSE(has_them_send("", complaint)) << complaint;
    EXPECT_NE(complaint.find("the peer is at 127.0.0.1, and may name no other address"), std::string::npos)
        << complaint;
}

TEST_P(HostileSubscriber, CanNameAnotherHostIfTheUserAllowsThis) {
    std::string complaint;

    EXPECT_TRUE(has_them_send(" --any-endpoint", complaint)) << complaint;
}

INSTANTIATE_TEST_SUITE_P(ByAddress, HostileSubscriber, testing::Values("tcp", "udp", "udp-reliable", "udp-multicast"),
                         test_name);

TEST(EndpointAt, ChecksTheHostOfEachEndpointThatNamesAHost) {
    for (const Transport* one : all_transports()) {
        if (one->parties == Parties::hosts) continue;
        const Topic topic = topic_for(*one, "test-" + std::to_string(now_ns()), agreed_bytes);
        auto subscriber = one->subscribe(topic);
        ASSERT_TRUE(subscriber) << one->name << ": " << subscriber.error().text;
        // With a broker, the endpoint is only a name; the broker has the address.
        const std::string endpoint = topic.companion.empty() ? (*subscriber)->endpoint() : topic.companion;
        const bool names_host = endpoint.find("127.0.0.1") != std::string::npos;
        ASSERT_EQ(one->endpoint_at != nullptr, names_host) << one->name << " " << endpoint;
        if (!names_host) continue;
        EXPECT_EQ(one->endpoint_at(endpoint, *parse_address("127.0.0.1", 0)), endpoint) << one->name;
        EXPECT_EQ(one->endpoint_at(endpoint, *parse_address("::ffff:127.0.0.1", 0)), endpoint) << one->name;
        const auto elsewhere = one->endpoint_at(endpoint, *parse_address("192.0.2.7", 0));
        EXPECT_TRUE(!elsewhere || elsewhere->starts_with("192.0.2.7:")) << one->name << " " << *elsewhere;
    }
}

/// Connects to a publisher that has just been started, and sends these bytes.
Fd stranger_at(int port, const std::string& bytes, Patience patience = plenty) {
    const auto where = parse_address("127.0.0.1", port);
    for (const Deadline deadline{patience}; !deadline.passed(); Program::pause()) {
        Fd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        if (::connect(socket.get(), where->get(), where->length()) != 0) continue;
        ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        return socket;
    }
    return Fd{};
}

TEST(ControlPort, RejectsStrangersWithANoteAndAcceptsTheRealSubscriber) {
    std::mt19937 random{3};
    const std::string port = std::to_string(free_port());
    Program publisher{common + " --role pub --port " + port};
    for (const std::string& bytes :
         {random_bytes(random, 5000), std::string{"GET / HTTP/1.1\r\n\r\n"}, std::string{}}) {
        EXPECT_TRUE(stranger_at(std::stoi(port), bytes));
    }
    Program subscriber{common + " --role sub --port " + port};

    EXPECT_EQ(subscriber.wait(), 0) << subscriber.err();
    EXPECT_EQ(publisher.wait(), 0) << publisher.err();
    EXPECT_NE(publisher.out().find("note text=\"control port: 3 connections were no subscriber's, and were let go"),
              std::string::npos)
        << publisher.out();
}

std::string wire(const Frame& frame) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    const auto stop = Stop::watch();
    Control control{Fd{ends[0]}, *stop};
    const Fd other{ends[1]};
    EXPECT_TRUE(control.send(frame));
    std::string bytes(65536, '\0');
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(::recv(other.get(), bytes.data(), bytes.size(), 0), 0)));
    return bytes;
}

TEST(ControlPort, HandlesSeveralStrangersAtATimeAndNoStrangerEndsTheRun) {
    std::mt19937 random{5};
    const std::string hello = wire({FrameKind::hello, {protocol_version, 0, 0}, "--test=latency --transport=udp"});
    const std::string port = std::to_string(free_port());
    Program publisher{common + " --role pub --port " + port};
    std::vector<Fd> strangers;
    for (int count = 0; count < 6; ++count) strangers.push_back(stranger_at(std::stoi(port), ""));
    strangers.push_back(stranger_at(std::stoi(port), hello.substr(0, hello.size() / 2)));  // sends half a frame
    strangers.push_back(stranger_at(std::stoi(port), hello));                              // has other options
    strangers.push_back(stranger_at(std::stoi(port), wire({FrameKind::hello, {1}, ""})));  // other protocol version
    strangers.push_back(stranger_at(std::stoi(port), wire({FrameKind::bye})));
    strangers.push_back(stranger_at(std::stoi(port), random_bytes(random, 100'000)));
    for (const Fd& stranger : strangers) ASSERT_TRUE(stranger);
    Program subscriber{common + " --role sub --port " + port};

    EXPECT_EQ(subscriber.wait(), 0) << subscriber.err();
    EXPECT_EQ(publisher.wait(), 0) << publisher.err();
    EXPECT_NE(publisher.out().find("note text=\"control port: 11 connections were no subscriber's"), std::string::npos)
        << publisher.out();
}

TEST(ControlPort, ClosesTheOldestSilentConnectionIfThereAreTooMany) {
    const std::string port = std::to_string(free_port());
    Program publisher{common + " --role pub --port " + port};
    std::vector<Fd> silent;
    for (int count = 0; count < 200; ++count) silent.push_back(stranger_at(std::stoi(port), ""));
    Program subscriber{common + " --role sub --port " + port};

    EXPECT_EQ(subscriber.wait(), 0) << subscriber.err();
    EXPECT_EQ(publisher.wait(), 0) << publisher.err();
    EXPECT_NE(publisher.out().find("control port: 200 connections"), std::string::npos) << publisher.out();
}

TEST(ControlPort, OfARunThatStartsItsOwnSubscribersRejectsOtherSubscribers) {
    const auto stop = Stop::watch();
    const auto listener = Listener::open("127.0.0.1", 0);
    const std::string words = agreement_of(common);
    auto stranger = connect_control("127.0.0.1", listener->port(), plenty, *stop);
    auto guest = listener->accept(plenty, *stop);
    ASSERT_TRUE(stranger && guest);
    ASSERT_TRUE(stranger->send({FrameKind::hello, {protocol_version, 1, 12345}, words}));
    const auto hello = guest->expect(FrameKind::hello, plenty);
    ASSERT_TRUE(hello);

    const auto answered = answer_hello(*guest, *hello, words, {1}, 67890);
    ASSERT_FALSE(answered);
    EXPECT_NE(answered.error().text.find("does not know the secret"), std::string::npos);
    EXPECT_TRUE(answer_hello(*guest, *hello, words, {1}, 12345));
}

TEST(ControlPort, OfARunWithASecretAcceptsOnlySubscribersWithThisSecret) {
    const std::string port = std::to_string(free_port());
    const auto told = [](const char* secret) {
        return [secret] { return ::setenv("TACHOLOG_SECRET", secret, 1) == 0; };
    };
    Program publisher{common + " --role pub --port " + port, PERFTEST, told("swordfish")};
    for (const char* guess : {"", "password"}) {
        Program stranger{common + " --role sub --port " + port, PERFTEST, told(guess)};
        EXPECT_EQ(stranger.wait(), 1);
        EXPECT_NE(stranger.err().find("does not know the secret of this run"), std::string::npos) << stranger.err();
    }
    Program subscriber{common + " --role sub --port " + port, PERFTEST, told("swordfish")};

    EXPECT_EQ(subscriber.wait(), 0) << subscriber.err();
    EXPECT_EQ(publisher.wait(), 0) << publisher.err();
}

// The peer chooses the endpoint, so it could name the socket of any program of the same user.
TEST(LocalEndpoint, OfAnotherProgramIsNeverConnectedTo) {
    const std::string name = "another-program-" + std::to_string(::getpid());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const Fd listener{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);

    EXPECT_FALSE(connect_to_local(name + "/1/2"));
    EXPECT_FALSE(readable(listener, Deadline{Patience{0}})) << "somebody came";
}

TEST(ControlPort, WithOnlyStrangersReportsThatNoSubscriberHasConnected) {
    const bool one_came = within_some_limit([](const std::string& limit) {
        const int port = free_port();
        Program publisher{"--test latency --transport shm --role pub --port " + std::to_string(port) + limit};
        while (!stranger_at(port, "hello?", Patience{10})) {
            if (publisher.has_ended()) return false;
        }
        EXPECT_EQ(publisher.wait(), 1);
        EXPECT_NE(publisher.err().find("no subscriber has connected"), std::string::npos) << publisher.err();
        EXPECT_NE(publisher.err().find("; 1 connection was no subscriber's"), std::string::npos) << publisher.err();
        EXPECT_NE(publisher.out().find("note text=\"control port: 1 connection was no subscriber's"),
                  std::string::npos);
        return true;
    });
    EXPECT_TRUE(one_came);
}

TEST(ControlPort, ListensOnLoopbackByDefault) {
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

// ---- over TCP: another program gets the port of a peer that has disconnected ----

class OverTcp : public testing::TestWithParam<const Transport*> {
protected:
    void SetUp() override { ::signal(SIGPIPE, SIG_IGN); }

    std::unique_ptr<Publisher> advertise(const Transport& transport, const Topic& topic, const std::string& endpoint) {
        auto advertised = transport.advertise(topic, {endpoint});
        EXPECT_TRUE(advertised) << advertised.error().text;
        return advertised ? std::move(*advertised) : nullptr;
    }

    void join() {
        topic_ = topic_for(*GetParam(), "test-" + std::to_string(now_ns()), agreed_bytes);
        auto subscribed = GetParam()->subscribe(topic_);
        ASSERT_TRUE(subscribed) << subscribed.error().text;
        subscriber_ = std::move(*subscribed);
        publisher_ = advertise(*GetParam(), topic_, subscriber_->endpoint());
        ASSERT_NE(publisher_, nullptr);
        expect_match(*publisher_, *subscriber_);
    }

    Topic topic_;
    std::unique_ptr<Subscriber> subscriber_;
    std::unique_ptr<Publisher> publisher_;
};

// After a subscriber is lost, its port may belong to another run. Therefore, the publisher must not connect to this
// port again.
TEST_P(OverTcp, ThePublisherDoesNotConnectToAnotherProgramOnThePortOfALostSubscriber) {
    join();
    const auto endpoint = parse_endpoint(subscriber_->endpoint());
    ASSERT_TRUE(endpoint) << subscriber_->endpoint();
    subscriber_.reset();
    const Fd next{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const int yes = 1;
    ::setsockopt(next.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const Deadline deadline{plenty};  // a library may close its sockets in a thread of its own
    while (::bind(next.get(), endpoint->address.get(), endpoint->address.length()) != 0 && !deadline.passed())
        Program::pause();
    ASSERT_EQ(::listen(next.get(), 1), 0);

    pollfd watched{next.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&watched, 1, 500), 0) << "somebody dials " << to_text(endpoint->address);
}

// The connection is refused after both sides have sent their protocol numbers.
TEST_P(OverTcp, AStrangerWithAnotherKindOfNngSocketIsNotTreatedAsAPublisherThatLeft) {
    if (!GetParam()->name.starts_with("nng-tcp")) GTEST_SKIP() << "another protocol";
    join();
    const bool pulls = GetParam()->name.ends_with("-sockets-push-pull");
    constexpr char publisher = 0x20;
    constexpr char pusher = 0x50;
    const std::string greeting{'\0', 'S', 'P', '\0', '\0', pulls ? publisher : pusher, '\0', '\0'};
    const auto endpoint = parse_endpoint(subscriber_->endpoint());
    ASSERT_TRUE(endpoint) << subscriber_->endpoint();

    for (std::uint64_t number = 0; number < 20; ++number) {
        const Fd stranger = stranger_at(endpoint->address.port(), greeting);
        std::array<char, 64> answer{};
        ssize_t answered_bytes = 0;
        for (ssize_t got = 0; (got = ::recv(stranger.get(), answer.data(), answer.size(), 0)) > 0;)
            answered_bytes += got;
        EXPECT_EQ(answered_bytes, static_cast<ssize_t>(greeting.size()));
        send(*publisher_, number, agreed_bytes);
        expect(*subscriber_, number, agreed_bytes);
    }
}

std::vector<const Transport*> transports_over_tcp() {
    auto found = transports_with_settings();
    std::erase_if(found, [](const Transport* one) {
        return one->way != Way::tcp || one->endpoint_at == nullptr || one->start_companion != nullptr;
    });
    return found;
}

// The list of transports is empty in a build without adapters.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OverTcp);
INSTANTIATE_TEST_SUITE_P(Registry, OverTcp, testing::ValuesIn(transports_over_tcp()), transport_name);

// ---- messages that a middleware library sends to itself ----

// When LCM starts, it sends itself test messages until it receives one. If it receives two, it delivers the second one
// after the subscriber has joined. Any program in the multicast group can send such messages.
TEST(Lcm, TestMessagesOfTheLibraryAreNotDelivered) {
    const auto all = all_transports();
    const auto lcm = std::find_if(all.begin(), all.end(), [](const Transport* one) { return one->name == "lcm"; });
    if (lcm == all.end()) GTEST_SKIP() << "this build has no LCM";
    const auto topic = topic_for(**lcm, "test-" + std::to_string(now_ns()), agreed_bytes);
    const std::uint64_t number = name_hash(topic.channel);
    const auto group =
        parse_address("239.255." + std::to_string(number >> 8 & 0xff) + "." + std::to_string(number & 0xff),
                      meeting_port(Meeting::group, number >> 16));
    ASSERT_TRUE(group);
    std::atomic<bool> over{false};
    std::thread tester{[&] {
        const Fd socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
        const int only_here = 0;
        ::setsockopt(socket.get(), IPPROTO_IP, IP_MULTICAST_TTL, &only_here, sizeof only_here);
        const std::string test{"LC02\0\0\0\0LCM_SELF_TEST\0lcm self test", 35};
        while (!over) ::sendto(socket.get(), test.data(), test.size(), 0, group->get(), group->length());
    }};
    auto subscribed = (*lcm)->subscribe(topic);
    over = true;
    tester.join();
    ASSERT_TRUE(subscribed) << subscribed.error().text;
    auto& subscriber = **subscribed;

    for (int count = 0; count < 100; ++count) {
        const auto sample = subscriber.take(Patience{1});
        ASSERT_TRUE(sample) << sample.error().text;
        ASSERT_FALSE(*sample);
    }
    const auto publisher = (*lcm)->advertise(topic, {subscriber.endpoint()});
    ASSERT_TRUE(publisher) << publisher.error().text;
    bool came = false;
    for (const Deadline deadline{plenty}; !came && !deadline.passed();) {  // the buffer may be full of test messages
        send(**publisher, 7, agreed_bytes);
        const auto sample = subscriber.take(Patience{100});
        ASSERT_TRUE(sample) << sample.error().text;
        came = sample->has_value();
        if (came) {
            EXPECT_EQ(read_message((*sample)->bytes(), verified).number, 7U);
        }
    }
    EXPECT_TRUE(came);
}

}  // namespace
}  // namespace tacholog
