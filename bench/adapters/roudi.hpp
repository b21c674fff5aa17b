// The common part of adapters over iceoryx: RouDi, the daemon that owns the shared memory of iceoryx. The run starts
// and ends RouDi, unless the user has started one, because there can be only one per host. A second run waits until the
// first one has ended.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "adapters/farewell.hpp"
#include "base/fd.hpp"
#include "base/stop.hpp"
#include "machine/helper_program.hpp"
#include "transports/transport.hpp"

namespace tacholog {

/// Returns `wanted`, but at most the number of messages that fit into 8 MiB. If fewer than 4 fit, the limit is 4.
inline std::size_t queue_of(std::size_t message_bytes, std::size_t wanted) {
    constexpr std::size_t most_queued_bytes = std::size_t{8} * 1024 * 1024;
    constexpr std::size_t least_queued = 4;
    return std::min(wanted, std::max(least_queued, most_queued_bytes / message_bytes));
}

/// A process that uses the library keeps its RouDi until it exits, because the library cannot connect to a second
/// RouDi. This matters only in tests: in a run, each size has its own process.
class RouDi final : public Companion {
public:
    struct Needs {
        /// Whether RouDi must detect processes that have died; only needed by a publisher that waits.
        bool watches = false;
        std::size_t queued = 256;        ///< the longest queue that a subscriber requests
        std::size_t overhead_bytes = 0;  ///< the bytes that the library adds to a message
    };

    /// Returns a null pointer if the user's RouDi is running, or if this side only subscribes.
    static Result<std::unique_ptr<Companion>> start(const RunPlan& plan, const Needs& needs) {
        if (!plan.publishes) return std::unique_ptr<Companion>{};
        const auto path = find_program("iox-roudi", "iceoryx");
        if (!path) return path.error();
        // Happens only in tests: another transport has already started RouDi in this process.
        if (Running::here > 0) return std::unique_ptr<Companion>{};
        auto turn = our_turn();
        if (!turn) return turn.error();
        auto folder = PrivateFolder::make();
        if (!folder) return folder.error();
        const auto file = folder->write("roudi.toml", pools(plan, needs));
        if (!file) return file.error();
        // With monitoring, RouDi treats a process as dead if the process got no CPU time for 1.5 s. Only a publisher
        // that waits needs monitoring.
        const std::string watch = needs.watches ? "on" : "off";
        constexpr Patience to_clear_its_memory{30'000};  // up to half a gigabyte, for messages of some MiB
        const HelperProgram::Order order{.words = {*path, "--config-file", *file, "--monitoring-mode", watch},
                                         .patience = to_clear_its_memory};
        const auto is_ready = [](const HelperProgram& program) {
            return program.output().find("RouDi is ready for clients") != std::string::npos;
        };
        // We hold the lock. If a RouDi is still running, it belongs to a run that was killed and will end soon, or it
        // belongs to the user.
        constexpr Patience until_it_has_died{1000};
        for (const Deadline deadline{until_it_has_died};; sleep_until(now_ns() + nap_ns)) {
            if (is_running()) {
                if (deadline.passed()) return std::unique_ptr<Companion>{};
                continue;
            }
            auto started = HelperProgram::start(order, *folder, is_ready);
            if (started)
                return std::unique_ptr<Companion>{
                    new RouDi{std::make_unique<Running>(std::move(*turn), std::move(*folder), std::move(*started))}};
            if (deadline.passed()) return started.error();
        }
    }

    /// Whether a process listens on RouDi's socket. Without this check, the library would wait for ever.
    static bool is_running() {
        const Fd socket{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, "/tmp/roudi", sizeof address.sun_path - 1);
        return socket && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    }

    /// Must be called after the library has connected. At process exit, the library would deregister from RouDi, and
    /// try this for ever if RouDi is dead. So the process exits without deregistering.
    static void end_without_farewell() {
        tacholog::end_without_farewell([] {
            silence();
            kept().reset();
        });
    }

    static Error not_running() { return Error{"iox-roudi is not running: start it, or the side that publishes first"}; }

    ~RouDi() override {
        if (!Kept::is_over) kept() = std::move(running_);
    }

    std::string address() const override { return "roudi"; }  // a fixed word, because a host can have only one RouDi
    Facts facts() const override {
        // The output looks like "RouDi version: 2.0.3".
        const std::string version = first_line_of({running_->program().words().front(), "--version"});
        return {{"name", "iox-roudi"},
                {"version", version.substr(version.find_last_of(' ') + 1)},
                {"pid", std::to_string(running_->program().pid())},
                {"command", running_->program().command()}};
    }
    pid_t pid() const override { return running_->program().pid(); }
    std::optional<std::string> trouble() const override { return running_->program().trouble(); }
    void end_now() noexcept override {
        silence();
        running_.reset();
    }

private:
    static constexpr Nanoseconds nap_ns = 50'000'000;

    /// Must be called directly before the process exits. A thread of the library is still running then, and would print
    /// a message on the user's terminal when it notices that RouDi has ended.
    static void silence() noexcept {
        if (const Fd nowhere{::open("/dev/null", O_WRONLY | O_CLOEXEC)}) ::dup2(nowhere.get(), STDERR_FILENO);
    }

    class Running {
    public:
        Running(Fd turn, PrivateFolder folder, std::unique_ptr<HelperProgram> program)
            : turn_(std::move(turn)), folder_(std::move(folder)), program_(std::move(program)) {
            ++here;
        }
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;
        /// RouDi is killed, not asked to end, and its memory is removed here. If RouDi were asked to end, it would send
        /// SIGTERM to all processes that it knows, and would abort if one of them has already ended (2.0.3 with
        /// assertions, as built by Debian).
        ~Running() {
            --here;
            ::shm_unlink("/iceoryx_mgmt");
            const group* own = ::getgrgid(::getegid());
            if (own != nullptr) ::shm_unlink((std::string{"/"} + own->gr_name).c_str());
            ::kill(program_->pid(), SIGKILL);
            program_.reset();
        }

        const HelperProgram& program() const { return *program_; }

        inline static int here = 0;

    private:
        Fd turn_;  ///< the lock; released last, so that no other run starts a RouDi before this one has ended
        PrivateFolder folder_;
        std::unique_ptr<HelperProgram> program_;
    };

    struct Kept {
        std::unique_ptr<Running> running;
        ~Kept() { is_over = true; }
        inline static bool is_over = false;
    };
    static std::unique_ptr<Running>& kept() {
        static Kept kept;
        return kept.running;
    }

    explicit RouDi(std::unique_ptr<Running> running) : running_(std::move(running)) { kept(); }

    /// The runs of all users share this lock. RouDi's own lock, in the same folder, is not enough: it does not tell
    /// whether this RouDi belongs to a run that is about to end.
    static Result<Fd> our_turn() {
        const std::string path = "/tmp/tacholog-roudi.lock";
        constexpr Patience longest_run{60'000};
        constexpr int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
        // Opens the file first without O_CREAT: in /tmp, opening another user's file with O_CREAT fails
        // (protected_regular).
        Fd lock{::open(path.c_str(), flags)};
        if (!lock) lock = Fd{::open(path.c_str(), flags | O_CREAT, 0644)};
        if (!lock) return os_error("open " + path);
        for (const Deadline deadline{longest_run}; ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0;
             sleep_until(now_ns() + nap_ns)) {
            if (Stop::is_pending()) return Stop::error();
            if (deadline.passed())
                return Error{"iox-roudi: another run uses it, and a host can have only one: try again after that run"};
        }
        return lock;
    }

    /// The sizes of the pools are those of RouDi's example, up to the largest size of the run. Each pool has enough
    /// chunks for the queues of a few topics, and for the chunks that publisher and subscriber hold.
    static std::string pools(const RunPlan& plan, const Needs& needs) {
        constexpr std::array<std::size_t, 7> ladder{128, 1024, 16'384, 131'072, 524'288, 1'048'576, 4'194'304};
        constexpr std::size_t topics = 4;
        constexpr std::size_t held = 10;
        constexpr std::size_t alignment = 64;
        std::string text = "[general]\nversion = 1\n\n[[segment]]\n";
        const auto pool = [&](std::size_t bytes) {
            const std::size_t size = (bytes + needs.overhead_bytes + alignment - 1) / alignment * alignment;
            const std::size_t chunks = topics * (queue_of(bytes, needs.queued) + held);
            text +=
                "\n[[segment.mempool]]\nsize = " + std::to_string(size) + "\ncount = " + std::to_string(chunks) + "\n";
        };
        for (const std::size_t bytes : ladder) {
            pool(bytes);
            if (bytes >= plan.largest_bytes()) return text;
        }
        pool(plan.largest_bytes());
        return text;
    }

    std::unique_ptr<Running> running_;
};

}  // namespace tacholog
