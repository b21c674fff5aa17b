// Every option: its name, and what its value changes. A new one of the rig's is a line in option_table.cpp, and one in
// help.cpp; one that a single transport has is a Setting of that transport.
#pragma once

#include <getopt.h>

#include <span>
#include <string_view>

#include "core/options.hpp"

namespace tacholog {

struct OptionRow {
    const char* name;
    Result<void> (*set)(Options&, std::string_view text);  ///< nullptr: the text is kept in Options::settings
    int argument = required_argument;
    Request request = Request::run;
    bool repeats = false;  ///< a further one adds to the first
};

/// The rig's options, and those of all transports of this build.
std::span<const OptionRow> option_table();

}  // namespace tacholog
