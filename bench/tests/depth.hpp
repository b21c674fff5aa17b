// How much the tests try, and what they leave out: as tests/depth.py and tests/left_out.py do for Python.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

namespace tacholog {

inline bool is_set_to(const char* variable, std::string_view wanted) {
    const char* value = std::getenv(variable);
    return value != nullptr && value == wanted;
}

/// The gate's amount for each change, or the nightly's (TACHOLOG_TESTS=nightly), which finds what is rare.
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

/// Leaves a test out because this machine lacks something: LEAVE_OUT << "needs nft". Where nothing may be left out
/// (TACHOLOG_NOTHING_LEFT_OUT=1), it fails. Cases that a transport cannot have are no such: GTEST_SKIP.
#define LEAVE_OUT return GTEST_MESSAGE_AT_(__FILE__, __LINE__, "left out", ::tacholog::left_out())
