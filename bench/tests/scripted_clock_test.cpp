// Compares the figures of the latency tests with the behaviour that the test gives to the transport. The test also
// moves the clock. mock_test.cpp tests the same with the whole program, but needs a quiet machine.
#include <dlfcn.h>

#include <algorithm>
#include <ctime>
#include <sstream>
#include <thread>

#include "control/frames.hpp"
#include "rig/open_loop.hpp"
#include "tests/messages.hpp"
#include "tests/program.hpp"
#include "tests/reported.hpp"
#include "tests/scripted.hpp"
#include "transports/injection.hpp"

namespace tacholog {
namespace {

constexpr Nanoseconds microsecond = 1000;
constexpr Nanoseconds millisecond = 1'000'000;

/// The time of this thread, if the test controls it. Each reading advances it a little.
thread_local Nanoseconds scripted_ns = 0;

}  // namespace
}  // namespace tacholog

// Replaces the function of the C library.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
    using namespace tacholog;
    if (clock == CLOCK_MONOTONIC && scripted_ns > 0) {
        scripted_ns += microsecond;
        *time = {scripted_ns / nanoseconds_per_second, scripted_ns % nanoseconds_per_second};
        return 0;
    }
    using Function = int (*)(clockid_t, timespec*);
    static const auto original = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "clock_gettime"));
    return original(clock, time);
}

namespace tacholog {
namespace {

/// The faults on the way to the subscriber, which answers each message at once.
struct Road {
    Nanoseconds hold_ns = 0;
    Stall stall{};       ///< no answers arrive in this time
    Stall send_stall{};  ///< the transport accepts no messages in this time
    std::uint64_t lose = 0;

    Nanoseconds start_ns = scripted_ns;
    std::uint64_t count = 0;
    std::deque<std::pair<Nanoseconds, Bytes>> under_way{};
};

class OwnClock {
public:
    OwnClock() { scripted_ns = nanoseconds_per_second; }
    OwnClock(const OwnClock&) = delete;
    OwnClock& operator=(const OwnClock&) = delete;
    ~OwnClock() { scripted_ns = 0; }
};

Road* road = nullptr;

class Answers final : public Subscriber {
public:
    std::string endpoint() const override { return "here"; }
    Result<Done> match(Patience) override { return Done::yes; }

private:
    Result<std::span<const std::byte>> receive(Patience patience) override {
        const Nanoseconds until_ns = scripted_ns + to_nanoseconds(patience);
        while (road->under_way.empty() || road->under_way.front().first > scripted_ns ||
               road->stall.covers(scripted_ns - road->start_ns)) {
            if (scripted_ns >= until_ns) return std::span<const std::byte>{};
            scripted_ns += std::min(10 * microsecond, until_ns - scripted_ns);
        }
        buffer_ = std::move(road->under_way.front().second);
        road->under_way.pop_front();
        return std::span<const std::byte>{buffer_};
    }
    void release() noexcept override {}

    Bytes buffer_;
};

bool take(const Bytes& message) {
    if (road->send_stall.covers(scripted_ns - road->start_ns)) return false;
    ++road->count;
    if (road->lose == 0 || road->count % road->lose != 0)
        road->under_way.emplace_back(scripted_ns + road->hold_ns, message);
    return true;
}

/// Runs the publisher of a latency test for this many seconds, over a lossy transport with these faults. Returns its
/// log.
std::string log_of(Road&& given, double duration_s, std::optional<double> rate_per_s = std::nullopt) {
    const OwnClock clock;
    given.start_ns = scripted_ns;
    road = &given;
    Options options;
    options.warmup_s = 0;
    options.duration_s = duration_s;
    options.rate_per_s = rate_per_s;
    options.timeout_s = 120;
    ScriptedSide scripted{options};
    Transport transport = scripted.side.transport;
    transport.subscribe = [](const Topic&) { return Result<std::unique_ptr<Subscriber>>{std::make_unique<Answers>()}; };
    transport.advertise = [](const Topic&, const Endpoints&) {
        return Result<std::unique_ptr<Publisher>>{std::make_unique<ScriptedPublisher>(take)};
    };

    std::ostringstream text;
    Log log{"text", text};

    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    const auto stop = Stop::watch();
    std::vector<Control> subscribers;
    subscribers.emplace_back(Fd{ends[0]}, *stop);
    const Case measured{64, std::nullopt};
    std::thread peer{[&, control = Control{Fd{ends[1]}, *stop}]() mutable {
        EXPECT_TRUE(control.expect(FrameKind::open, plenty));
        EXPECT_TRUE(control.send(frame_of(OpenFrame{measured, "there"})));
        EXPECT_TRUE(control.send({FrameKind::ready}));
        EXPECT_TRUE(control.send({FrameKind::facts}));
        EXPECT_TRUE(control.expect(FrameKind::ready, plenty));
        auto frame = control.receive(plenty);
        while (frame && frame->kind == FrameKind::alive) frame = control.receive(plenty);
        EXPECT_TRUE(frame && frame->kind == FrameKind::size_end);
        EXPECT_TRUE(control.send({FrameKind::size_end}));
    }};
    Monitor monitor{subscribers, Placement{}, limit_of(scripted.options)};
    const Side side{.options = scripted.options,
                    .transport = transport,
                    .control = subscribers.front(),
                    .log = &log,
                    .subscribers = subscribers,
                    .monitor = &monitor};
    const auto done = rate_per_s ? run_open_loop_publisher(side, measured) : run_latency_publisher(side, measured);
    EXPECT_TRUE(done) << done.error().text;
    subscribers.clear();
    peer.join();
    return text.str();
}

std::uint64_t latency(const std::string& log, const std::string& key) {
    return number(log, "latency", key);
}
std::uint64_t sending(const std::string& log, const std::string& key) {
    return number(log, "sending", key);
}

// ---- a closed loop ----

TEST(ScriptedClock, EachRoundTripIncludesTheDelayOfTheTransport) {
    const auto log = log_of({.hold_ns = 5 * millisecond}, 1);

    EXPECT_GE(latency(log, "min_ns"), 5'000'000U) << log;
    EXPECT_LE(latency(log, "max_ns"), 5'100'000U) << log;
    EXPECT_GE(latency(log, "samples"), 195U) << log;
    EXPECT_EQ(latency(log, "late") + latency(log, "lost"), 0U) << log;
}

TEST(ScriptedClock, AClosedLoopNotesThatMessagesDelayedByAStallAreNotMeasured) {
    const auto log = log_of({.hold_ns = 10 * microsecond, .stall = {100 * millisecond, nanoseconds_per_second}}, 1);

    EXPECT_NE(log.find("coordinated omission: 64 bytes: "), std::string::npos) << log;
    EXPECT_GE(latency(log, "max_ns"), 99'000'000U) << log;
    EXPECT_LE(latency(log, "max_ns"), 101'000'000U) << log;
    EXPECT_LE(latency(log, "p99_ns"), 100'000U) << log;
}

// The limit is 200 ms, so the publisher stops waiting for each message and sends the next one. The late answer arrives
// before the answer to that next message.
TEST(ScriptedClock, LateAnswersAreSamplesAndNotLost) {
    const auto log = log_of({.hold_ns = 250 * millisecond}, 1);

    EXPECT_EQ(value(log, "latency", "answer_limit_ns"), "200000000");
    EXPECT_EQ(latency(log, "samples"), 5U) << log;
    EXPECT_EQ(latency(log, "late"), 5U) << log;
    EXPECT_EQ(latency(log, "lost") + latency(log, "duplicated"), 0U) << log;
    EXPECT_GE(latency(log, "min_ns"), 250'000'000U) << log;
    EXPECT_LE(latency(log, "max_ns"), 261'000'000U) << log;  // the publisher looks for answers every 10 ms
}

TEST(ScriptedClock, MissingAnswersAreLost) {
    const auto log = log_of({.hold_ns = millisecond, .lose = 10}, 1);

    const auto samples = latency(log, "samples");
    const auto lost = latency(log, "lost");
    EXPECT_GT(lost, 0U) << log;
    EXPECT_EQ(lost, (samples + lost) / 10) << log;
    EXPECT_EQ(latency(log, "late"), 0U) << log;
    EXPECT_LE(latency(log, "max_ns"), 1'100'000U) << log;
}

// ---- an open loop of a thousand messages a second ----

TEST(ScriptedClock, AnOpenLoopMeasuresTheWholeStall) {
    const auto log = log_of({.stall = {100 * millisecond, nanoseconds_per_second}}, 2, 1000);

    EXPECT_EQ(sending(log, "sent"), 2000U) << log;
    EXPECT_EQ(latency(log, "samples"), 2000U) << log;
    // A tenth of the messages become due during a stall. They wait until it ends, between 0 and 100 ms.
    EXPECT_GE(latency(log, "p99_ns"), 89'000'000U) << log;
    EXPECT_LE(latency(log, "p99_ns"), 91'000'000U) << log;
    EXPECT_LE(latency(log, "p90_ns"), 1'000'000U) << log;
    EXPECT_GE(sending(log, "from_send_p99_ns"), 89'000'000U) << log;
    EXPECT_LE(sending(log, "lateness_p99_ns"), 100'000U) << log;
    EXPECT_EQ(log.find("generator limited"), std::string::npos) << log;
}

TEST(ScriptedClock, AStallOfTheSenderIsInLatenessAndLatencyButNotInTheTimeSinceSending) {
    const auto log = log_of({.send_stall = {100 * millisecond, nanoseconds_per_second}}, 2, 1000);

    EXPECT_EQ(sending(log, "sent"), 2000U) << log;
    EXPECT_GE(latency(log, "p99_ns"), 88'000'000U) << log;
    EXPECT_LE(latency(log, "p99_ns"), 91'000'000U) << log;
    EXPECT_GE(sending(log, "lateness_p99_ns"), 88'000'000U) << log;
    EXPECT_LE(sending(log, "from_send_p99_ns"), 100'000U) << log;
    EXPECT_NE(log.find("generator limited: 64 bytes: the 99th percentile of lateness"), std::string::npos) << log;
}

// After three quarters of the time, the transport accepts nothing until the schedule is over.
TEST(ScriptedClock, AnUnfinishedScheduleIsNoted) {
    const auto log = log_of({.send_stall = {3 * nanoseconds_per_second, 6 * nanoseconds_per_second}}, 2, 1000);

    EXPECT_EQ(sending(log, "planned"), 2000U) << log;
    EXPECT_GE(sending(log, "sent"), 1498U) << log;
    EXPECT_LE(sending(log, "sent"), 1501U) << log;
    EXPECT_EQ(latency(log, "lost"), 0U) << log;
    EXPECT_NE(log.find("generator limited: 64 bytes: less than 99.9 % of the rate asked for was sent"),
              std::string::npos)
        << log;
}

}  // namespace
}  // namespace tacholog
