// Tests of peers that complete the handshake and then break the protocol: they never stop sending, or send impossible
// values. The run must end cleanly nevertheless.
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "base/stop.hpp"
#include "base/text.hpp"
#include "control/control.hpp"
#include "control/frames.hpp"
#include "machine/placement.hpp"
#include "rig/one_way.hpp"
#include "tests/agreed.hpp"
#include "tests/messages.hpp"
#include "tests/program.hpp"
#include "tests/transports.hpp"
#include "transports/ip_endpoint.hpp"
#include "transports/local_endpoint.hpp"
#include "transports/local_socket.hpp"
#include "transports/socket_wait.hpp"
#include "transports/stream.hpp"
#include "transports/wan_endpoint.hpp"

namespace tacholog {
namespace {

// ---- impossible numbers ----

TEST(PossibleFrames, HaveNoMoreNumbersThanTheirKindOfFrameAllows) {
    EXPECT_TRUE(is_possible({FrameKind::ready}));
    EXPECT_FALSE(is_possible({FrameKind::ready, {0}}));
    EXPECT_FALSE(is_possible({FrameKind::resources, {0, 0, 0, 0, 0, 0, 0, 0}}));
}

TEST(PossibleFrames, HaveCountsAndTimesWhoseSumsDoNotOverflow) {
    for (const auto kind : {FrameKind::phase_end, FrameKind::interval, FrameKind::phase_done, FrameKind::resources}) {
        for (std::size_t place = 0; place < 3; ++place) {
            Frame frame{kind, {0, 0, 0}};
            EXPECT_TRUE(is_possible(frame)) << static_cast<int>(kind);
            for (const std::uint64_t number : {UINT64_MAX, std::uint64_t{1} << 63, most_counted + 1}) {
                frame.numbers[place] = number;
                EXPECT_FALSE(is_possible(frame)) << static_cast<int>(kind) << " " << place << " " << number;
            }
        }
    }
}

TEST(PossibleFrames, HaveADemandWithinItsRange) {
    EXPECT_TRUE(is_possible({FrameKind::open, {64, 100, 0}}));
    EXPECT_FALSE(is_possible({FrameKind::open, {64, (std::uint64_t{1} << 32) + 100, 0}})) << "was taken for 100";
    EXPECT_FALSE(is_possible({FrameKind::open, {64, 100, UINT64_MAX}}));
}

TEST(PossibleFrames, HavePartsThatDoNotExceedTheirTotal) {
    EXPECT_TRUE(is_possible({FrameKind::phase_done, {5, 0, 0, 5, 0, 0, 1}}));
    EXPECT_FALSE(is_possible({FrameKind::phase_done, {5, 0, 0, 6}})) << "more out of order than came";
    EXPECT_FALSE(is_possible({FrameKind::phase_done, {0, 0, 0, 0, 0, 0, 1}})) << "an instance of which nothing came";
    const std::uint64_t second_ns = 1'000'000'000;
    EXPECT_TRUE(is_possible({FrameKind::resources, {second_ns, 8 * second_ns, second_ns}}));
    EXPECT_FALSE(is_possible({FrameKind::resources, {second_ns, 100'000 * second_ns, 0}})) << "more than all CPUs give";
    EXPECT_FALSE(is_possible({FrameKind::histogram, {1, 0, 1, 0, 0, std::uint64_t{1} << 48}}));
}

TEST(SideCpusOfAPeer, AreRefusedIfACpuIsListedTwice) {
    EXPECT_TRUE(parse_side_cpus("0-3/1/1/boot"));
    EXPECT_FALSE(parse_side_cpus("0-3,2/1/1/boot"));
    EXPECT_FALSE(parse_side_cpus("0/0-1023,0-1023/1/boot"));
    EXPECT_FALSE(parse_side_cpus("0/0/18446744073709551615/boot"));
}

TEST(AnAgreement, StatesNumbersWithAllDigits) {
    const std::string search =
        "--test sustain --transport mock --sizes 64 --latency-goal p50=1ms --rate-range 1000,2000 --loss-goal ";
    EXPECT_NE(agreement_of(search + "0.0000001"), agreement_of(search + "0"));
    const std::string latency = "--test latency --transport shm --sizes 64 --duration ";
    EXPECT_NE(agreement_of(latency + "0.10000001"), agreement_of(latency + "0.1"));
}

// ---- text of other programs ----

TEST(ForeignText, IsShownWithoutCharactersThatControlTheTerminal) {
    EXPECT_EQ(shown("plain, \xC3\xA4, \xE2\x82\xAC, \xF0\x9F\x98\x80"),
              "plain, \xC3\xA4, \xE2\x82\xAC, \xF0\x9F\x98\x80");
    EXPECT_EQ(shown("\x1B[2J\x07\n\t\r\x7F"), "\\x1B[2J\\x07\\n\\t\\x0D\\x7F");
    EXPECT_EQ(shown("\xC2\x9B"
                    "2J"),
              "\\xC2\\x9B"
              "2J")
        << "C1";
    EXPECT_EQ(shown("\x9B\xFF\xC0\xAF\xED\xA0\x80\xE2\x82"), "\\x9B\\xFF\\xC0\\xAF\\xED\\xA0\\x80\\xE2\\x82")
        << "no UTF-8";
    EXPECT_EQ(shown("\xE2\x80\xAE"), "\\xE2\\x80\\xAE") << "turns the direction of what follows";
    EXPECT_EQ(shown(std::string(5000, 'x'), 400).size(), 403U);
}

TEST(ForeignText, OfAPeerThatGivesUpIsShownShortenedAndWithoutControlCharacters) {
    const std::string line = "--test throughput --transport shm --sizes 64 --duration 0.05 --warmup 0";
    const auto stop = Stop::watch();
    const auto listener = Listener::open("127.0.0.1", 0);
    Program subscriber{line + " --role sub --port " + std::to_string(listener->port())};
    auto control = listener->accept(plenty, *stop);
    ASSERT_TRUE(control);
    ASSERT_TRUE(control->expect(FrameKind::hello, plenty));
    ASSERT_TRUE(
        control->send({FrameKind::refused, {}, "\x1B]0;owned\x07\x1B[2J\xC2\x9B\xFF" + std::string(100'000, 'x')}));

    EXPECT_EQ(subscriber.wait(), 1);
    for (const std::string& text : {subscriber.err(), subscriber.out()}) {
        EXPECT_EQ(text.find('\x1B'), std::string::npos);
        EXPECT_EQ(text.find('\xFF'), std::string::npos);
        EXPECT_EQ(text.find('\xC2'), std::string::npos);
        EXPECT_NE(text.find("owned"), std::string::npos) << text;
        EXPECT_EQ(text.find(std::string(500, 'x')), std::string::npos);
    }
}

// ---- peers that never stop sending ----

/// Sends the same frame again and again, until the other side closes the connection.
class Flood {
public:
    Flood(Control& control, const Frame& frame) : thread_([&control, frame] { pour(control, frame); }) {}
    Flood(const Flood&) = delete;
    Flood& operator=(const Flood&) = delete;
    ~Flood() { thread_.join(); }

private:
    static void pour(Control& control, const Frame& frame) {
        while (control.send(frame, plenty)) continue;
    }

    std::thread thread_;
};

struct Flooded {
    const char* name;
    const char* options;
    Frame frame;
};

std::string name_of(const testing::TestParamInfo<Flooded>& tested) {
    return tested.param.name;
}

class FloodOfASubscriber : public testing::TestWithParam<Flooded> {};

TEST_P(FloodOfASubscriber, EndsTheRunWithAnErrorAndACompleteLog) {
    const std::string line = "--transport udp --sizes 64 --warmup 0 " + std::string{GetParam().options};
    const Fd target{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    const auto here = parse_address("127.0.0.1", 0);
    ASSERT_EQ(::bind(target.get(), here->get(), here->length()), 0);
    const int port = free_port();
    Program publisher{line + " --role pub --timeout 5 --port " + std::to_string(port)};
    const auto stop = Stop::watch();
    auto control = connect_control("127.0.0.1", port, plenty, *stop);
    ASSERT_TRUE(control);
    ASSERT_TRUE(greet_publisher(*control, agreement_of(line), plenty));
    ASSERT_TRUE(control->send({FrameKind::affinity, {}, " " + to_text(SideCpus{boot_identity(), {0}, {0}})}));
    if (line.find("one-way") != std::string::npos) {
        ASSERT_TRUE(control->send({FrameKind::clock, {}, clock_identity()}));
    }
    ASSERT_TRUE(control->expect(FrameKind::affinity, plenty));
    ASSERT_TRUE(control->expect(FrameKind::run, plenty));
    ASSERT_TRUE(control->expect(FrameKind::open, plenty));
    ASSERT_TRUE(control->send({FrameKind::open, {64}, IpEndpoint{local_address(target), 77}.text()}));
    ASSERT_TRUE(control->send({FrameKind::ready}));
    ASSERT_TRUE(control->send({FrameKind::facts}));
    ASSERT_TRUE(control->expect(FrameKind::ready, plenty));
    const Flood flood{*control, GetParam().frame};

    EXPECT_EQ(publisher.wait(), 1);
    EXPECT_NE(publisher.out().find("end status=failed"), std::string::npos) << publisher.out();
    EXPECT_NE(publisher.err().find("control channel: the peer"), std::string::npos) << publisher.err();
    EXPECT_LT(publisher.out().size(), 100'000U);
}

const Frame empty_histogram{FrameKind::histogram, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, ""};

INSTANTIATE_TEST_SUITE_P(
    Each, FloodOfASubscriber,
    testing::Values(
        Flooded{"alive_in_latency", "--test latency --duration 600", {FrameKind::alive}},
        Flooded{"alive_in_throughput", "--test throughput --duration 600", {FrameKind::alive}},
        Flooded{"alive_behind_a_phase", "--test throughput --duration 0.01", {FrameKind::alive}},
        Flooded{"alive_in_one_way", "--test latency --basis one-way --rate 100 --duration 600", {FrameKind::alive}},
        Flooded{"intervals", "--test throughput --duration 600", {FrameKind::interval, {0, 1, 0, 0}}},
        Flooded{"histograms", "--test latency --basis one-way --rate 100 --duration 0.1", empty_histogram},
        Flooded{"parts_of_a_histogram",
                "--test latency --basis one-way --rate 100 --duration 0.1",
                {FrameKind::histogram, {0}, "5:1,"}}),
    name_of);

/// Does the publisher's part of the handshake. Also opens the first case if `into_a_phase` is true.
void lead(Control& control, bool into_a_phase) {
    const auto hello = control.expect(FrameKind::hello, plenty);
    ASSERT_TRUE(hello);
    ASSERT_TRUE(control.send({FrameKind::hello, {protocol_version}, hello->text}));
    ASSERT_TRUE(control.expect(FrameKind::affinity, plenty));
    ASSERT_TRUE(control.send({FrameKind::affinity, {0, 0}}));
    ASSERT_TRUE(control.send({FrameKind::run, {1}}));
    if (!into_a_phase) return;
    ASSERT_TRUE(control.send({FrameKind::open, {64}, ""}));
    ASSERT_TRUE(control.expect(FrameKind::open, plenty));
    ASSERT_TRUE(control.send({FrameKind::ready}));
    ASSERT_TRUE(control.expect(FrameKind::ready, plenty));
}

class FloodOfAPublisher : public testing::TestWithParam<Flooded> {};

TEST_P(FloodOfAPublisher, EndsTheRunWithAnErrorAndACompleteLog) {
    const std::string line = "--transport udp --sizes 64 --warmup 0 " + std::string{GetParam().options};
    const auto stop = Stop::watch();
    const auto listener = Listener::open("127.0.0.1", 0);
    Program subscriber{line + " --role sub --timeout 5 --port " + std::to_string(listener->port())};
    auto control = listener->accept(plenty, *stop);
    ASSERT_TRUE(control);
    ASSERT_NO_FATAL_FAILURE(
        lead(*control, GetParam().frame.kind != FrameKind::alive || line.find("throughput") != std::string::npos));
    const Flood flood{*control, GetParam().frame};

    EXPECT_EQ(subscriber.wait(), 1);
    EXPECT_NE(subscriber.out().find("end status=failed"), std::string::npos) << subscriber.out();
    EXPECT_NE(subscriber.err().find("control channel: the peer"), std::string::npos) << subscriber.err();
}

INSTANTIATE_TEST_SUITE_P(
    Each, FloodOfAPublisher,
    testing::Values(Flooded{"alive_in_a_phase", "--test throughput --duration 600", {FrameKind::alive}},
                    Flooded{"alive_before_a_size", "--test latency --duration 600", {FrameKind::alive}},
                    Flooded{"ends_of_a_phase", "--test throughput --duration 600", {FrameKind::phase_end, {0}}}),
    name_of);

// Regression: each sign of life restarted the time limit. (The text of the error depends on how busy the machine is.)
TEST(SignsOfLife, WithoutOtherFramesEndTheRunAtTheTimeLimit) {
    const auto stop = Stop::watch();
    const auto listener = Listener::open("127.0.0.1", 0);
    Program subscriber{
        "--test throughput --transport udp --sizes 64 --warmup 0 --duration 0.05 --timeout 2 --role sub --port " +
        std::to_string(listener->port())};
    auto control = listener->accept(plenty, *stop);
    ASSERT_TRUE(control);
    ASSERT_NO_FATAL_FAILURE(lead(*control, true));

    while (control->send({FrameKind::alive})) Program::pause();

    EXPECT_EQ(subscriber.wait(), 1);
    EXPECT_NE(subscriber.out().find("end status=failed"), std::string::npos) << subscriber.out();
}

// ---- datagrams and descriptors of other programs ----

const Transport& transport_called(std::string_view name) {
    const auto all = all_transports();
    return **std::find_if(all.begin(), all.end(), [&](const Transport* one) { return one->name == name; });
}

Topic small_topic(Waiting waiting = Waiting::busy_poll) {
    Topic topic{"test-" + std::to_string(now_ns()), 64, "127.0.0.1"};
    topic.waiting = waiting;
    return topic;
}

std::string words_of(const testing::TestParamInfo<const char*>& tested) {
    std::string text{tested.param};
    std::replace(text.begin(), text.end(), '-', '_');
    return text;
}

/// Sends as many datagrams as fit into the smallest buffer of a socket.
void send_junk(const Subscriber& subscriber) {
    const std::string endpoint = subscriber.endpoint();
    const auto wan = parse_wan_endpoint(endpoint);
    const auto where = wan ? wan->own : parse_endpoint(endpoint).value_or(IpEndpoint{});
    ASSERT_NE(where.address.port(), 0) << endpoint;
    const Fd socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    ASSERT_EQ(::connect(socket.get(), where.address.get(), where.address.length()), 0);
    for (int count = 0; count < 200; ++count) ASSERT_EQ(::send(socket.get(), "junk", 4, 0), 4);
}

class DatagramsOfOthers : public testing::TestWithParam<const char*> {};

// Regression: the time limit was not checked as long as foreign datagrams arrived.
TEST_P(DatagramsOfOthers, DoNotPreventTheCheckOfTheTimeLimit) {
    const Topic topic = small_topic();
    auto subscriber = transport_called(GetParam()).subscribe(topic);
    ASSERT_TRUE(subscriber);
    auto publisher = transport_called(GetParam()).advertise(topic, {(*subscriber)->endpoint()});
    ASSERT_TRUE(publisher);
    ASSERT_NO_FATAL_FAILURE(expect_match(**publisher, **subscriber));
    ASSERT_NO_FATAL_FAILURE(send_junk(**subscriber));
    send(**publisher, 5, 64);

    {
        const auto first = (*subscriber)->take(Patience{0});
        ASSERT_TRUE(first);
        ASSERT_FALSE(*first) << "everything was taken at once";
    }
    expect(**subscriber, 5, 64);
    subscriber->reset();
}

INSTANTIATE_TEST_SUITE_P(Each, DatagramsOfOthers, testing::Values("udp", "udp-reliable", "udp-wan"), words_of);

class DatagramsBeforeAPublisher : public testing::TestWithParam<const char*> {};

TEST_P(DatagramsBeforeAPublisher, DoNotPreventTheCheckOfTheTimeLimit) {
    const Topic topic = small_topic();
    auto subscriber = transport_called(GetParam()).subscribe(topic);
    ASSERT_TRUE(subscriber);
    ASSERT_NO_FATAL_FAILURE(send_junk(**subscriber));
    auto publisher = transport_called(GetParam()).advertise(topic, {(*subscriber)->endpoint()});
    ASSERT_TRUE(publisher);

    const auto first = (*subscriber)->match(Patience{0});
    ASSERT_TRUE(first.has_value());
    ASSERT_EQ(*first, Done::not_yet) << "everything was taken at once";
    expect_match(**publisher, **subscriber);
    subscriber->reset();
}

INSTANTIATE_TEST_SUITE_P(Each, DatagramsBeforeAPublisher, testing::Values("udp-reliable", "udp-wan"), words_of);

// ---- streams that never deliver a complete message ----

Fd false_publisher(const Subscriber& subscriber, std::size_t max_bytes, bool knows_token) {
    Fd socket;
    StreamHello hello{hello_magic, 0, max_bytes};
    if (const auto where = parse_endpoint(subscriber.endpoint())) {
        if (knows_token) hello.token = where->token;
        socket = Fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        EXPECT_EQ(::connect(socket.get(), where->address.get(), where->address.length()), 0);
    } else {
        auto knocked = connect_to_local(subscriber.endpoint());
        EXPECT_TRUE(knocked) << knocked.error().text;
        socket = std::move(*knocked);
    }
    EXPECT_EQ(::send(socket.get(), &hello, sizeof hello, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof hello));
    return socket;
}

class StreamsWithoutACompleteMessage : public testing::TestWithParam<const char*> {};

// Regression: each byte restarted the time limit.
TEST_P(StreamsWithoutACompleteMessage, DoNotPreventTheCheckOfTheTimeLimit) {
    Topic topic = small_topic(Waiting::block);
    topic.max_bytes = 4096;
    auto subscriber = transport_called(GetParam()).subscribe(topic);
    ASSERT_TRUE(subscriber);
    const Fd publisher = false_publisher(**subscriber, topic.max_bytes, true);
    const auto joined = (*subscriber)->match(plenty);
    ASSERT_TRUE(is_done(joined));
    std::atomic<bool> is_over{false};
    std::thread dripping{[&] {
        std::string bytes(header_bytes + 1000, '\0');
        const StreamFrame frame{frame_magic, 1000};
        std::memcpy(bytes.data() + frame_at, &frame, sizeof frame);
        for (std::size_t at = 0; at < bytes.size() && !is_over; ++at) {
            ::send(publisher.get(), bytes.data() + at, 1, MSG_NOSIGNAL);
            sleep_until(now_ns() + 10'000'000);
        }
    }};
    {
        const auto first = (*subscriber)->take(Patience{500});
        is_over = true;
        EXPECT_TRUE(first);
        EXPECT_TRUE(first && !*first) << "it waited for the whole message";
    }
    dripping.join();
}

INSTANTIATE_TEST_SUITE_P(Each, StreamsWithoutACompleteMessage, testing::Values("tcp", "uds"), words_of);

// Regression: foreign connections were rejected one after another, and the time limit was not checked in between.
TEST(StrangersAtAStream, DoNotPreventTheCheckOfTheTimeLimit) {
    const Topic topic = small_topic();
    auto subscriber = transport_called("tcp").subscribe(topic);
    ASSERT_TRUE(subscriber);
    std::vector<Fd> strangers;
    for (int count = 0; count < 2; ++count)  // with more of them, the queue would be full
        strangers.push_back(false_publisher(**subscriber, topic.max_bytes, false));
    auto publisher = transport_called("tcp").advertise(topic, {(*subscriber)->endpoint()});
    ASSERT_TRUE(publisher);

    const auto first = (*subscriber)->match(Patience{0});
    ASSERT_TRUE(first.has_value());
    ASSERT_EQ(*first, Done::not_yet) << "all strangers were let in and out first";
    expect_match(**publisher, **subscriber);
}

TEST(SocketWaitForOthers, EndsAtTheTimeLimitEvenIfDataAlwaysArrives) {
    for (const auto waiting : {Waiting::busy_poll, Waiting::block, Waiting::spin_then_block}) {
        const Fd socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
        SocketWait wait{waiting, SocketWait::For::receiving};
        wait.begin(socket, Patience{20});
        const Nanoseconds start = now_ns();
        const Deadline guard{plenty};
        while (wait.goes_on() && !guard.passed()) continue;
        EXPECT_GE(now_ns() - start, to_nanoseconds(Patience{20}));
        EXPECT_FALSE(guard.passed());
    }
}

// Regression: the clock was read only after 64 datagrams. If one datagram arrives just before the end of each sleep,
// this can take a minute.
TEST(SocketWaitForOthers, ChecksTheClockAfterEachSleep) {
    const Fd socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    SocketWait wait{Waiting::block, SocketWait::For::receiving};
    wait.begin(socket, Patience{20});
    EXPECT_TRUE(wait.goes_on());
    sleep_until(now_ns() + to_nanoseconds(Patience{21}));
    EXPECT_FALSE(wait.goes_on());
}

TEST(Descriptors, AreRefusedAndClosedIfAMessageHasTwo) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    const Fd from{ends[0]};
    const Fd to{ends[1]};
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    const Fd reader{pipe[0]};
    Fd writer{pipe[1]};
    MemoryOffer offer{};
    iovec part{&offer, sizeof offer};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* attached = CMSG_FIRSTHDR(&header);
    attached->cmsg_level = SOL_SOCKET;
    attached->cmsg_type = SCM_RIGHTS;
    attached->cmsg_len = CMSG_LEN(2 * sizeof(int));
    const std::array<int, 2> sent{writer.get(), writer.get()};
    std::memcpy(CMSG_DATA(attached), sent.data(), sizeof sent);
    ASSERT_GT(::sendmsg(from.get(), &header, MSG_NOSIGNAL), 0);

    EXPECT_FALSE(receive_descriptor(to, offer));
    writer = Fd{};
    EXPECT_TRUE(readable(reader, Deadline{Patience{0}})) << "a copy of the pipe's end is still open";
}

/// The processor time so far of this process, or of its children.
double seconds_of(int whose) {
    rusage usage{};
    ::getrusage(whose, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// A process that waits for a free descriptor must not use the CPU in the meantime.
TEST(WithoutDescriptors, APublisherWaitsForSubscribers) {
    const int port = free_port();
    const auto few = [] {
        const rlimit limit{14, 14};
        return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
    };
    Program publisher{"--test latency --transport shm --sizes 64 --role pub --timeout 3 --port " + std::to_string(port),
                      PERFTEST, few};
    const auto where = parse_address("127.0.0.1", static_cast<std::uint16_t>(port));
    std::vector<Fd> strangers;
    for (const Deadline deadline{plenty}; strangers.size() < 30 && !publisher.has_ended() && !deadline.passed();) {
        Fd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        if (::connect(socket.get(), where->get(), where->length()) == 0) {
            strangers.push_back(std::move(socket));
        } else {
            Program::pause();
        }
    }
    const double before_s = seconds_of(RUSAGE_CHILDREN);
    EXPECT_EQ(publisher.wait(), 1) << publisher.err();
    EXPECT_LT(seconds_of(RUSAGE_CHILDREN) - before_s, 1.0) << "of 3 s of waiting";
}

TEST(WithoutDescriptors, ALocalSubscriberWaitsForItsPublisher) {
    const auto all = all_transports();
    const auto uds = std::find_if(all.begin(), all.end(), [](const Transport* one) { return one->name == "uds"; });
    const Topic topic{"test-" + std::to_string(now_ns()), 64, "127.0.0.1"};
    auto subscriber = (*uds)->subscribe(topic);
    ASSERT_TRUE(subscriber);
    const auto endpoint = parse_local_endpoint((*subscriber)->endpoint());
    ASSERT_TRUE(endpoint);
    rlimit usual{};
    ::getrlimit(RLIMIT_NOFILE, &usual);
    auto stranger = connect_locally(endpoint->name);  // the connection may be accepted at once, or wait
    ASSERT_TRUE(stranger);
    const Fd next{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const rlimit none{static_cast<rlim_t>(next.get()), usual.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const AbstractAddress address{endpoint->name};
    const int connected = ::connect(next.get(), address.get(), address.length);
    const double before_s = seconds_of(RUSAGE_SELF);
    sleep_until(now_ns() + 1'000'000'000);
    const double used_s = seconds_of(RUSAGE_SELF) - before_s;
    ::setrlimit(RLIMIT_NOFILE, &usual);

    EXPECT_EQ(connected, 0);
    EXPECT_LT(used_s, 0.3) << "of 1 s of waiting";
}

}  // namespace
}  // namespace tacholog
