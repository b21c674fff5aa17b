#include "base/facts.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace tacholog {
namespace {

constexpr std::size_t most_facts = 64;
constexpr std::size_t longest_key = 40;

/// No fact may have one of these keys, because other items of its log lines use them.
bool is_taken(std::string_view key) {
    return key == "role" || key == "participant";
}

bool is_key(std::string_view key) {
    if (key.empty() || key.size() > longest_key || key.front() < 'a' || key.front() > 'z' || is_taken(key))
        return false;
    return std::all_of(key.begin(), key.end(), [](char letter) {
        return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_';
    });
}

bool has(const Facts& facts, std::string_view key) {
    return std::any_of(facts.begin(), facts.end(), [&](const Fact& fact) { return fact.key == key; });
}

}  // namespace

void add_missing(Facts& facts, const Facts& more) {
    for (const Fact& fact : more) {
        if (!has(facts, fact.key)) facts.push_back(fact);
    }
}

std::string to_text(const Facts& facts) {
    std::string text;
    for (const Fact& fact : facts) {
        std::string value = fact.value;
        std::replace(value.begin(), value.end(), '\n', ' ');
        text += fact.key + "=" + value + "\n";
    }
    return text;
}

Result<Facts> parse_facts(std::string_view text) {
    Facts facts;
    auto lines = split(text, '\n');
    lines.pop_back();  // the text ends with a line end, so the last item is empty
    for (const auto line : lines) {
        const auto equals = line.find('=');
        const auto key = line.substr(0, equals);
        if (equals == std::string_view::npos || !is_key(key) || has(facts, key) || facts.size() == most_facts)
            return Error{"control channel: the peer is out of step with this side"};
        facts.push_back({std::string{key}, shown(line.substr(equals + 1), longest_message)});
    }
    return facts;
}

}  // namespace tacholog
