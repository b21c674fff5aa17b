// The options whose value is one of a few words, and these words.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "cli/options.hpp"

namespace tacholog {

template <typename Value, std::size_t Count>
using Choices = std::array<std::pair<std::string_view, Value>, Count>;

inline constexpr Choices<Test, 4> tests{{{"latency", Test::latency},
                                         {"throughput", Test::throughput},
                                         {"demand", Test::demand},
                                         {"sustain", Test::sustain}}};
inline constexpr Choices<Role, 3> roles{{{"both", Role::both}, {"pub", Role::pub}, {"sub", Role::sub}}};
inline constexpr Choices<Touch, 3> touches{
    {{"none", Touch::none}, {"write", Touch::write}, {"write+read", Touch::write_read}}};
inline constexpr Choices<SlowSubscriber, 2> policies{
    {{"block", SlowSubscriber::block}, {"drop", SlowSubscriber::drop}}};
inline constexpr Choices<Basis, 2> bases{{{"rtt", Basis::round_trip}, {"one-way", Basis::one_way}}};
inline constexpr Choices<Waiting, 3> ways_to_wait{
    {{"busy-poll", Waiting::busy_poll}, {"block", Waiting::block}, {"spin-then-block", Waiting::spin_then_block}}};

template <typename Value, std::size_t Count>
Result<void> choose(std::string_view option, std::string_view text, const Choices<Value, Count>& choices, Value& into) {
    std::string known;
    for (const auto& [name, value] : choices) {
        if (name == text) {
            into = value;
            return {};
        }
        if (!known.empty()) known += ", ";
        known += name;
    }
    return Error{std::string{option} + " " + std::string{text} + ": not one of " + known};
}

template <typename Value, std::size_t Count>
std::string_view name_of(Value value, const Choices<Value, Count>& choices) {
    return std::find_if(choices.begin(), choices.end(), [&](const auto& choice) { return choice.second == value; })
        ->first;
}

}  // namespace tacholog
