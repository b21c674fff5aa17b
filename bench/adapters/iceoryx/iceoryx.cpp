// iceoryx in version 2 (iceoryx2 is another library). Messages are written and read in place in shared memory, and the
// publisher puts a pointer into the queue of each subscriber. The memory belongs to a daemon, RouDi. A host can have
// only one RouDi. The run starts and ends it, unless one is already running. In this case, the memory pools of the
// running RouDi must have room for the measured sizes.
//
// The setting `queue-full` decides what is guaranteed. Messages that arrive are always complete and in order.
// - `discard`: the library's default, best effort. A full queue loses its oldest message.
// - `wait`: reliable. The publisher waits for room inside the library, which has no timeout. It polls until RouDi
//   notices, after some 1.5 s, that the subscriber has died.
// There are no keys: the messages of all instances use one queue. A process of iceoryx that is killed leaves its memory
// in /dev/shm; the next RouDi reuses it.
#include <unistd.h>

#include <iceoryx_hoofs/log/logmanager.hpp>
#include <iceoryx_posh/iceoryx_posh_types.hpp>
#include <iceoryx_posh/mepoo/chunk_header.hpp>
#include <iceoryx_posh/popo/untyped_publisher.hpp>
#include <iceoryx_posh/popo/untyped_subscriber.hpp>
#include <iceoryx_posh/popo/wait_set.hpp>
#include <iceoryx_posh/runtime/posh_runtime.hpp>
#include <iceoryx_versions.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "adapters/roudi.hpp"
#include "adapters/sides.hpp"
#include "base/waiting.hpp"
#include "transports/transport.hpp"

namespace tacholog::transports {
namespace {

/// Checks that the value is an allowed word. The setting does not list the words as its values, because the tests over
/// all transports use each listed word. With `wait`, these tests would never end.
Result<void> queue_full_word(std::string_view value) {
    if (value == "discard" || value == "wait") return {};
    return Error{"neither discard nor wait"};
}

constexpr std::array settings{
    Setting{.name = "queue-full",
            .values = "WORD",
            .default_value = "discard",
            .meaning = "what happens if the queue of a subscriber is full: discard loses its oldest message, which is "
                       "the library's default; wait waits for room (BLOCK_PRODUCER, WAIT_FOR_CONSUMER)",
            .check = queue_full_word},
    Setting{.name = "queue",
            .values = "N",
            .default_value = "256",
            .meaning = "how many messages each subscriber's queue holds; if they are large, as many as fit into 8 MiB, "
                       "but at least 4; 256 is the library's default",
            .check = whole_number<1, 256>},
};

bool waits(const Settings& given) {
    return value_of(given, "queue-full") == "wait";
}

Facts library_facts() {
    return facts_of_library("iceoryx",
                            version_text(ICEORYX_VERSION_MAJOR, ICEORYX_VERSION_MINOR, ICEORYX_VERSION_PATCH));
}

/// The registration lasts until this process exits. It is made as late as possible, because the library starts a
/// thread.
Result<void> join_roudi() {
    if (!RouDi::is_running()) return RouDi::not_running();
    static const bool joined = [] {
        // Disables the library's log, which would be mixed with our results on standard output.
        iox::log::LogManager::GetLogManager().SetDefaultLogLevel(iox::log::LogLevel::kOff,
                                                                 iox::log::LogLevelOutput::kHideLogLevel);
        const std::string name = "tacholog-" + std::to_string(::getpid());
        iox::runtime::PoshRuntime::initRuntime(iox::RuntimeName_t{iox::cxx::TruncateToCapacity, name});
        return true;
    }();
    static_cast<void>(joined);
    RouDi::end_without_farewell();
    return {};
}

iox::capro::ServiceDescription service_of(const Topic& topic) {
    using Id = iox::capro::IdString_t;
    return {"tacholog", Id{iox::cxx::TruncateToCapacity, topic.channel}, "octets"};
}

class IceoryxPublisher final : public Publisher {
public:
    explicit IceoryxPublisher(const Topic& topic)
        : Publisher(topic.max_bytes), channel_(topic.channel), publisher_(service_of(topic), options_of(topic)) {}

    Result<Done> match(Patience patience) override {
        constexpr Nanoseconds nap_ns = 200'000;
        // The publisher waits only until one subscriber has connected. It need not wait for the others, because each
        // subscriber checks its own connection.
        for (const Deadline deadline{patience}; !publisher_.hasSubscribers(); sleep_until(now_ns() + nap_ns))
            if (deadline.passed()) return Done::not_yet;
        return Done::yes;
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

    Result<Done> commit(Patience) override {
        if (!publisher_.hasSubscribers()) return Error{"publish on " + channel_ + ": the subscriber is gone"};
        publisher_.publish(loaned_);
        return Done::yes;
    }

    void abandon() noexcept override { publisher_.release(loaned_); }

    std::string channel_;
    iox::popo::UntypedPublisher publisher_;
    void* loaned_ = nullptr;
};

iox::popo::SubscriberOptions subscriber_options_of(const Topic& topic) {
    iox::popo::SubscriberOptions options;
    options.queueCapacity = queue_of(topic.max_bytes, number_of(topic.settings, "queue"));
    if (waits(topic.settings)) options.queueFullPolicy = iox::popo::QueueFullPolicy::BLOCK_PRODUCER;
    return options;
}

class IceoryxSubscriber final : public Subscriber {
public:
    explicit IceoryxSubscriber(const Topic& topic)
        : channel_(topic.channel),
          waiting_(topic.waiting),
          subscriber_(service_of(topic), subscriber_options_of(topic)) {
        if (!sleeps(waiting_)) return;
        set_.emplace();
        failed_ = set_->attachState(subscriber_, iox::popo::SubscriberState::HAS_DATA).has_error();
    }
    ~IceoryxSubscriber() override {
        if (set_) set_->detachState(subscriber_, iox::popo::SubscriberState::HAS_DATA);
    }

    bool failed() const { return failed_; }
    std::string endpoint() const override { return channel_; }

    Result<Done> match(Patience patience) override {
        constexpr Nanoseconds nap_ns = 200'000;
        for (const Deadline deadline{patience}; subscriber_.getSubscriptionState() != iox::SubscribeState::SUBSCRIBED;
             sleep_until(now_ns() + nap_ns))
            if (deadline.passed()) return Done::not_yet;
        return Done::yes;
    }

    Facts facts() const override { return library_facts(); }

private:
    Result<std::span<const std::byte>> receive(Patience patience) override {
        auto came = take();
        for (BusyPoll poll{patience, waiting_}; is_not_yet_done(came) && poll.wait();) came = take();
        if (is_not_yet_done(came) && set_) {
            const Nanoseconds deadline = now_ns() + to_nanoseconds(patience);
            for (Nanoseconds left = to_nanoseconds(patience); is_not_yet_done(came) && left > 0;
                 left = deadline - now_ns()) {
                set_->timedWait(iox::units::Duration::fromNanoseconds(static_cast<std::uint64_t>(left)));
                came = take();
            }
        }
        if (!came.has_value()) return came.error();
        if (*came == Done::not_yet) return std::span<const std::byte>{};
        const auto* header = iox::mepoo::ChunkHeader::fromUserPayload(taken_);
        return std::span{static_cast<const std::byte*>(taken_), header->userPayloadSize()};
    }

    Result<Done> take() {
        auto taken = subscriber_.take();
        if (!taken.has_error()) {
            taken_ = taken.value();
            return Done::yes;
        }
        if (taken.get_error() == iox::popo::ChunkReceiveResult::NO_CHUNK_AVAILABLE) return Done::not_yet;
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
    if (auto joined = join_roudi(); !joined) return joined.error();
    auto subscriber = std::make_unique<IceoryxSubscriber>(topic);
    if (subscriber->failed()) return Error{"subscribe to " + topic.channel + ": iceoryx has no WaitSet left"};
    return std::unique_ptr<Subscriber>{std::move(subscriber)};
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, const Endpoints& endpoints) {
    if (auto fine = check_endpoints(topic, endpoints); !fine) return fine.error();
    if (auto joined = join_roudi(); !joined) return joined.error();
    return std::unique_ptr<Publisher>{std::make_unique<IceoryxPublisher>(topic)};
}

Result<std::unique_ptr<Companion>> start_companion(const RunPlan& plan) {
    return RouDi::start(plan, {.watches = waits(plan.settings), .queued = number_of(plan.settings, "queue")});
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
    .advertise = advertise,
    .reaches_several = true,
    .settings = settings,
    .adjust = adjust,
    .way = Way::local,
    .start_companion = start_companion,
    .may_wait_for_the_dead = true,
};

}  // namespace tacholog::transports
