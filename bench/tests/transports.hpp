// The transports of the registry as parameters of tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/text.hpp"
#include "cli/options.hpp"
#include "tests/depth.hpp"
#include "transports/transport.hpp"

namespace tacholog {

/// CMake passes the names (ADAPTERS), because the transport itself does not know that it belongs to a middleware.
inline bool is_adapter(const Transport& transport) {
    static constexpr std::string_view adapters = " " ADAPTERS " ";
    return adapters.find(" " + std::string{transport.name} + " ") != adapters.npos;
}

using Transports = std::vector<const Transport*>;

template <typename Predicate>
Transports those_that(Predicate&& can, Transports of_all) {
    std::erase_if(of_all, [&can](const Transport* one) { return !can(*one); });
    return of_all;
}

/// Leaves out transports that need an interface for each side, and the transport that never reaches a subscriber.
inline Transports transports_of_one_host() {
    return those_that([](const Transport& one) { return one.parties != Parties::hosts && !one.reaches_nobody; },
                      {all_transports().begin(), all_transports().end()});
}

/// In the gate, less critical tests run only over our own transports.
inline Transports own_in_the_gate(Transports all) {
    return those_that([](const Transport& one) { return nightly() || !is_adapter(one); }, std::move(all));
}

/// Shared memory, a transport that loses messages, and the mock: for tests of the rig that do not depend on the
/// transport.
inline Transports representatives() {
    return those_that([](const Transport& one) { return one.name == "shm" || one.name == "udp" || one.name == "mock"; },
                      transports_of_one_host());
}

/// A transport with one setting that differs from its default. It may then guarantee something else.
struct Variant {
    std::string name;
    Settings settings;
    Transport transport;
};

/// There is one variant for each value of a setting, except its default.
inline const std::deque<Variant>& variants() {
    static const std::deque<Variant> all = [] {
        std::deque<Variant> made;
        for (const Transport* transport : all_transports()) {
            for (const Setting& setting : transport->settings) {
                for (const auto value : split(setting.values, '|')) {
                    if (setting.values.find('|') == std::string_view::npos || value == setting.default_value) continue;
                    const Settings given =
                        in_effect(transport->settings, {{std::string{setting.name}, std::string{value}}});
                    Variant& variant = made.emplace_back(Variant{
                        std::string{transport->name} + "-" + std::string{setting.name} + "-" + std::string{value},
                        given, adjusted(*transport, given)});
                    variant.transport.name = variant.name;
                }
            }
        }
        return made;
    }();
    return all;
}

/// Transports on one host, with defaults and with other settings: for tests of what a transport guarantees.
inline Transports transports_with_settings() {
    Transports found = transports_of_one_host();
    for (const Variant& variant : variants()) {
        if (variant.transport.parties != Parties::hosts) found.push_back(&variant.transport);
    }
    return found;
}

inline Settings settings_of(const Transport& transport) {
    for (const Variant& variant : variants()) {
        if (&variant.transport == &transport) return variant.settings;
    }
    return in_effect(transport.settings);
}

inline std::map<std::string_view, std::unique_ptr<Companion>>& companions() {
    static std::map<std::string_view, std::unique_ptr<Companion>> started;
    return started;
}

/// Ends the companion programs after the last test. Otherwise the process might end without the destructors of static
/// objects, and the folders of these programs would be left behind.
class CompanionsEnd : public ::testing::Environment {
public:
    void TearDown() override { companions().clear(); }
};
inline ::testing::Environment* const companions_end = ::testing::AddGlobalTestEnvironment(new CompanionsEnd);

/// Starts the program when it is first needed. It ends after the last test.
inline std::string companion_of(const Transport& transport) {
    if (transport.start_companion == nullptr) return "";
    auto& companion = companions()[transport.name];
    if (companion == nullptr) {
        RunPlan plan;
        plan.settings = settings_of(transport);
        plan.sizes_bytes = {64, std::size_t{4} << 20};
        plan.address = "127.0.0.1";
        auto started = transport.start_companion(plan);
        EXPECT_TRUE(started) << started.error().text;
        if (started) companion = std::move(*started);
    }
    return companion == nullptr ? "" : companion->address();
}

inline bool carries(const Transport& transport, std::size_t bytes) {
    return transport.most_bytes == 0 || bytes <= transport.most_bytes;
}

inline void add_needs(const Transport& transport, Topic& topic) {
    topic.settings = settings_of(transport);
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

/// If ways of waiting have no effect on a transport, tests use only one.
using Ways = std::vector<Waiting>;
inline const Ways every_way{Waiting::busy_poll, Waiting::block, Waiting::spin_then_block};

/// Returns pairs of a transport and a kind of waiting. Our own transports are paired with all kinds. A transport of a
/// middleware is paired with all kinds only at night; otherwise, it is paired with the first kind only.
inline std::vector<std::tuple<const Transport*, Waiting>> in_ways(const Transports& all, const Ways& ways) {
    std::vector<std::tuple<const Transport*, Waiting>> found;
    for (const Transport* one : all) {
        for (const Waiting way : ways) {
            if (way == ways.front() || nightly() || !is_adapter(*one)) found.emplace_back(one, way);
        }
    }
    return found;
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
