#include "base/result.hpp"

#include <system_error>

namespace tacholog {

Error os_error(const std::string& operation, int code) {
    return Error{operation + ": " + std::generic_category().message(code)};
}

}  // namespace tacholog
