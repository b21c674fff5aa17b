// Tests of reliability like those of udp_reliable_test.cpp, but with a million messages and with gigabytes. They take
// minutes, so ctest has them under the label "long".
#include "tests/bad_network.hpp"

namespace tacholog {
namespace {

constexpr std::uint64_t many = 1'000'000;
constexpr std::uint64_t some = 200;
constexpr std::size_t large = std::size_t{8} * 1024 * 1024;

using LongOverABadNetwork = BadNetwork;

TEST_F(LongOverABadNetwork, AMillionMessagesArriveOnceInOrderAndIntact) {
    join_one(1024);
    carry(many, 1024);
}

TEST_F(LongOverABadNetwork, TwoHundredLargeMessagesArriveOnceInOrderAndIntact) {
    join_one(large);
    carry(some, large);
}

TEST_F(LongOverABadNetwork, AMillionMessagesArriveAtAllThreeSubscribersOfAGroup) {
    join_three(1024);
    carry(many, 1024);
}

TEST_F(LongOverABadNetwork, TwoHundredLargeMessagesArriveAtAllThreeSubscribersOfAGroup) {
    join_three(large);
    carry(some, large);
}

}  // namespace
}  // namespace tacholog
