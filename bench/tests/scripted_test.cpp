// Tests of the counts and times that the rig reports for events that a network or a host causes only rarely.
#include <ctime>
#include <future>
#include <thread>

#include "control/frames.hpp"
#include "rig/intake.hpp"
#include "rig/pacer.hpp"
#include "rig/writer.hpp"
#include "tests/patience.hpp"
#include "tests/scripted.hpp"

namespace tacholog {
namespace {

constexpr std::size_t bytes_each = 64;
constexpr Nanoseconds millisecond = 1'000'000;

Bytes message(std::uint64_t number) {
    Bytes bytes(bytes_each);
    write_message(bytes, number, {});
    return bytes;
}

void stand_still(Nanoseconds time_ns) {
    const timespec time{time_ns / nanoseconds_per_second, time_ns % nanoseconds_per_second};
    ::nanosleep(&time, nullptr);
}

/// A thousand messages a second, so that each millisecond has one message.
constexpr double rate_per_s = 1000;

bool goes_on(const LatencyRecord&) {
    return false;
}

// ---- an open loop and its answers ----

TEST(ScriptedPacer, AnAnswerOfThePreviousPhaseIsNotADuplicate) {
    ScriptedSide scripted;
    std::deque<Bytes> answers;
    std::vector<Bytes> sent;
    auto publisher = std::make_unique<ScriptedPublisher>([&](const Bytes& bytes) {
        sent.push_back(bytes);
        answers.push_back(bytes);
        return true;
    });
    auto subscriber = std::make_unique<ScriptedSubscriber>([&] { return pop(answers); });
    Pacer pacer{scripted.side, {std::move(publisher), std::move(subscriber)}, bytes_each, rate_per_s};

    ASSERT_TRUE(pacer.phase(rate_per_s, 5 * millisecond, nanoseconds_per_second, false, goes_on));
    answers.assign(sent.begin(), sent.end());  // all answers again, after the phase
    ASSERT_TRUE(pacer.phase(rate_per_s, 5 * millisecond, nanoseconds_per_second, false, goes_on));

    EXPECT_GT(pacer.sent(), 0U);
    EXPECT_EQ(pacer.answered(), pacer.sent());
    EXPECT_EQ(pacer.faults().duplicated, 0U);
}

// The publisher's process was stopped for longer than it waits for answers. The answers have arrived meanwhile.
TEST(ScriptedPacer, AnAnswerThatArrivedWhileThePublisherWasStoppedIsNotLost) {
    ScriptedSide scripted;
    std::deque<Bytes> answers;
    auto publisher = std::make_unique<ScriptedPublisher>([&](const Bytes& bytes) {
        answers.push_back(bytes);
        return true;
    });
    int looks = 0;
    auto subscriber = std::make_unique<ScriptedSubscriber>([&]() -> Bytes {
        if (++looks > 2) return pop(answers);
        if (looks == 2) stand_still(1'200 * millisecond);
        return {};
    });
    Pacer pacer{scripted.side, {std::move(publisher), std::move(subscriber)}, bytes_each, rate_per_s};

    ASSERT_TRUE(pacer.phase(rate_per_s, millisecond, nanoseconds_per_second, false, goes_on));

    EXPECT_EQ(pacer.sent(), 1U);
    EXPECT_EQ(pacer.faults().lost, 0U);
}

TEST(ScriptedPacer, AMessageThatWasNotSentDoesNotCountAsDelayed) {
    ScriptedSide scripted;
    auto publisher = std::make_unique<ScriptedPublisher>([](const Bytes&) { return false; });
    auto subscriber = std::make_unique<ScriptedSubscriber>([] { return Bytes{}; });
    Pacer pacer{scripted.side, {std::move(publisher), std::move(subscriber)}, bytes_each, rate_per_s};

    ASSERT_TRUE(pacer.phase(rate_per_s, 5 * millisecond, nanoseconds_per_second, false, goes_on));

    EXPECT_EQ(pacer.sent(), 0U);
    EXPECT_EQ(pacer.held_back(), 0U);
    EXPECT_FALSE(pacer.took_all_at_once());
}

// A broker may confirm a message after the answer has arrived. Regression: such an answer was ignored, and the message
// counted as lost.
TEST(ScriptedPacer, AnAnswerThatArrivesBeforeTheTransportConfirmsTheMessageIsCounted) {
    ScriptedSide scripted;
    std::deque<Bytes> answers;
    bool is_under_way = false;
    auto publisher = std::make_unique<ScriptedPublisher>([&](const Bytes& bytes) {
        if (!is_under_way) answers.push_back(bytes);
        is_under_way = !is_under_way;
        return !is_under_way;
    });
    auto subscriber = std::make_unique<ScriptedSubscriber>([&] { return pop(answers); });
    Pacer pacer{scripted.side, {std::move(publisher), std::move(subscriber)}, bytes_each, rate_per_s};

    ASSERT_TRUE(pacer.phase(rate_per_s, 5 * millisecond, nanoseconds_per_second, false, goes_on));

    EXPECT_EQ(pacer.sent(), 5U);
    EXPECT_EQ(pacer.answered(), 5U);
    EXPECT_EQ(pacer.held_back(), 5U);
    EXPECT_EQ(pacer.faults().lost + pacer.faults().duplicated, 0U);
}

// A message that the transport did not accept within the phase may still be sent in the next phase.
TEST(ScriptedPacer, AMessageThatTheTransportRefusedIsNotCountedInTheNextPhase) {
    ScriptedSide scripted;
    std::deque<Bytes> answers;
    std::optional<Bytes> refused;
    bool refuses = true;
    auto publisher = std::make_unique<ScriptedPublisher>([&](const Bytes& bytes) {
        if (refuses) refused = bytes;
        if (!refuses) answers.push_back(bytes);
        return !refuses;
    });
    auto subscriber = std::make_unique<ScriptedSubscriber>([&] { return pop(answers); });
    Pacer pacer{scripted.side, {std::move(publisher), std::move(subscriber)}, bytes_each, rate_per_s};

    ASSERT_TRUE(pacer.phase(rate_per_s, millisecond, nanoseconds_per_second, false, goes_on));
    ASSERT_TRUE(refused);
    EXPECT_FALSE(pacer.took_all_at_once());
    refuses = false;
    answers.push_back(*refused);
    ASSERT_TRUE(pacer.phase(rate_per_s, 5 * millisecond, nanoseconds_per_second, false, goes_on));

    EXPECT_EQ(pacer.sent(), 5U);
    EXPECT_EQ(pacer.answered(), 5U);
    EXPECT_EQ(pacer.faults().duplicated, 0U);
}

// ---- the messages that a subscriber takes ----

Result<void> to_nobody(std::uint64_t) {
    return {};
}

TEST(ScriptedIntake, LastsFromTheFirstToTheLastCountedMessage) {
    std::deque<Bytes> coming;
    Intake intake{std::make_unique<ScriptedSubscriber>([&] { return pop(coming); }), Sequence{0}};
    const auto read = [](std::span<const std::byte> bytes) { return read_message(bytes, Handling{}); };
    intake.next_first = 10;
    intake.begin_phase();
    const auto take = [&](std::uint64_t number) {
        coming.push_back(message(number));
        stand_still(millisecond);
        ASSERT_TRUE(is_done(intake.take(64, Patience{0}, read, to_nobody)));
    };

    take(9);  // belongs to the previous phase
    EXPECT_EQ(intake.first_ns, 0);
    take(10);
    const Nanoseconds first_ns = intake.first_ns;
    EXPECT_GT(first_ns, 0);
    take(12);
    take(11);  // this message is late, but it counts
    const Nanoseconds last_ns = intake.last_ns;
    EXPECT_GE(last_ns, first_ns + 2 * millisecond);
    take(12);  // a duplicate
    take(9);

    EXPECT_EQ(intake.sequence.received(), 3U);
    EXPECT_EQ(intake.sequence.duplicated(), 1U);
    EXPECT_EQ(intake.first_ns, first_ns);
    EXPECT_EQ(intake.last_ns, last_ns);
}

// ---- the messages that a publisher sends ----

/// Sends the burst in batches of `batch_messages`. Then the burst's pause follows.
void send_burst_and_rest(std::size_t batch_messages, Nanoseconds& first_pulse_ns, Nanoseconds& second_pulse_ns,
                         Sent& sent) {
    Options options;
    options.test = Test::demand;
    options.batch_bytes = batch_messages * bytes_each;
    ScriptedSide scripted{options};
    const Case measured{bytes_each, Demand{10, 60 * nanoseconds_per_second}};
    Writer writer{scripted.side, std::make_unique<ScriptedPublisher>([](const Bytes&) { return true; }), nullptr,
                  measured};
    const auto pulse = [&](std::uint64_t messages, Nanoseconds) -> Result<bool> {
        if (messages < 10) return false;
        if (first_pulse_ns == 0) {
            first_pulse_ns = now_ns();
            return false;
        }
        second_pulse_ns = now_ns();
        return true;
    };
    const auto done = writer.stream(60 * nanoseconds_per_second, pulse, [] { return Result<void>{}; });
    ASSERT_TRUE(done);
    sent = *done;
}

// Regression: with batches, the pause after the last burst counted as sending time, which halved the rate.
TEST(ScriptedWriter, ThePauseAfterTheLastBurstIsNotSendingTime) {
    for (const std::size_t batch_messages : {1, 5, 64}) {
        Nanoseconds first_pulse_ns = 0;
        Nanoseconds second_pulse_ns = 0;
        Sent sent;
        send_burst_and_rest(batch_messages, first_pulse_ns, second_pulse_ns, sent);

        EXPECT_EQ(sent.messages, 10U);
        EXPECT_GT(second_pulse_ns, first_pulse_ns);
        EXPECT_LE(sent.last_ns, first_pulse_ns) << batch_messages;
    }
}

TEST(ScriptedWriter, SendsIncompleteBatchesBeforeTheEnd) {
    Options options;
    options.test = tacholog::Test::throughput;
    options.rate_per_s = rate_per_s;
    options.batch_bytes = 1000 * bytes_each;
    ScriptedSide scripted{options};
    std::uint64_t taken = 0;
    std::uint64_t flushed = 0;
    auto publisher = std::make_unique<ScriptedPublisher>(
        [&](const Bytes&) {
            ++taken;
            return true;
        },
        [&] { flushed = taken; });
    Writer writer{scripted.side, std::move(publisher), nullptr, Case{bytes_each, std::nullopt}};
    const auto pulse = [&](std::uint64_t messages, Nanoseconds) -> Result<bool> {
        EXPECT_EQ(flushed, messages);
        return messages > 0;
    };

    ASSERT_TRUE(writer.stream(60 * nanoseconds_per_second, pulse, [] { return Result<void>{}; }));
    EXPECT_GT(flushed, 0U);
}

// The publisher is stopped in the middle of a phase, and continues after the end of the phase. The messages that were
// due meanwhile are never sent. The rate is computed up to the last sent message, so it is still the requested rate.
TEST(ScriptedWriter, FallsShortOfItsRateIfTheLastMessagesWereNotSent) {
    constexpr double duration_s = 5;
    const auto sent_for = [](Nanoseconds time_ns) {
        Sent sent;
        sent.messages = 1 + static_cast<std::uint64_t>(time_ns / millisecond);
        sent.first_ns = 1;
        sent.last_ns = 1 + time_ns;
        return sent;
    };

    EXPECT_TRUE(sent_for(2'500 * millisecond).falls_short_of(rate_per_s, duration_s));
    EXPECT_EQ(sent_for(2'500 * millisecond).rate_per_s(), rate_per_s);
    EXPECT_TRUE(sent_for(4'990 * millisecond).falls_short_of(rate_per_s, duration_s));
    EXPECT_FALSE(sent_for(4'999 * millisecond).falls_short_of(rate_per_s, duration_s));
    EXPECT_TRUE(sent_for(4'999 * millisecond).falls_short_of(1.002 * rate_per_s, duration_s));
}

// ---- one of several subscribers takes longer than the others ----

/// A publisher's channels to two subscribers, whose ends are controlled by the test.
struct TwoSubscribers {
    TwoSubscribers() {
        for (const char* name : {"sub1", "sub2"}) {
            std::array<int, 2> ends{};
            EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
            channels.emplace_back(Fd{ends[0]}, *stop).call_peer(name);
            theirs.emplace_back(Fd{ends[1]}, *stop);
        }
    }

    Result<Stop> stop = Stop::watch();
    std::vector<Control> channels;
    std::vector<Control> theirs;
};

/// Calls `before_counts` before the counts of the last phase.
template <typename Before>
void play_subscriber(Control& control, const Case& measured, Before&& before_counts) {
    ASSERT_TRUE(control.expect(FrameKind::open, plenty));
    ASSERT_TRUE(control.send(frame_of(OpenFrame{measured, "here"})));
    ASSERT_TRUE(control.send({FrameKind::ready}));
    ASSERT_TRUE(control.send({FrameKind::facts}));
    ASSERT_TRUE(control.expect(FrameKind::ready, plenty));
    for (const bool is_last : {false, true}) {
        auto frame = control.receive(plenty);
        while (frame && frame->kind == FrameKind::alive) frame = control.receive(plenty);
        ASSERT_TRUE(frame);
        if (is_last) before_counts();
        ASSERT_TRUE(control.send(frame_of(PhaseDoneFrame{.received = is_last ? 1U : 0U})));  // there is no warm-up
    }
}

// The second subscriber was stopped, or has many messages to take. Regression: the first subscriber then reached its
// time limit, and the run failed.
TEST(ScriptedSeveral, AFinishedSubscriberIsToldThatThePublisherWaitsForAnotherSubscriber) {
    Options options;
    options.test = tacholog::Test::throughput;
    options.audience.subscribers = 2;
    options.warmup_s = 0;
    options.duration_s = 0.01;
    options.timeout_s = 0.2;
    ScriptedSide scripted{options};
    TwoSubscribers two;
    Transport transport = scripted.side.transport;
    transport.advertise = [](const Topic&, const Endpoints&) {
        return Result<std::unique_ptr<Publisher>>{
            std::make_unique<ScriptedPublisher>([](const Bytes&) { return true; })};
    };
    Monitor monitor{two.channels, Placement{}, limit_of(options)};
    const Side side{.options = scripted.options,
                    .transport = transport,
                    .control = two.channels.front(),
                    .log = nullptr,
                    .subscribers = two.channels,
                    .monitor = &monitor};
    const Case measured{bytes_each, std::nullopt};
    std::promise<bool> heard;
    std::thread first{[&] {
        play_subscriber(two.theirs[0], measured, [] {});
        const auto frame = two.theirs[0].receive(plenty);
        heard.set_value(frame && frame->kind == FrameKind::alive);
    }};
    std::thread second{
        [&] { play_subscriber(two.theirs[1], measured, [&] { EXPECT_TRUE(heard.get_future().get()); }); }};

    const auto arrived = run_throughput_publisher(side, measured);
    two.channels.clear();
    first.join();
    second.join();

    ASSERT_TRUE(arrived) << arrived.error().text;
    EXPECT_EQ(*arrived, 2U);
}

TEST(ScriptedSeveral, AFinishedSubscriberWaitsIfThePublisherTellsItToWait) {
    ScriptedSide scripted;
    TwoSubscribers two;
    const Side side{.options = scripted.options,
                    .transport = scripted.side.transport,
                    .control = two.channels.front(),
                    .log = nullptr};
    ASSERT_TRUE(two.theirs[0].send(frame_of(PlacementFrame{})));
    for (const Frame& frame : {frame_of(RunFrame{1, ""}), Frame{FrameKind::alive}, Frame{FrameKind::bye}})
        ASSERT_TRUE(two.theirs[0].send(frame));

    const auto done = run_subscriber(side);

    EXPECT_TRUE(done) << done.error().text;
}

}  // namespace
}  // namespace tacholog
