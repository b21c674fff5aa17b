// The registry's transports as parameters of tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "core/options.hpp"
#include "transports/transport.hpp"

namespace tacholog {

/// Those whose two sides meet on one host as it is: all but those that need an interface each.
inline std::vector<const Transport*> transports_of_one_host() {
    std::vector<const Transport*> found;
    std::copy_if(all_transports().begin(), all_transports().end(), std::back_inserter(found),
                 [](const Transport* one) { return one->parties != Parties::hosts; });
    return found;
}

inline std::string transport_name(const testing::TestParamInfo<const Transport*>& info) {
    std::string name{info.param->name};
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

inline std::string transport_and_waiting_name(
    const testing::TestParamInfo<std::tuple<const Transport*, Waiting>>& info) {
    std::string name{std::get<0>(info.param)->name};
    name += '_';
    name += to_text(std::get<1>(info.param));
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

}  // namespace tacholog
