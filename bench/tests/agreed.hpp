// The agreement that a peer must send in its hello frame, for tests that play one side of a run.
#pragma once

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "control/agreement.hpp"
#include "rig/side.hpp"

namespace tacholog {

/// A peer must send this text to join a run with these options.
inline std::string agreement_of(const std::string& line) {
    std::istringstream words{"perftest " + line};
    std::vector<std::string> list{std::istream_iterator<std::string>{words}, {}};
    std::vector<char*> pointers;
    for (std::string& word : list) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const auto options = parse_options(static_cast<int>(list.size()), pointers.data());
    EXPECT_TRUE(options);
    return options ? agreement(*options) : "";
}

}  // namespace tacholog
