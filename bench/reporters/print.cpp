#include "reporters/print.hpp"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <ostream>

namespace tacholog::reporters {

void print(std::ostream& log, const char* format, ...) {
    std::array<char, 2048> text{};
    va_list values;
    va_start(values, format);
    std::vsnprintf(text.data(), text.size(), format, values);
    va_end(values);
    log << text.data();
    log.flush();
}

}  // namespace tacholog::reporters
