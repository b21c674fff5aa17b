// iceoryx2. Messages are written and read in place in shared memory, and the publisher puts the position of a message
// into the queue of each subscriber. There is no daemon. A side that sleeps is woken by an event service of the
// library, which needs a second call per message. With `--wait busy-poll` there is no such call.
//
// The setting `queue-full` decides what is guaranteed. Messages that arrive are always complete and in order.
// - `discard`: the library's default, best effort. A full queue loses its oldest message.
// - `wait`: reliable. The publisher waits for room inside the library. After 10 s this fails with an error, because the
//   subscriber may be dead.
// There are no keys: the messages of all instances use one queue. Each channel has its own files in /dev/shm. The side
// that ends last removes them. Files are left there only if all sides are killed.
#include <array>
#include <filesystem>
#include <iomanip>
#include <memory>
#include <sstream>
#include <utility>

#include "adapters/attempts.hpp"
#include "adapters/iceoryx2/shim.hpp"
#include "adapters/name_hash.hpp"
#include "adapters/sides.hpp"
#include "base/waiting.hpp"
#include "transports/transport.hpp"

namespace tacholog::transports {
namespace {

constexpr std::string_view library_version = TACHOLOG_ICEORYX2_VERSION;  // exactly the version in Cargo.toml

/// Checks that the value is an allowed word. The setting does not list the words as its values, because the tests over
/// all transports would then run once for each word.
Result<void> queue_full_word(std::string_view value) {
    return value == "discard" || value == "wait" ? Result<void>{} : Error{"neither discard nor wait"};
}

constexpr std::array settings{
    Setting{.name = "queue-full",
            .values = "WORD",
            .default_value = "discard",
            .meaning = "what happens if the queue of a subscriber is full: discard loses its oldest message (safe "
                       "overflow), which is the library's default; wait waits for room (RetryUntilDelivered)",
            .check = queue_full_word},
    Setting{.name = "queue",
            .values = "N",
            .default_value = "2",
            .meaning = "how many messages each subscriber's queue holds (subscriber_max_buffer_size); 2 is the "
                       "library's own default",
            .check = whole_number<1, 65'536>},
    Setting{.name = "history",
            .values = "N",
            .default_value = "0",
            .meaning = "how many messages the publisher keeps for subscribers that come late (history_size); 0 is the "
                       "library's own default",
            .check = whole_number<0, 65'536>},
};

constexpr std::string_view memory_folder = "/dev/shm/";
constexpr std::uint64_t longest_wait_ms = 10'000;

bool waits(const Settings& given) {
    return value_of(given, "queue-full") == "wait";
}

Facts library_facts() {
    return facts_of_library("iceoryx2", std::string{library_version});
}

/// A buffer into which functions of the library write their error text.
class Problem {
public:
    Problem() = default;
    Problem(const Problem&) = delete;
    Problem& operator=(const Problem&) = delete;

    const tacholog_iox2_error* place() const { return &place_; }
    Error during(const std::string& operation) const { return Error{operation + ": iceoryx2 error " + text_.data()}; }

private:
    std::array<char, 256> text_{};
    tacholog_iox2_error place_{text_.data(), text_.size()};
};

/// A folder, and next to it the files of the library's shared memory. All names begin with the library's prefix, so
/// that users can tell which program they come from. They are short, because some of them name sockets (limit: 108
/// bytes with the path).
class Files {
public:
    explicit Files(const std::string& channel) {
        std::ostringstream name;
        name << "iox2_" << std::hex << std::setfill('0') << std::setw(16) << name_hash(channel);
        prefix_ = name.str() + "_";
        root_ = std::string{memory_folder} + name.str();
    }
    Files(const Files&) = delete;
    Files& operator=(const Files&) = delete;
    /// The library leaves behind the folders that it has created, and a file in which it counts its nodes. If a folder
    /// still holds files of the other side, it stays, and the other side removes it later.
    ~Files() {
        std::error_code problem;
        for (const std::string inner : {"/nodes", "/services", ""}) std::filesystem::remove(root_ + inner, problem);
        if (std::filesystem::exists(root_, problem)) return;
        for (const auto& entry : std::filesystem::directory_iterator{memory_folder, problem})
            if (entry.path().filename().string().starts_with(prefix_)) std::filesystem::remove(entry.path(), problem);
    }

    tacholog_iox2_topic describe(const Topic& topic) const {
        return {.root = root_.c_str(),
                .prefix = prefix_.c_str(),
                .name = topic.channel.c_str(),
                .max_bytes = topic.max_bytes,
                .subscribers = topic.audience.subscribers,
                .queue = number_of(topic.settings, "queue"),
                .history = number_of(topic.settings, "history"),
                .discards = !waits(topic.settings),
                .sleeps = sleeps(topic.waiting),
                .longest_wait_ms = longest_wait_ms};
    }

private:
    std::string prefix_;
    std::string root_;
};

class Iceoryx2Publisher final : public Publisher {
public:
    explicit Iceoryx2Publisher(const Topic& topic)
        : Publisher(topic.max_bytes),
          channel_(topic.channel),
          subscribers_(topic.audience.subscribers),
          files_(topic.channel) {}
    ~Iceoryx2Publisher() override {
        if (end_ != nullptr) ::tacholog_iox2_publisher_close(end_);
    }

    Result<void> join(const Topic& topic) {
        const Problem problem;
        const auto described = files_.describe(topic);
        end_ = ::tacholog_iox2_advertise(&described, problem.place());
        return end_ != nullptr ? Result<void>{} : problem.during("advertise " + channel_);
    }

    Result<Done> match(Patience patience) override {
        constexpr Nanoseconds nap_ns = 200'000;
        for (const Deadline deadline{patience}; ::tacholog_iox2_subscribers(end_) < subscribers_;
             sleep_until(now_ns() + nap_ns))
            if (deadline.passed()) return Done::not_yet;
        return Done::yes;
    }

    Facts facts() const override { return library_facts(); }

private:
    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        const Problem problem;
        std::byte* place = ::tacholog_iox2_loan(end_, bytes, problem.place());
        if (place == nullptr) return problem.during("loan " + std::to_string(bytes) + " bytes");
        return std::span{place, bytes};
    }

    Result<Done> commit(Patience) override {
        const Problem problem;
        const std::int64_t reached = ::tacholog_iox2_publish(end_, problem.place());
        if (reached < 0) return problem.during("publish on " + channel_);
        if (static_cast<std::size_t>(reached) < subscribers_ && ::tacholog_iox2_subscribers(end_) < subscribers_)
            return Error{"publish on " + channel_ + ": the subscriber is gone"};
        return Done::yes;
    }

    void abandon() noexcept override { ::tacholog_iox2_abandon(end_); }

    std::string channel_;
    std::size_t subscribers_;
    Files files_;
    tacholog_iox2_publisher* end_ = nullptr;
};

class Iceoryx2Subscriber final : public Subscriber {
public:
    explicit Iceoryx2Subscriber(const Topic& topic)
        : channel_(topic.channel), waiting_(topic.waiting), files_(topic.channel) {}
    ~Iceoryx2Subscriber() override {
        if (end_ != nullptr) ::tacholog_iox2_subscriber_close(end_);
    }

    Result<void> join(const Topic& topic) {
        const Problem problem;
        const auto described = files_.describe(topic);
        end_ = ::tacholog_iox2_subscribe(&described, problem.place());
        return end_ != nullptr ? Result<void>{} : problem.during("subscribe to " + channel_);
    }

    /// Both sides use the name of the channel to connect.
    std::string endpoint() const override { return channel_; }

    Result<Done> match(Patience patience) override {
        constexpr Nanoseconds nap_ns = 200'000;
        for (const Deadline deadline{patience}; ::tacholog_iox2_publishers(end_) == 0; sleep_until(now_ns() + nap_ns))
            if (deadline.passed()) return Done::not_yet;
        const Problem problem;
        if (::tacholog_iox2_connect(end_, problem.place())) return Done::yes;
        return problem.during("join the publisher of " + channel_);
    }

    Facts facts() const override { return library_facts(); }

private:
    Result<std::span<const std::byte>> receive(Patience patience) override {
        auto came = take();
        for (BusyPoll poll{patience, waiting_}; came && came->data() == nullptr && poll.wait();) came = take();
        if (came && came->data() == nullptr && sleeps(waiting_)) came = sleep(patience);
        if (!came || came->data() != nullptr || ::tacholog_iox2_publishers(end_) > 0) return came;
        // The publisher may have published another message before it left.
        came = take();
        if (came && came->data() == nullptr) return Error{"take from " + channel_ + ": the publisher is gone"};
        return came;
    }

    Result<std::span<const std::byte>> sleep(Patience patience) {
        Result<std::span<const std::byte>> came{std::span<const std::byte>{}};
        const Nanoseconds deadline = now_ns() + to_nanoseconds(patience);
        for (Nanoseconds left = to_nanoseconds(patience); came && came->data() == nullptr && left > 0;
             left = deadline - now_ns()) {
            const Problem problem;
            sleep_until_ready(::tacholog_iox2_descriptor(end_), POLLIN, left);
            if (!::tacholog_iox2_clear(end_, problem.place())) return problem.during("wait for " + channel_);
            came = take();
        }
        return came;
    }

    Result<std::span<const std::byte>> take() {
        const Problem problem;
        const std::byte* bytes = nullptr;
        std::size_t length = 0;
        const auto came = ::tacholog_iox2_take(end_, &bytes, &length, problem.place());
        if (came < 0) return problem.during("take from " + channel_);
        return came == 0 ? std::span<const std::byte>{} : std::span{bytes, length};
    }

    void release() noexcept override { ::tacholog_iox2_release(end_); }

    std::string channel_;
    Waiting waiting_;
    Files files_;
    tacholog_iox2_subscriber* end_ = nullptr;
};

Result<void> ready(const RunPlan& plan) {
    if (number_of(plan.settings, "history") > number_of(plan.settings, "queue"))
        return Error{"iceoryx2: a history longer than the queue would be lost at once: set queue, too"};
    std::error_code problem;
    if (std::filesystem::is_directory(memory_folder, problem)) return {};
    return Error{"iceoryx2: there is no folder /dev/shm, where shared memory is: mount a tmpfs there"};
}

void adjust(Transport& promised, const Settings& given) {
    if (waits(given)) promised.reliability = Reliability::reliable;
}

}  // namespace

extern const Transport iceoryx2{
    .name = "iceoryx2",
    .summary = "iceoryx2 between processes of one host, in place in shared memory; best effort unless set otherwise",
    .data_path = "zero-copy",
    .reliability = Reliability::best_effort,
    .reach = Reach::host,
    .subscribe = joined_subscriber<Iceoryx2Subscriber>,
    .advertise = joined_publisher<Iceoryx2Publisher>,
    .reaches_several = true,
    .settings = settings,
    .adjust = adjust,
    .way = Way::local,
    .ready = ready,
};

}  // namespace tacholog::transports
