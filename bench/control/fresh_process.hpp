// A function that does work in a new process, because some libraries can be started only once in a process. The new
// process inherits the sockets of the control channel and the files of the log. It does the work, and reports the
// result to the calling process.
#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"
#include "base/stop.hpp"
#include "reporters/log.hpp"

namespace tacholog {

/// Calls the function `work` in a new process, and returns its result. The text `who` names the new process in errors,
/// for example "the publisher". If the calling process is asked to stop, it asks the new process to stop. The calling
/// process must have only one thread.
Result<void> in_fresh_process(const std::string& who, const Stop& stop, Log* log,
                              const std::function<Result<void>()>& work);

}  // namespace tacholog
