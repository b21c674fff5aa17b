// The frames of the control channel must be read exactly as they were written.
#include "control/frames.hpp"

#include <gtest/gtest.h>

namespace tacholog {
namespace {

TEST(Frames, AHelloHasVersionPlaceSecretAndAgreement) {
    const Frame frame = frame_of(HelloFrame{.place = 2, .secret = 99, .agreement = "--test=latency"});
    const auto hello = read_frame<HelloFrame>(frame);

    EXPECT_EQ(frame.kind, FrameKind::hello);
    EXPECT_EQ(frame.numbers, (std::vector<std::uint64_t>{protocol_version, 2, 99}));
    EXPECT_EQ(hello.version, protocol_version);
    EXPECT_EQ(hello.place, 2U);
    EXPECT_EQ(hello.secret, 99U);
    EXPECT_EQ(hello.agreement, "--test=latency");
}

TEST(Frames, APlacementStatesLiveReportingAndSharedCpus) {
    const auto placement = read_frame<PlacementFrame>(frame_of(PlacementFrame{true, false, "3,4"}));

    EXPECT_TRUE(placement.live);
    EXPECT_FALSE(placement.shared);
    EXPECT_EQ(placement.reporting_cpus, "3,4");
    EXPECT_TRUE(read_frame<PlacementFrame>(frame_of(PlacementFrame{false, true, ""})).shared);
}

TEST(Frames, APlacementStatesWhatTheCpusOfBothSidesShare) {
    const MeasuringCpus cpus{CpuRelation::two_nodes, 0, 1, -1, 123'456};
    const auto told = read_frame<PlacementFrame>(frame_of(PlacementFrame{true, false, "3", cpus})).cpus;

    EXPECT_EQ(told.relation, CpuRelation::two_nodes);
    EXPECT_EQ(told.cache_level, 0);
    EXPECT_EQ(told.publisher_node, 1);
    EXPECT_EQ(told.subscriber_node, -1);
    EXPECT_EQ(told.cache_line_ps, 123'456);
    EXPECT_EQ(to_text(read_frame<PlacementFrame>({FrameKind::affinity, {1, 0, 200}}).cpus.relation), "unknown");
}

TEST(Frames, ARunHasANumberAndTheAddressOfACompanion) {
    const auto run = read_frame<RunFrame>(frame_of(RunFrame{0xFEDCBA9876543210, "127.0.0.1:1883"}));

    EXPECT_EQ(run.number, 0xFEDCBA9876543210);
    EXPECT_EQ(run.companion, "127.0.0.1:1883");
}

TEST(Frames, FactsAreSentAsText) {
    const auto facts = parse_facts(to_text(Facts{{"library", "a=b c"}, {"note", "two\nlines"}}));

    ASSERT_TRUE(facts) << facts.error().text;
    ASSERT_EQ(facts->size(), 2U);
    EXPECT_EQ((*facts)[0].value, "a=b c");
    EXPECT_EQ((*facts)[1].value, "two lines");
    EXPECT_TRUE(parse_facts("")->empty());
}

TEST(Frames, TextThatIsNotAFactIsRefused) {
    for (const char* text : {"library\n", "=x\n", "Library=x\n", "role=pub\n", "participant=x\n", "a b=c\n",
                             "a=1\na=2\n", "1a=x\n", "a-b=x\n"})
        EXPECT_FALSE(parse_facts(text)) << text;
    std::string many;
    for (int at = 0; at < 65; ++at) many += "key" + std::to_string(at) + "=x\n";
    EXPECT_FALSE(parse_facts(many));
}

TEST(Frames, AnOpenFrameHasTheCaseAndTheEndpoint) {
    const Case burst{4096, Demand{100, 5'000'000}};
    const Case plain{64, std::nullopt};

    EXPECT_EQ(read_frame<OpenFrame>(frame_of(OpenFrame{burst, ""})).measured, burst);
    EXPECT_EQ(read_frame<OpenFrame>(frame_of(OpenFrame{plain, "10.0.0.1:5/6"})).measured, plain);
    EXPECT_EQ(read_frame<OpenFrame>(frame_of(OpenFrame{plain, "10.0.0.1:5/6"})).endpoint, "10.0.0.1:5/6");
}

TEST(Frames, AnIntervalHasItsCountsOfReceivedAndLostMessages) {
    const auto interval = read_frame<IntervalFrame>(frame_of(IntervalFrame{7, 1'000'000, 500, 3}));

    EXPECT_EQ(interval.index, 7U);
    EXPECT_EQ(interval.duration_ns, 1'000'000);
    EXPECT_EQ(interval.received, 500U);
    EXPECT_EQ(interval.lost, 3U);
}

TEST(Frames, APhaseEndHasANumberForEachPublisher) {
    EXPECT_EQ(read_frame<PhaseEndFrame>(frame_of(PhaseEndFrame{{10, 20}})).ends, (std::vector<std::uint64_t>{10, 20}));
}

TEST(Frames, EachCountOfAPhaseArrivesUnderItsName) {
    const auto counts = read_frame<PhaseDoneFrame>(frame_of(PhaseDoneFrame{1, 2, 3, 4, 5, 6, 7, 8}));

    EXPECT_EQ(counts.received, 1U);
    EXPECT_EQ(counts.lost, 2U);
    EXPECT_EQ(counts.duplicated, 3U);
    EXPECT_EQ(counts.reordered, 4U);
    EXPECT_EQ(counts.corrupted, 5U);
    EXPECT_EQ(counts.duration_ns, 6);
    EXPECT_EQ(counts.instances_heard, 7U);
    EXPECT_EQ(counts.early, 8U);
}

TEST(Frames, SumsOfAHistogramBeyond64BitsArriveUnchanged) {
    constexpr Wide sum = static_cast<Wide>(5) << 64 | 6;
    constexpr Wide squares = static_cast<Wide>(7) << 64 | 8;
    const auto part =
        read_frame<HistogramFrame>(frame_of(HistogramFrame{true, 42, {1, 2, 3, 4, sum, squares}, "10:1,"}));

    EXPECT_TRUE(part.is_last);
    EXPECT_EQ(part.duration_ns, 42);
    EXPECT_EQ(part.exact.count, 1U);
    EXPECT_EQ(part.exact.overflow, 2U);
    EXPECT_EQ(part.exact.min, 3U);
    EXPECT_EQ(part.exact.max, 4U);
    EXPECT_TRUE(part.exact.sum == sum);
    EXPECT_TRUE(part.exact.squares == squares);
    EXPECT_EQ(part.bins, "10:1,");
}

TEST(Frames, EachResourceOfARoleArrivesUnderItsName) {
    Resources used;
    used.duration_ns = 1;
    used.user_ns = 2;
    used.system_ns = 3;
    used.voluntary_switches = 4;
    used.involuntary_switches = 5;
    used.peak_memory_bytes = 6;
    used.peak_is_own = true;
    const auto told = read_frame<ResourcesFrame>(frame_of(ResourcesFrame{used})).used;

    EXPECT_EQ(told.duration_ns, 1);
    EXPECT_EQ(told.user_ns, 2);
    EXPECT_EQ(told.system_ns, 3);
    EXPECT_EQ(told.voluntary_switches, 4U);
    EXPECT_EQ(told.involuntary_switches, 5U);
    EXPECT_EQ(told.peak_memory_bytes, 6U);
    EXPECT_TRUE(told.peak_is_own);
}

TEST(Frames, MissingNumbersAreZero) {
    EXPECT_EQ(read_frame<PhaseDoneFrame>({FrameKind::phase_done, {1, 2}}).corrupted, 0U);
    EXPECT_EQ(read_frame<OpenFrame>({FrameKind::open}).measured.payload_bytes, 0U);
    EXPECT_FALSE(read_frame<PlacementFrame>({FrameKind::affinity}).live);
}

}  // namespace
}  // namespace tacholog
