// Work in a process of its own, for libraries that can be started only once in a process. The process inherits the
// sockets of the control channel and the files of the log, works, and tells its parent how it went.
#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"
#include "base/stop.hpp"
#include "reporters/log.hpp"

namespace tacholog {

/// Forks, and waits for what becomes of `work` there. `who` names the process in errors: "the publisher". If this
/// process is asked to stop, the other is too. The calling process must have no other thread.
Result<void> in_fresh_process(const std::string& who, const Stop& stop, Log* log,
                              const std::function<Result<void>()>& work);

}  // namespace tacholog
