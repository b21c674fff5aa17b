// printf into a log, flushed, so that a killed run leaves what it had found.
#pragma once

#include <iosfwd>

namespace tacholog::reporters {

[[gnu::format(printf, 2, 3)]] void print(std::ostream& log, const char* format, ...);

}  // namespace tacholog::reporters
