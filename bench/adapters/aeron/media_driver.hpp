// The media driver: the process that owns Aeron's memory and sockets. The run starts one and ends it; both sides find
// it by the folder that they share with it.
#pragma once

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fcntl.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

extern "C" {
#include <aeronc.h>
}

#include "base/fd.hpp"
#include "machine/helper_program.hpp"
#include "transports/transport.hpp"

namespace tacholog::aeron {

/// A folder in shared memory for the driver's files, some hundred megabytes. It is locked as long as a process of the
/// run lives: if all of them are killed, the next run finds it unlocked and removes it.
class DriverFolder {
public:
    static Result<DriverFolder> make() {
        remove_abandoned();
        std::string path = parent() + std::string{prefix} + "XXXXXX";
        if (::mkdtemp(path.data()) == nullptr) return os_error("make a folder like " + path);
        Fd lock{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
        if (!lock || ::flock(lock.get(), LOCK_EX) != 0) return os_error("lock " + path);
        return DriverFolder{std::move(path), std::move(lock)};
    }

    DriverFolder(DriverFolder&& other) noexcept
        : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
    DriverFolder& operator=(DriverFolder&&) = delete;
    ~DriverFolder() {
        std::error_code ignored;
        if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    }

    /// The driver makes it.
    std::string inner() const { return path_ + "/driver"; }

private:
    static constexpr std::string_view prefix = "tacholog-aeron-";

    DriverFolder(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

    static std::string parent() {
        std::error_code problem;
        if (std::filesystem::is_directory("/dev/shm", problem)) return "/dev/shm/";
        const auto folder = std::filesystem::temp_directory_path(problem);
        return (problem ? std::string{"/tmp"} : folder.string()) + "/";
    }

    /// Whose folder it is says the descriptor: the name may lead elsewhere by now.
    static bool is_own(const Fd& folder) {
        struct stat facts{};
        return ::fstat(folder.get(), &facts) == 0 && facts.st_uid == ::geteuid();
    }

    /// A folder that is not locked yet is new, if it is empty: that one stays. Those of other users are theirs.
    static void remove_abandoned() {
        std::error_code ignored;
        for (const auto& entry : std::filesystem::directory_iterator{parent(), ignored}) {
            if (!entry.path().filename().string().starts_with(prefix)) continue;
            const Fd lock{::open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)};
            if (!lock || !is_own(lock) || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
            if (!std::filesystem::is_empty(entry.path(), ignored)) std::filesystem::remove_all(entry.path(), ignored);
        }
    }

    std::string path_;
    Fd lock_;
};

class MediaDriver final : public Companion {
public:
    /// `options` are properties of the driver: "aeron.threading.mode=SHARED".
    static Result<std::unique_ptr<Companion>> start(const std::string& path, const std::vector<std::string>& options) {
        if (::access(path.c_str(), X_OK) != 0) return os_error("start Aeron's media driver " + path);
        auto folder = DriverFolder::make();
        if (!folder) return folder.error();
        const std::string inner = folder->inner();
        std::vector<std::string> words{path, "-Daeron.dir=" + inner};
        for (const std::string& option : options) words.push_back("-D" + option);
        auto program = HelperProgram::start({words}, [&inner](const HelperProgram&) {
            std::error_code ignored;
            return std::filesystem::exists(inner + "/cnc.dat", ignored);
        });
        if (!program) return program.error();
        // Of the client's library: both are built from the same source.
        const Facts facts{{"name", "aeronmd"},
                          {"version", ::aeron_version_text()},
                          {"pid", std::to_string((*program)->pid())},
                          {"command", (*program)->command()}};
        return std::unique_ptr<Companion>{new MediaDriver{std::move(*folder), std::move(*program), facts}};
    }

    std::string address() const override { return folder_.inner(); }
    Facts facts() const override { return facts_; }
    pid_t pid() const override { return program_->pid(); }
    std::optional<std::string> trouble() const override { return program_->trouble(); }

private:
    MediaDriver(DriverFolder folder, std::unique_ptr<HelperProgram> program, Facts facts)
        : folder_(std::move(folder)), program_(std::move(program)), facts_(std::move(facts)) {}

    DriverFolder folder_;
    std::unique_ptr<HelperProgram> program_;
    Facts facts_;
};

}  // namespace tacholog::aeron
