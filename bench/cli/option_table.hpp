// Every option: its name, and what its value changes. A new one is a line in option_table.cpp, and one in help.cpp.
// What a single transport has is no option but a Setting of that transport, which --set gives.
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
    bool repeats = false;  ///< a further one adds to the first
};

std::span<const OptionRow> option_table();

}  // namespace tacholog
