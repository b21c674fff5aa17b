// Functions for several adapters. They create a publisher or a subscriber, check that each endpoint is the name of the
// channel, and report the name and the version of the library as facts.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "transports/transport.hpp"

namespace tacholog {

inline Facts facts_of_library(std::string name, std::string version) {
    Facts facts;
    add_fact(facts, library_key, std::move(name));
    add_fact(facts, library_version_key, std::move(version));
    return facts;
}

inline std::string version_text(int major, int minor, int patch) {
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

/// Each endpoint must be the name of the channel, because the sides connect by it.
inline Result<void> check_endpoints(const Topic& topic, std::span<const std::string> endpoints) {
    for (const std::string& endpoint : endpoints) {
        if (endpoint != topic.channel) return Error{"advertise to '" + endpoint + "': not a topic of this run"};
    }
    return {};
}

template <typename Side>
Result<std::unique_ptr<Subscriber>> joined_subscriber(const Topic& topic) {
    auto subscriber = std::make_unique<Side>(topic);
    if (auto joined = subscriber->join(topic); !joined) return joined.error();
    return std::unique_ptr<Subscriber>{std::move(subscriber)};
}

template <typename Side>
Result<std::unique_ptr<Publisher>> joined_publisher(const Topic& topic, const Endpoints& endpoints) {
    if (auto fine = check_endpoints(topic, endpoints); !fine) return fine.error();
    auto publisher = std::make_unique<Side>(topic);
    if (auto joined = publisher->join(topic); !joined) return joined.error();
    return std::unique_ptr<Publisher>{std::move(publisher)};
}

}  // namespace tacholog
