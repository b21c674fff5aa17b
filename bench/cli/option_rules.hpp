// Which options go together. objections.hpp has what a transport cannot do.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/options.hpp"

namespace tacholog {

/// The options that were given, for where the values alone do not say.
class Given {
public:
    void add(std::string_view name) { names_.push_back(name); }
    bool has(std::string_view name) const { return std::find(names_.begin(), names_.end(), name) != names_.end(); }

private:
    std::vector<std::string_view> names_;
};

Result<void> check(const Options& options, const Given& given);

}  // namespace tacholog
