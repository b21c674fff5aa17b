// How many cases the tests try, and which tests are left out; like tests/depth.py and tests/left_out.py for Python.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

namespace tacholog {

inline bool is_set_to(const char* variable, std::string_view wanted) {
    const char* value = std::getenv(variable);
    return value != nullptr && value == wanted;
}

/// At night (TACHOLOG_TESTS=nightly), tests try more cases, to find rare errors. In the gate, which runs for each
/// change, they try fewer.
inline bool nightly() {
    return is_set_to("TACHOLOG_TESTS", "nightly");
}

template <typename Value>
Value tries(Value gate, Value at_night) {
    return nightly() ? at_night : gate;
}

inline testing::TestPartResult::Type left_out() {
    return is_set_to("TACHOLOG_NOTHING_LEFT_OUT", "1") ? testing::TestPartResult::kFatalFailure
                                                       : testing::TestPartResult::kSkip;
}

}  // namespace tacholog

/// Skips a test because this machine lacks something: LEAVE_OUT << "needs nft". If nothing may be left out
/// (TACHOLOG_NOTHING_LEFT_OUT=1), the test fails instead. For cases that a transport cannot have, use GTEST_SKIP.
#define LEAVE_OUT return GTEST_MESSAGE_AT_(__FILE__, __LINE__, "left out", ::tacholog::left_out())
