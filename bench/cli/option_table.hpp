// All options: the name of each, and what its value changes. A new option needs a line in option_table.cpp and one in
// help.cpp. An option of a single transport is not declared here, but as a Setting of that transport, for --set.
#pragma once

#include <getopt.h>

#include <span>
#include <string_view>

#include "cli/options.hpp"

namespace tacholog {

struct OptionRow {
    const char* name;
    Result<void> (*set)(Options&, std::string_view text);
    int argument = required_argument;
    Request request = Request::run;
    bool repeats = false;  ///< the option may be given several times, and each time adds a value
};

std::span<const OptionRow> option_table();

}  // namespace tacholog
