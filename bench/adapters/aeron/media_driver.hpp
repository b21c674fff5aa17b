// The media driver: the process that owns the memory and the sockets of Aeron. The run starts and ends it. Both sides
// connect to it by a shared folder.
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

/// A folder in shared memory for the files of the driver, which take some hundred megabytes. It is locked as long as a
/// process of the run exists. If all processes of the run are killed, the next run finds the folder unlocked, and
/// removes it.
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

    /// The driver creates this folder.
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

    /// The owner is read from the descriptor, because the name may lead to another folder by now.
    static bool is_own(const Fd& folder) {
        struct stat facts{};
        return ::fstat(folder.get(), &facts) == 0 && facts.st_uid == ::geteuid();
    }

    /// Removes only unlocked folders of this user. An empty one is kept, because it may be new and not locked yet.
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
    /// `options` are properties of the driver, for example "aeron.threading.mode=SHARED".
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
        // The version of the client library is also the version of the driver, because both are built from the same
        // source.
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
