// iceoryx 2: messages in shared memory, written and read in place; the publisher puts a pointer into each subscriber's
// queue. A daemon, RouDi, owns the memory: the run starts one and ends it, unless one runs on this host already, of
// which there can be no two. That one's pools must have room for the sizes measured.
//
// What it guarantees depends on the setting `queue-full`; messages stay in order and whole with both.
//   discard   as it comes: best effort. A full queue loses its oldest message.
//   wait      reliable. The publisher waits for room within the library, which knows no patience: it polls, until RouDi
//             finds after some 1.5 s that the subscriber has died.
// There are no keys: messages of all instances go by one queue. A process of RouDi's that is killed leaves its memory
// in /dev/shm, which the next RouDi takes over.
#include <grp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>

#include <filesystem>
#include <fstream>
#include <iceoryx_hoofs/log/logmanager.hpp>
#include <iceoryx_posh/iceoryx_posh_types.hpp>
#include <iceoryx_posh/mepoo/chunk_header.hpp>
#include <iceoryx_posh/popo/untyped_publisher.hpp>
#include <iceoryx_posh/popo/untyped_subscriber.hpp>
#include <iceoryx_posh/popo/wait_set.hpp>
#include <iceoryx_posh/runtime/posh_runtime.hpp>
#include <iceoryx_versions.hpp>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "core/helper_program.hpp"
#include "core/waiting.hpp"
#include "transports/transport.hpp"

namespace tacholog::transports {
namespace {

/// Not a list of words: the tests over all transports would wait for ever in `wait`.
Result<void> queue_full_word(std::string_view value) {
    if (value == "discard" || value == "wait") return {};
    return Error{"neither discard nor wait"};
}

constexpr std::array settings{
    Setting{.name = "queue-full",
            .values = "WORD",
            .default_value = "discard",
            .meaning = "what happens to a message that finds a subscriber's queue full: discard the oldest one there, "
                       "which is the library's default, or wait for room (BLOCK_PRODUCER, WAIT_FOR_CONSUMER)",
            .check = queue_full_word},
    Setting{.name = "queue",
            .values = "N",
            .default_value = "256",
            .meaning = "how many messages each subscriber's queue holds, 256 by the library's default; of large ones "
                       "as many as fit into 8 MiB, at least 4",
            .check = whole_number<1, 256>},
};

constexpr std::size_t most_queued_bytes = std::size_t{8} * 1024 * 1024;
constexpr std::size_t least_queued = 4;

std::size_t queue_of(std::size_t message_bytes, std::size_t wanted) {
    return std::min(wanted, std::max(least_queued, most_queued_bytes / message_bytes));
}

bool waits(const Settings& given) {
    return value_of(given, "queue-full") == "wait";
}

Facts library_facts() {
    Facts facts;
    add_fact(facts, library_key, "iceoryx");
    add_fact(facts, library_version_key,
             std::to_string(ICEORYX_VERSION_MAJOR) + "." + std::to_string(ICEORYX_VERSION_MINOR) + "." +
                 std::to_string(ICEORYX_VERSION_PATCH));
    return facts;
}

/// The process as RouDi knows it, for as long as it lives. Made late, as the library starts a thread.
void join_roudi() {
    static const bool joined = [] {
        // Its log goes to the standard output, where ours is.
        iox::log::LogManager::GetLogManager().SetDefaultLogLevel(iox::log::LogLevel::kOff,
                                                                 iox::log::LogLevelOutput::kHideLogLevel);
        const std::string name = "tacholog-" + std::to_string(::getpid());
        iox::runtime::PoshRuntime::initRuntime(iox::RuntimeName_t{iox::cxx::TruncateToCapacity, name});
        return true;
    }();
    static_cast<void>(joined);
}

iox::capro::ServiceDescription service_of(const Topic& topic) {
    using Id = iox::capro::IdString_t;
    return {"tacholog", Id{iox::cxx::TruncateToCapacity, topic.channel}, "octets"};
}

class IceoryxPublisher final : public Publisher {
public:
    explicit IceoryxPublisher(const Topic& topic)
        : Publisher(topic.max_bytes), channel_(topic.channel), publisher_(service_of(topic), options_of(topic)) {}

    Result<bool> match(Patience patience) override {
        constexpr Nanoseconds nap_ns = 200'000;
        // Whether all are there, each subscriber knows for itself.
        for (const Deadline deadline{patience}; !publisher_.hasSubscribers(); sleep_until(now_ns() + nap_ns))
            if (deadline.passed()) return false;
        return true;
    }

    Facts facts() const override { return library_facts(); }

private:
    static iox::popo::PublisherOptions options_of(const Topic& topic) {
        iox::popo::PublisherOptions options;
        if (waits(topic.settings))
            options.subscriberTooSlowPolicy = iox::popo::ConsumerTooSlowPolicy::WAIT_FOR_CONSUMER;
        return options;
    }

    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        auto loaned = publisher_.loan(static_cast<std::uint32_t>(bytes));
        if (loaned.has_error())
            return Error{"loan " + std::to_string(bytes) + " bytes: iceoryx error " +
                         std::to_string(static_cast<int>(loaned.get_error())) + " (too few chunks of RouDi's?)"};
        loaned_ = loaned.value();
        return std::span{static_cast<std::byte*>(loaned_), bytes};
    }

    Result<bool> commit(Patience) override {
        if (!publisher_.hasSubscribers()) return Error{"publish on " + channel_ + ": the subscriber is gone"};
        publisher_.publish(loaned_);
        return true;
    }

    void abandon() noexcept override { publisher_.release(loaned_); }

    std::string channel_;
    iox::popo::UntypedPublisher publisher_;
    void* loaned_ = nullptr;
};

class IceoryxSubscriber final : public Subscriber {
public:
    explicit IceoryxSubscriber(const Topic& topic)
        : channel_(topic.channel), waiting_(topic.waiting), subscriber_(service_of(topic), options_of(topic)) {
        if (!sleeps(waiting_)) return;
        set_.emplace();
        failed_ = set_->attachState(subscriber_, iox::popo::SubscriberState::HAS_DATA).has_error();
    }
    ~IceoryxSubscriber() override {
        if (set_) set_->detachState(subscriber_, iox::popo::SubscriberState::HAS_DATA);
    }

    bool failed() const { return failed_; }
    std::string endpoint() const override { return channel_; }

    Result<bool> match(Patience patience) override {
        constexpr Nanoseconds nap_ns = 200'000;
        for (const Deadline deadline{patience}; subscriber_.getSubscriptionState() != iox::SubscribeState::SUBSCRIBED;
             sleep_until(now_ns() + nap_ns))
            if (deadline.passed()) return false;
        return true;
    }

    Facts facts() const override { return library_facts(); }

private:
    static iox::popo::SubscriberOptions options_of(const Topic& topic) {
        iox::popo::SubscriberOptions options;
        options.queueCapacity = queue_of(topic.max_bytes, number_of(topic.settings, "queue"));
        if (waits(topic.settings)) options.queueFullPolicy = iox::popo::QueueFullPolicy::BLOCK_PRODUCER;
        return options;
    }

    Result<std::span<const std::byte>> receive(Patience patience) override {
        auto came = take();
        for (BusyPoll poll{patience, waiting_}; came && !*came && poll.wait();) came = take();
        if (came && !*came && set_) {
            const Nanoseconds deadline = now_ns() + to_nanoseconds(patience);
            for (Nanoseconds left = to_nanoseconds(patience); came && !*came && left > 0; left = deadline - now_ns()) {
                set_->timedWait(iox::units::Duration::fromNanoseconds(static_cast<std::uint64_t>(left)));
                came = take();
            }
        }
        if (!came) return came.error();
        if (!*came) return std::span<const std::byte>{};
        const auto* header = iox::mepoo::ChunkHeader::fromUserPayload(taken_);
        return std::span{static_cast<const std::byte*>(taken_), header->userPayloadSize()};
    }

    Result<bool> take() {
        auto taken = subscriber_.take();
        if (!taken.has_error()) {
            taken_ = taken.value();
            return true;
        }
        if (taken.get_error() == iox::popo::ChunkReceiveResult::NO_CHUNK_AVAILABLE) return false;
        return Error{"take from " + channel_ + ": too many messages are held"};
    }

    void release() noexcept override { subscriber_.release(taken_); }

    std::string channel_;
    Waiting waiting_;
    bool failed_ = false;
    iox::popo::UntypedSubscriber subscriber_;
    std::optional<iox::popo::WaitSet<1>> set_;
    const void* taken_ = nullptr;
};

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    join_roudi();
    auto subscriber = std::make_unique<IceoryxSubscriber>(topic);
    if (subscriber->failed()) return Error{"subscribe to " + topic.channel + ": iceoryx has no WaitSet left"};
    return std::unique_ptr<Subscriber>{std::move(subscriber)};
}

Result<std::unique_ptr<Publisher>> advertise_to_all(const Topic& topic, std::span<const std::string> endpoints) {
    for (const std::string& endpoint : endpoints)
        if (endpoint != topic.channel) return Error{"advertise to '" + endpoint + "': not a topic of this run"};
    join_roudi();
    return std::unique_ptr<Publisher>{std::make_unique<IceoryxPublisher>(topic)};
}

/// Its pools: sizes as those of RouDi's example, as many chunks of each as queues of a few topics take, and those that
/// publisher and subscriber hold. For larger messages one more.
std::string pools(const RunPlan& plan) {
    constexpr std::array<std::size_t, 7> ladder{128, 1024, 16'384, 131'072, 524'288, 1'048'576, 4'194'304};
    constexpr std::size_t topics = 4;
    constexpr std::size_t held = 10;
    std::string text = "[general]\nversion = 1\n\n[[segment]]\n";
    const auto pool = [&](std::size_t bytes) {
        const std::size_t chunks = topics * (queue_of(bytes, 256) + held);
        text += "\n[[segment.mempool]]\nsize = " + std::to_string(bytes) + "\ncount = " + std::to_string(chunks) + "\n";
    };
    for (const std::size_t bytes : ladder) pool(bytes);
    constexpr std::size_t alignment = 64;
    if (plan.largest_bytes() > ladder.back()) pool((plan.largest_bytes() + alignment - 1) / alignment * alignment);
    return text;
}

/// A running RouDi. The library takes its leave of it at the end of the process, so that it must still be there: it is
/// kept by a variable that was made before the library's, and so goes after it.
class RouDi final : public Companion {
public:
    class Running {
    public:
        Running(PrivateFolder folder, std::unique_ptr<HelperProgram> program)
            : folder_(std::move(folder)), program_(std::move(program)) {}
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;
        /// Asked to end, RouDi sends SIGTERM to all processes that it knows, and aborts where one has gone already
        /// (2.0.3 with assertions, as Debian builds it). So it is killed, and its memory removed in its place.
        ~Running() {
            // The memory first: as long as this RouDi lives, there is no other whose memory it could be.
            ::shm_unlink("/iceoryx_mgmt");
            const group* own = ::getgrgid(::getegid());
            if (own != nullptr) ::shm_unlink((std::string{"/"} + own->gr_name).c_str());
            ::kill(program_->pid(), SIGKILL);
            program_.reset();
        }

        const HelperProgram& program() const { return *program_; }

    private:
        PrivateFolder folder_;
        std::unique_ptr<HelperProgram> program_;
    };

    explicit RouDi(std::unique_ptr<Running> running) : running_(std::move(running)) { kept(); }
    ~RouDi() override {
        if (!Kept::is_over) kept() = std::move(running_);
    }

    std::string address() const override { return "roudi"; }  // there is one to a host
    Facts facts() const override {
        return {{"name", "iox-roudi"},
                {"version", library_facts().back().value},
                {"pid", std::to_string(running_->program().pid())},
                {"command", running_->program().command()}};
    }
    pid_t pid() const override { return running_->program().pid(); }
    std::optional<std::string> trouble() const override { return running_->program().trouble(); }

private:
    struct Kept {
        std::unique_ptr<Running> running;
        ~Kept() { is_over = true; }
        inline static bool is_over = false;
    };
    static std::unique_ptr<Running>& kept() {
        static Kept kept;
        return kept.running;
    }

    std::unique_ptr<Running> running_;
};

/// Whether the RouDi of this host is that of another run, which will end it.
bool roudi_is_of_a_run() {
    std::error_code ignored;
    for (const auto& process : std::filesystem::directory_iterator{"/proc", ignored}) {
        std::ifstream file{process.path() / "cmdline"};
        const std::string words{std::istreambuf_iterator<char>{file}, {}};
        if (words.find("iox-roudi") != std::string::npos && words.find("/tacholog-") != std::string::npos) return true;
    }
    return false;
}

Result<std::unique_ptr<Companion>> start_companion(const RunPlan& plan) {
    if (!plan.publishes) return std::unique_ptr<Companion>{};
    const auto path = find_program("iox-roudi", "iceoryx");
    if (!path) return path.error();
    auto folder = PrivateFolder::make();
    if (!folder) return folder.error();
    const auto file = folder->write("roudi.toml", pools(plan));
    if (!file) return file.error();
    // Its watch over processes takes one that got no CPU for 1.5 s for dead; only a publisher that waits needs it.
    const std::string monitoring = waits(plan.settings) ? "on" : "off";
    const HelperProgram::Order order{.words = {*path, "--config-file", *file, "--monitoring-mode", monitoring}};
    const auto is_ready = [](const HelperProgram& program) {
        return program.output().find("RouDi is ready for clients") != std::string::npos;
    };
    // That of another run ends with it, and would leave us alone: so we wait for our turn. Any other is ours to use.
    constexpr Nanoseconds nap_ns = 50'000'000;
    constexpr Patience until_another_has_ended{1000};
    constexpr Patience our_turn{60'000};
    const Deadline one_moment{until_another_has_ended};
    for (const Deadline deadline{our_turn};; sleep_until(now_ns() + nap_ns)) {
        auto started = HelperProgram::start(order, *folder, is_ready);
        if (started)
            return std::unique_ptr<Companion>{
                new RouDi{std::make_unique<RouDi::Running>(std::move(*folder), std::move(*started))}};
        std::ifstream printed{folder->path() + "/iox-roudi.output"};
        const std::string output{std::istreambuf_iterator<char>{printed}, {}};
        if (output.find("is RouDi still running") == std::string::npos) return started.error();
        if (deadline.passed()) return Error{"iox-roudi: another run uses the one that this host can have"};
        if (one_moment.passed() && !roudi_is_of_a_run()) return std::unique_ptr<Companion>{};
    }
}

void adjust(Transport& promised, const Settings& given) {
    if (waits(given)) promised.reliability = Reliability::reliable;
}

}  // namespace

extern const Transport iceoryx{
    .name = "iceoryx",
    .summary = "iceoryx between processes of one host, in place in shared memory; best effort unless set otherwise",
    .data_path = "zero-copy",
    .reliability = Reliability::best_effort,
    .reach = Reach::host,
    .subscribe = subscribe,
    .advertise = advertise_to_one<advertise_to_all>,
    .advertise_to_all = advertise_to_all,
    .settings = settings,
    .adjust = adjust,
    .way = Way::local,
    .start_companion = start_companion,
};

}  // namespace tacholog::transports
