// Every option: its name, and what its value changes. A new one is a line here, and one in help.cpp.
#pragma once

#include <getopt.h>

#include <span>
#include <string_view>

#include "core/options.hpp"

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
