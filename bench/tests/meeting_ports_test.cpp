// These tests check that nobody else uses the ports at which sides meet. Other users could be DDS, or programs that ask
// the kernel for any free port.
#include "base/meeting_ports.hpp"

#include <gtest/gtest.h>

#include <set>

namespace tacholog {
namespace {

std::set<int> ports_of(Meeting meeting) {
    std::set<int> ports;
    for (std::uint64_t number = 0; number < 100'000; ++number) ports.insert(meeting_port(meeting, number));
    return ports;
}

TEST(MeetingPorts, OfMulticastGroupsHaveNoOtherPurpose) {
    const auto groups = ports_of(Meeting::group);
    const auto doors = ports_of(Meeting::door);

    EXPECT_EQ(groups.size(), 2500U);
    EXPECT_EQ(doors.size(), 2500U);
    for (const int port : groups) EXPECT_EQ(doors.count(port), 0U) << port;
}

TEST(MeetingPorts, AreBelowThePortsThatLinuxAssignsToClients) {
    EXPECT_GE(*ports_of(Meeting::group).begin(), 1024);
    EXPECT_LT(*ports_of(Meeting::group).rbegin(), 32768);
    EXPECT_LT(*ports_of(Meeting::door).rbegin(), 32768);
}

TEST(MeetingPorts, AreNotUsedByParticipantsOfDds) {
    const auto groups = ports_of(Meeting::group);
    const auto doors = ports_of(Meeting::door);
    for (int domain = 0; domain <= 232; ++domain) {
        for (int participant = 0; participant < 60; ++participant) {
            // The ports of DDSI-RTPS for its default parameters: PB 7400, DG 250, PG 2, and d0 to d3 of 0, 10, 1
            // and 11.
            for (const int port : {7400 + 250 * domain, 7400 + 250 * domain + 10 + 2 * participant,
                                   7400 + 250 * domain + 1, 7400 + 250 * domain + 11 + 2 * participant}) {
                EXPECT_EQ(groups.count(port), 0U) << port;
                EXPECT_EQ(doors.count(port), 0U) << port;
            }
        }
    }
}

}  // namespace
}  // namespace tacholog
