// Results with round numbers, and their text in the native log.
#pragma once

#include <gtest/gtest.h>

#include <sstream>

#include "reporters/native.hpp"

namespace tacholog {

inline Histogram round_trips() {
    Histogram histogram;
    for (int count = 0; count < 90; ++count) histogram.record(20'000);
    for (int count = 0; count < 9; ++count) histogram.record(30'999);
    histogram.record(203'000);
    return histogram;
}

inline LatencyResult latency(const Histogram& histogram) {
    return {1024, {1, 2, 3, std::nullopt}, 2'000'000'000, &histogram};
}

inline ThroughputResult throughput() {
    return {1024, 200'010, 200'000, {10, 0, 0, 0}, 3'000'000'000, 70'000.5};
}

inline DemandResult demand() {
    return {1024, {100, 5'000'000}, 17'200, 16'999, {201, 0, 0, std::nullopt}, 1'005'207'400, 1'009'645'600};
}

inline Config config_of(Test test) {
    Options options;
    options.test = test;
    return {options, "copy", "reliable"};
}

template <typename... Events>
std::string written(const Events&... events) {
    std::ostringstream text;
    reporters::NativeLog log{text};
    (log.write(events), ...);
    return text.str();
}

}  // namespace tacholog
