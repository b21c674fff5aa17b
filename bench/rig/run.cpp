#include "rig/run.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "base/text.hpp"
#include "control/acceptor.hpp"
#include "control/agreement.hpp"
#include "control/child.hpp"
#include "control/explained.hpp"
#include "control/peer_watch.hpp"
#include "machine/environment.hpp"
#include "machine/resources.hpp"
#include "rig/objections.hpp"
#include "rig/side.hpp"
#include "rig/way.hpp"

namespace tacholog {
namespace {

constexpr int default_port = 7420;

Error with_origin_of_port(Error error, const Options& options) {
    if (options.port < 0 && options.role != Role::both && error.code == Code::control_port)
        error.text += "; " + std::to_string(default_port) + " is the default of --port";
    return error;
}

void complain(const std::string& text) {
    // Writes the line at once, so that lines of two processes are not mixed.
    std::cerr << "perftest: " + shown(text) + "\n" << std::flush;
}

/// The secret is never 0, because 0 means that there is none.
std::uint64_t new_secret() {
    std::random_device random;
    return (std::uint64_t{random()} << 32 | random()) | 1U;
}

/// This secret is for sides that are started separately. The user gives the same text to both sides, in an environment
/// variable, because all users of a host can read the options of a process. The number is the FNV-1a hash of the text.
std::uint64_t told_secret() {
    const char* const told = std::getenv("TACHOLOG_SECRET");
    if (told == nullptr) return 0;
    std::uint64_t value = 14695981039346656037U;
    for (const char letter : std::string_view{told})
        value = (value ^ static_cast<unsigned char>(letter)) * 1099511628211U;
    return value;
}

/// Writes to the log why the run ends, if a call of the library does not return.
using LastWords = std::function<void(const Error&)>;

/// If one of the peers has died, this side ends, even if a call of the library blocks for ever. Returns nullptr if
/// calls of this library never do that.
std::unique_ptr<PeerWatch> watch(const Transport& transport, std::span<const Control> others, const LastWords& say) {
    if (!transport.may_wait_for_the_dead) return nullptr;
    return std::make_unique<PeerWatch>(others, [&transport, &say](const std::string& peer) {
        say(Error{peer + " is gone, and a call of the library of " + std::string{transport.name} + " does not return"});
        ::_exit(1);
    });
}

/// How a subscriber identifies itself to the publisher.
struct Introduction {
    std::size_t wish = 0;        ///< the number of the subscriber that it asks for; 0: any
    std::uint64_t secret = 0;    ///< known only to the subscribers of this run
    std::string companion = {};  ///< the address of the companion program of this process, if there is one
    LastWords last_words = [](const Error&) {};
};

Result<void> subscribe_and_run(const Options& options, const Transport& transport, int port, const Stop& stop, Log* log,
                               const Introduction& own = {}) {
    auto control = connect_control(options.address, port, limit_of(options), stop);
    if (!control) return with_origin_of_port(control.error(), options);
    const auto run_it = [&]() -> Result<void> {
        const auto number = greet_publisher(*control, agreement(options), limit_of(options), own.wish, own.secret);
        if (!number) return number.error();
        Side side{options, transport, *control, log, {}, name_of_subscriber(options, *number)};
        side.companion = own.companion;
        const auto watched = watch(transport, {&*control, 1}, own.last_words);
        return run_subscriber(side);
    };
    return explained(without_exceptions(run_it), {&*control, 1});
}

struct Own {
    const Companion* companion;  ///< nullptr: there is none
    LastWords last_words;
    std::uint64_t secret = 0;
    std::function<bool()> cannot_complete = [] { return false; };
};

Result<void> publish_and_run(const Options& options, const Transport& transport, const Listener& listener,
                             const Stop& stop, Log& log, const Own& own) {
    std::vector<Control> subscribers;
    SubscriberAcceptor acceptor{options, listener, stop, own.secret, own.cannot_complete};
    auto accepted = acceptor.accept_all(subscribers);
    acceptor.rejected().tell(log);
    if (!accepted) return explained(with_origin_of_port(accepted.error(), options), subscribers);
    Side side{options, transport, subscribers.front(), &log, subscribers};
    if (own.companion != nullptr) {
        side.companion = own.companion->address();
        side.companion_pid = own.companion->pid();
    }
    const auto watched = watch(transport, subscribers, own.last_words);
    return explained(without_exceptions([&] { return run_publisher(side); }), subscribers);
}

/// Each subscriber is a process of its own, with the name that it has in the log.
template <typename Work>
Result<std::vector<Child>> start_all(const Options& options, Work&& work) {
    std::vector<Child> children;
    children.reserve(options.audience.subscribers);
    for (std::size_t number = 1; number <= options.audience.subscribers; ++number) {
        const std::string name = name_of_subscriber(options, number);
        auto child =
            Child::start("the subscriber process" + (name.empty() ? "" : " " + name), [&] { return work(number); });
        if (!child) return child.error();
        children.push_back(std::move(*child));
    }
    return children;
}

/// The objects that a process needs for its run. They stay unchanged until its end.
struct Run {
    const Options& options;
    const Transport& transport;
    const Build& build;
    const Stop& stop;
    Log& log;
    Companion* companion;  ///< nullptr: this process has not started a companion program

    std::string companion_address() const { return companion == nullptr ? "" : companion->address(); }
};

/// Ends the log of a run that is stuck in a call of its library. Leaves out the counters of the kernel.
void say_and_end(const Run& run, const Error& error) {
    run.log.write(Failure{std::nullopt, shown(error.text)});
    complain(error.text);
    run.log.write(read_load(true));
    run.log.end();
    run.log.flush();
    if (run.companion != nullptr) run.companion->end_now();
}

Result<void> run_processes(const Run& run, const Listener& listener, std::vector<Child>& children,
                           std::uint64_t secret) {
    const auto one_ended = [&] {
        return std::any_of(children.begin(), children.end(), [](const Child& child) { return child.ended(); });
    };
    const auto explain = [&](const Error& error) {
        std::string fates;
        for (Child& child : children) {
            const std::string fate = child.reap();
            if (!fate.empty()) fates += (fates.empty() ? "" : ", ") + fate;
        }
        return fates.empty() ? error : Error{fates + " (" + error.text + ")"};
    };
    const auto say = [&](const Error& error) { say_and_end(run, explain(error)); };
    auto done = publish_and_run(run.options, run.transport, listener, run.stop, run.log,
                                {run.companion, say, secret, one_ended});
    return done ? done : explain(done.error());
}

Result<void> run_threads(const Run& run, const Listener& listener) {
    const std::uint64_t secret = new_secret();
    std::atomic<bool> one_failed{false};
    std::vector<Result<void>> ends(run.options.audience.subscribers);
    std::vector<std::thread> subscribers;
    const auto subscribe = [&](std::size_t at) {
        ends[at] = without_exceptions([&] {
            return subscribe_and_run(run.options, run.transport, listener.port(), run.stop, nullptr, {at + 1, secret});
        });
        if (!ends[at]) one_failed = true;
    };
    const auto started = without_exceptions([&]() -> Result<void> {
        for (std::size_t at = 0; at < ends.size(); ++at) subscribers.emplace_back([&, at] { subscribe(at); });
        return {};
    });
    if (!started) one_failed = true;
    auto published = without_exceptions([&] {
        return publish_and_run(run.options, run.transport, listener, run.stop, run.log,
                               {run.companion, {}, secret, [&] { return one_failed.load(); }});
    });
    for (auto& subscriber : subscribers) subscriber.join();
    if (!started) return started;
    const auto failed = std::find_if(ends.begin(), ends.end(), [](const auto& end) { return !end; });
    return published && failed != ends.end() ? *failed : published;
}

/// A run that drops messages for slow subscribers is best effort, even over a transport that loses nothing.
std::string reliability_of(const Options& options, const Transport& transport) {
    const bool everything =
        transport.reliability == Reliability::reliable && options.audience.slow == SlowSubscriber::block;
    return everything ? "reliable" : "best-effort";
}

/// Returns the word for the log that says what the run does if a subscriber is slow. Returns an empty text if the
/// transport never waits for a subscriber, because the user then has no choice.
std::string slow_subscriber_of(const Options& options, const Transport& transport) {
    return transport.reliability == Reliability::reliable ? std::string{to_text(options.audience.slow)} : "";
}

std::string_view to_text(Reach reach) {
    if (reach == Reach::network) return "network";
    return reach == Reach::host ? "host" : "process";
}

/// Returns the kernel's counters before the run.
PathCounters write_head(const Run& run) {
    const auto& [options, transport, build, stop, log, companion] = run;
    log.write(build);
    log.write(Config{options, std::string{transport.data_path}, reliability_of(options, transport),
                     slow_subscriber_of(options, transport), std::string{to_text(transport.reach)}});
    if (!options.settings.empty()) log.write(SettingsInEffect{options.settings});
    if (companion != nullptr) log.write(CompanionFacts{companion->facts()});
    log.write(read_host());
    log.write(measure_clock());
    log.write(read_load(false));
    log.write(Start{utc_time()});
    if (!transport.remark.empty()) log.write(Note{std::string{transport.remark}});
    return read_path_counters();
}

/// The growth of the kernel's counters shows whether the data really took the network path that the log states.
void write_path(const Run& run, const PathCounters& before) {
    const Path path = path_between(before, read_path_counters());
    if (!path.counters.empty()) run.log.write(path);
    if (!run.transport.way) return;
    // The bytes are divided by the number of subscribers, because a message to several subscribers may have been sent
    // only once.
    const WayTaken way =
        way_taken(*run.transport.way, path, run.log.counts().carried_bytes / run.options.audience.subscribers);
    run.log.write(way);
    if (const std::string words = words_of_fallback(way); !words.empty()) run.log.write(Note{words});
}

int conclude(const Run& run, const Result<void>& done, const PathCounters& before) {
    Log& log = run.log;
    if (!done) {
        const auto trouble = run.companion == nullptr ? std::nullopt : run.companion->trouble();
        const std::string text = done.error().text + (trouble ? " (" + *trouble + ")" : "");
        log.write(Failure{std::nullopt, shown(text)});
        complain(text);
    }
    write_path(run, before);
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

int run_forked(const Run& run, const Listener& listener) {
    const std::uint64_t secret = new_secret();
    // Forks before anything is written: otherwise each process would write the buffered output again.
    auto children = start_all(run.options, [&](std::size_t number) {
        const Introduction own{number, secret};
        return without_exceptions([&] {
            return subscribe_and_run(run.options, run.transport, listener.port(), run.stop, nullptr, own);
        })
                   ? 0
                   : 1;
    });
    const PathCounters before = write_head(run);
    if (!children) return conclude(run, children.error(), before);
    return conclude(run, run_processes(run, listener, *children, secret), before);
}

/// The head of the log is written after everything else is set up.
int run_role(const Run& run) {
    const auto& [options, transport, build, stop, log, companion] = run;
    const int port = control_port(options);
    const auto say = [&](const Error& error) { say_and_end(run, error); };
    if (options.role == Role::sub) {
        const PathCounters before = write_head(run);
        const Introduction own{0, told_secret(), run.companion_address(), say};
        return conclude(run, subscribe_and_run(options, transport, port, stop, &log, own), before);
    }
    const auto listener = Listener::open(options.address, port);
    const bool both = options.role == Role::both;
    if (listener && both && transport.parties == Parties::processes) return run_forked(run, *listener);
    const PathCounters before = write_head(run);
    if (!listener) return conclude(run, with_origin_of_port(listener.error(), options), before);
    if (both) return conclude(run, run_threads(run, *listener), before);
    return conclude(run, publish_and_run(options, transport, *listener, stop, log, {companion, say, told_secret()}),
                    before);
}

/// Opens the log that is written to the file `output`, or to standard output if `output` is "-".
Result<Log> open_log(const std::string& output, std::ofstream& file) {
    const std::string name = "--output " + output;
    if (output == "-") return Log{name, std::cout};
    file.open(output, std::ios::trunc);
    if (!file) return os_error(name);
    return Log{name, file};
}

RunPlan plan_of(const Options& options) {
    RunPlan plan{options.settings,   options.sizes,     options.waiting, options.audience,
                 options.publishers, options.instances, options.address};
    plan.publishes = options.role != Role::sub;
    plan.subscribes = options.role != Role::pub;
    return plan;
}

/// Starts the companion program if the transport needs one, and checks that everything is ready.
Result<std::unique_ptr<Companion>> prepare(const Options& options, const Transport& transport) {
    const RunPlan plan = plan_of(options);
    std::unique_ptr<Companion> companion;
    if (transport.start_companion != nullptr) {
        auto started = transport.start_companion(plan);
        if (!started) return started.error();
        companion = std::move(*started);
    }
    if (transport.ready != nullptr) {
        if (const auto fine = transport.ready(plan); !fine) return fine.error();
    }
    return companion;
}

Result<void> refused(const Options& options, const Transport* transport) {
    if (const auto wrong = objection(options, transport)) return Error{*wrong};
    for (const auto& [role, cpus] : {std::pair{"pub", options.cpu_pub}, std::pair{"sub", options.cpu_sub}}) {
        if (const auto fine = can_pin(role, cpus); !fine) return fine;
    }
    return can_apply(options.tuning);
}

}  // namespace

int run(const Options& options, const Build& build) {
    const Transport* found = find_transport(options.transport);
    const Transport transport = found == nullptr ? Transport{} : adjusted(*found, options.settings);
    if (const auto fine = refused(options, found == nullptr ? nullptr : &transport); !fine) {
        complain(fine.error().text);
        return 2;
    }
    // With this, a write to a closed pipe fails and is reported, instead of ending the process.
    ::signal(SIGPIPE, SIG_IGN);
    // Called before anything is started, so that the run ends cleanly at any signal.
    const auto stop = Stop::watch();
    if (!stop) {
        complain(stop.error().text);
        return 1;
    }
    const auto companion = prepare(options, transport);
    if (!companion) {
        complain(companion.error().text);
        return stop->requested() ? 1 : 2;
    }
    std::ofstream file;
    auto log = open_log(options.output, file);
    if (!log) {
        complain(log.error().text);
        return 2;
    }
    const Run whole{options, transport, build, *stop, *log, companion->get()};
    const auto code = without_exceptions([&]() -> Result<int> { return run_role(whole); });
    if (code) return *code;
    complain(code.error().text);
    log->write(Failure{std::nullopt, shown(code.error().text)});
    log->end();
    return 1;
}

}  // namespace tacholog
