// Checks which options can be combined. objections.hpp checks what a transport can do.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/options.hpp"

namespace tacholog {

/// The options on the command line. The values alone do not show which options were given.
class Given {
public:
    void add(std::string_view name) { names_.push_back(name); }
    bool has(std::string_view name) const { return std::find(names_.begin(), names_.end(), name) != names_.end(); }

private:
    std::vector<std::string_view> names_;
};

Result<void> check(const Options& options, const Given& given);

}  // namespace tacholog
