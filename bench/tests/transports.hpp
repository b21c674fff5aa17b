// The registry's transports as parameters of tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
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

/// The program that a transport needs beside it: started when it is first needed, ended with the test's process.
inline std::string companion_of(const Transport& transport) {
    static std::map<std::string_view, std::unique_ptr<Companion>> companions;
    if (transport.start_companion == nullptr) return "";
    auto& companion = companions[transport.name];
    if (companion == nullptr) {
        RunPlan plan;
        plan.settings = in_effect(transport.settings);
        plan.sizes_bytes = {64};
        plan.address = "127.0.0.1";
        auto started = transport.start_companion(plan);
        EXPECT_TRUE(started) << started.error().text;
        if (started) companion = std::move(*started);
    }
    return companion == nullptr ? "" : companion->address();
}

/// What the rig adds to a topic of this transport.
inline void add_needs(const Transport& transport, Topic& topic) {
    topic.settings = in_effect(transport.settings);
    topic.companion = companion_of(transport);
}

inline Topic topic_for(const Transport& transport, std::string name, std::size_t max_bytes) {
    Topic topic{std::move(name), max_bytes, "127.0.0.1"};
    add_needs(transport, topic);
    return topic;
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
