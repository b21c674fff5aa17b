#include "core/run.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <deque>
#include <fstream>
#include <iostream>
#include <thread>

#include "core/environment.hpp"
#include "core/resources.hpp"
#include "core/side.hpp"

namespace tacholog {
namespace {

constexpr int default_port = 7420;

void complain(const std::string& text) {
    // One write, so that two processes do not mix their lines.
    std::cerr << "perftest: " + text + "\n" << std::flush;
}

/// Runs one side; if it fails, tells the peer why, and finds out whether it is the peer's or the user's doing.
template <typename RunSide>
Result<void> run_side(RunSide&& run_role, const Side& side) {
    constexpr Patience last_words{200};
    auto done = run_role(side);
    if (done || done.error().text.starts_with("the peer ")) return done;
    // The peer may be gone; then there is nobody to tell.
    static_cast<void>(side.control.send({FrameKind::abort, {}, done.error().text}).has_value());
    const auto reason = side.control.reason(last_words);
    return reason ? Result<void>{*reason} : done;
}

Result<void> subscribe_and_run(const Options& options, const Transport& transport, int port, const Stop& stop,
                               Log* log) {
    const Patience limit{static_cast<Patience::rep>(options.timeout_s * 1000)};
    auto control = connect_control(options.address, port, limit, stop);
    if (!control) return control.error();
    return run_side(run_subscriber, Side{options, transport, *control, log});
}

Result<void> publish_and_run(const Options& options, const Transport& transport, const Listener& listener,
                             const Stop& stop, Log& log) {
    const Patience limit{static_cast<Patience::rep>(options.timeout_s * 1000)};
    auto control = listener.accept(limit, stop);
    if (!control) return control.error();
    return run_side(run_publisher, Side{options, transport, *control, &log});
}

/// The subscriber as a process of its own. It never outlives this one, nor this one's wait for it.
class Child {
public:
    template <typename Work>
    static Result<Child> start(Work&& work) {
        const pid_t parent = ::getpid();
        const pid_t pid = ::fork();
        if (pid < 0) return os_error("fork the subscriber");
        if (pid == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            // The parent may have died before it was asked for.
            ::_exit(::getppid() == parent ? work() : 1);
        }
        return Child{pid};
    }

    Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
    Child& operator=(Child&&) = delete;
    ~Child() {
        if (pid_ > 0) static_cast<void>(reap());
    }

    /// What became of it, in words; empty if it ended well. One that does not end is killed.
    std::string reap() {
        constexpr Patience grace{2000};
        int status = 0;
        const Deadline deadline{grace};
        while (::waitpid(pid_, &status, WNOHANG) == 0) {
            if (deadline.passed()) {
                ::kill(pid_, SIGKILL);
                ::waitpid(pid_, &status, 0);
                break;
            }
            const timespec pause{0, 1'000'000};
            ::nanosleep(&pause, nullptr);
        }
        pid_ = -1;
        if (WIFSIGNALED(status))
            return "the subscriber process was killed by signal " + std::to_string(WTERMSIG(status));
        return "";
    }

private:
    explicit Child(pid_t pid) : pid_(pid) {}
    pid_t pid_;
};

Result<void> run_two_processes(const Options& options, const Transport& transport, const Stop& stop, Log& log,
                               const Listener& listener, Child& child) {
    auto done = publish_and_run(options, transport, listener, stop, log);
    const std::string fate = child.reap();
    if (done || fate.empty()) return done;
    return Error{fate + " (" + done.error().text + ")"};
}

Result<void> run_two_threads(const Options& options, const Transport& transport, const Stop& stop, Log& log,
                             const Listener& listener) {
    Result<void> subscribed;
    std::thread subscriber{[&] { subscribed = subscribe_and_run(options, transport, listener.port(), stop, nullptr); }};
    auto published = publish_and_run(options, transport, listener, stop, log);
    subscriber.join();
    return published ? subscribed : published;
}

/// The head of every log. Returns the kernel's counters as they stood before the run.
PathCounters write_head(Log& log, const Options& options, const Transport& transport, const Build& build) {
    log.write(build);
    log.write(Config{options, std::string{transport.data_path},
                     transport.reliability == Reliability::reliable ? "reliable" : "best-effort"});
    log.write(read_host());
    log.write(measure_clock());
    log.write(read_load(false));
    log.write(Start{utc_time()});
    return read_path_counters();
}

/// Counted by the kernel since the log was begun, for a witness that the bytes went the way that the log says.
void write_path(Log& log, const PathCounters& before) {
    const Path path = path_between(before, read_path_counters());
    if (!path.counters.empty()) log.write(path);
}

/// The end of every log: errors if there were any, then how it went.
int conclude(Log& log, const Result<void>& done, const PathCounters& before) {
    if (!done) {
        log.write(Failure{std::nullopt, done.error().text});
        complain(done.error().text);
    }
    write_path(log, before);
    log.write(read_load(true));
    log.end();
    if (const auto written = log.written(); !written) {
        if (done) complain(written.error().text);
        return 1;
    }
    if (done && log.failed()) complain("the run is not complete: see the error lines of its log");
    return log.failed() ? 1 : 0;
}

int control_port(const Options& options) {
    if (options.port >= 0) return options.port;
    return options.role == Role::both ? 0 : default_port;
}

/// The subscriber as a second process of this program.
int run_forked(const Options& options, const Transport& transport, const Build& build, const Stop& stop, Log& log,
               const Listener& listener) {
    // Forked before the first byte is written: what is buffered then would be written twice.
    auto child =
        Child::start([&] { return subscribe_and_run(options, transport, listener.port(), stop, nullptr) ? 0 : 1; });
    const PathCounters before = write_head(log, options, transport, build);
    if (!child) return conclude(log, child.error(), before);
    return conclude(log, run_two_processes(options, transport, stop, log, listener, *child), before);
}

/// The role's own way to run, with the log's head written once everything that needs no log stands.
int run_role(const Options& options, const Transport& transport, const Build& build, const Stop& stop, Log& log) {
    const int port = control_port(options);
    if (options.role == Role::sub) {
        const PathCounters before = write_head(log, options, transport, build);
        return conclude(log, subscribe_and_run(options, transport, port, stop, &log), before);
    }
    const auto listener = Listener::open(options.address, port);
    const bool both = options.role == Role::both;
    if (listener && both && transport.parties == Parties::processes) {
        return run_forked(options, transport, build, stop, log, *listener);
    }
    const PathCounters before = write_head(log, options, transport, build);
    if (!listener) return conclude(log, listener.error(), before);
    if (both) return conclude(log, run_two_threads(options, transport, stop, log, *listener), before);
    return conclude(log, publish_and_run(options, transport, *listener, stop, log), before);
}

template <typename Kind>
const Kind* find(std::span<const Kind* const> kinds, std::string_view name) {
    for (const Kind* kind : kinds) {
        if (kind->name == name) return kind;
    }
    return nullptr;
}

/// What speaks against these options, which only the registries know.
std::optional<std::string> objection(const Options& options, const Transport* transport) {
    if (transport == nullptr) {
        return "--transport " + options.transport + ": no such transport; --list-transports shows what there is";
    }
    if (transport->parties == Parties::threads && options.role != Role::both) {
        return "--transport " + options.transport + " joins threads of one process: it needs --role both";
    }
    for (const auto& log : options.logs) {
        const ReporterKind* kind = find(all_reporters(), log.reporter);
        if (kind == nullptr) {
            return "--reporter " + log.reporter + ": no such reporter; --list-reporters shows what there is";
        }
        if (options.rate_per_s && options.test == Test::latency && !kind->open_loop) {
            return "--reporter " + log.reporter + ": its dialect has no words for latency at a rate";
        }
        if (!kind->expresses(options.test, options.role)) {
            return "--reporter " + log.reporter + ": its dialect has no words for --test " +
                   std::string{to_text(options.test)} + " --role " + std::string{to_text(options.role)};
        }
    }
    return std::nullopt;
}

/// The files of the logs; they stay where they are as long as this lives.
using Files = std::deque<std::ofstream>;

Result<Log> open_logs(const std::vector<LogOrder>& orders, Files& files) {
    std::vector<Log::Writer> writers;
    for (const auto& order : orders) {
        std::ostream* stream = &std::cout;
        if (order.output != "-") {
            auto& file = files.emplace_back(order.output, std::ios::trunc);
            if (!file) return os_error("--output " + order.output);
            stream = &file;
        }
        auto reporter = find(all_reporters(), order.reporter)->make(*stream, std::cerr);
        writers.push_back({"--output " + order.output, std::move(reporter), stream});
    }
    return Log{std::move(writers)};
}

}  // namespace

int run(const Options& options, const Build& build) {
    const Transport* transport = find(all_transports(), options.transport);
    if (const auto wrong = objection(options, transport)) {
        complain(*wrong);
        return 2;
    }
    Files files;
    auto log = open_logs(options.logs, files);
    if (!log) {
        complain(log.error().text);
        return 1;
    }
    ::signal(SIGPIPE, SIG_IGN);  // a reader that went away is a failed write, which is reported
    const auto stop = Stop::watch();
    if (!stop) {
        complain(stop.error().text);
        return 1;
    }
    return run_role(options, *transport, build, *stop, *log);
}

}  // namespace tacholog
