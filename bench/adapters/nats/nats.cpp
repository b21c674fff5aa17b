// NATS: its official C library on both sides, and the broker nats-server, which the run starts and ends. This is Core
// NATS without JetStream, so nothing is stored. Each message is sent over TCP twice: to the broker, and from there to
// the subscribers.
//
// It is best effort. Messages that arrive are complete and in order. If a subscriber is slow, the library drops
// messages once 65536 of them or 64 MiB are waiting (its defaults). If the subscriber does not read at all, the broker
// closes its connection. Lost messages are counted. The broker accepts messages of up to 8 MiB here; its default limit
// is 1 MiB.
// A message is written into our buffer and copied into the library's buffer. It is copied into the kernel and out of it
// twice, and is read in the library's buffer. Threads of the library read from the socket, and write what is not sent
// immediately.
// Anybody who can reach the port can connect. On a host that is shared with other people, use a transport of our own.
#include <nats/nats.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "adapters/broker.hpp"
#include "base/waiting.hpp"

namespace tacholog::transports {
namespace {

constexpr std::size_t most_payload_bytes = std::size_t{8} * 1024 * 1024;

Result<void> check_asap(std::string_view value) {
    return value == "on" ? Result<void>{} : Error{"neither library nor on"};
}

constexpr std::array settings{
    // The manual advises this for programs that send one message and then wait for the other side (nats.h,
    // natsOptions_SetSendAsap: "it makes sense for the reply to be sent right away").
    Setting{.name = "send-asap",
            .values = "library or on",
            .default_value = "library",
            .meaning = "on: the publisher's thread sends each message at once; by the library's own default, a thread "
                       "of the library sends the messages, and joins them",
            .check = check_asap},
    Setting{.name = "pending-messages",
            .values = "library or N",
            .default_value = "library",
            .meaning = "how many messages may wait in the library for the subscriber, whatever their size "
                       "(natsSubscription_SetPendingLimits); its own default is 65536 messages or 64 MiB",
            .check = whole_number<1, 100'000'000>},
};

Error nats_error(const std::string& operation, natsStatus status) {
    return Error{operation + ": " + ::natsStatus_GetText(status)};
}

constexpr Nanoseconds one_ms = 1'000'000;

BrokerNames subjects_of(const Topic& topic) {
    return {topic, ".", "*"};
}

class Connection {
public:
    Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    /// Closes the connection first, which ends the reading thread. Otherwise this thread could deliver a message to a
    /// subscription that is being destroyed, and the library would crash (before version 3.6; nats.c, issue 637).
    ~Connection() {
        if (connection_ != nullptr) ::natsConnection_Close(connection_);
        if (subscription_ != nullptr) ::natsSubscription_Destroy(subscription_);
        if (connection_ != nullptr) ::natsConnection_Destroy(connection_);
    }

    Result<void> connect(const Topic& topic) {
        const auto broker = broker_of(topic);
        if (!broker) return broker.error();
        natsOptions* options = nullptr;
        ::natsOptions_Create(&options);
        const std::string url = "nats://" + to_text(*parse_address(broker->host, broker->port));
        ::natsOptions_SetURL(options, url.c_str());
        if (value_of(topic.settings, "send-asap") == "on") ::natsOptions_SetSendAsap(options, true);
        // The broker disconnects a slow subscriber, which may then reconnect. If the broker itself has ended,
        // reconnecting is useless, so there is only one attempt.
        constexpr int most_attempts = 1;
        constexpr std::int64_t pause_ms = 10;
        ::natsOptions_SetMaxReconnect(options, most_attempts);
        ::natsOptions_SetReconnectWait(options, pause_ms);
        const natsStatus status = ::natsConnection_Connect(&connection_, options);
        ::natsOptions_Destroy(options);
        return status == NATS_OK ? Result<void>{} : nats_error("connect to the broker at " + url, status);
    }

    /// Returns after the broker has confirmed the subscription.
    Result<void> subscribe(const Topic& topic, const std::string& subject) {
        natsStatus status = ::natsConnection_SubscribeSync(&subscription_, connection_, subject.c_str());
        const std::string pending = value_of(topic.settings, "pending-messages");
        if (status == NATS_OK && pending != "library") {
            constexpr int any_bytes = -1;
            status = ::natsSubscription_SetPendingLimits(
                subscription_, static_cast<int>(number_of(topic.settings, "pending-messages")), any_bytes);
        }
        if (status == NATS_OK) status = ::natsConnection_Flush(connection_);
        return status == NATS_OK ? Result<void>{} : nats_error("subscribe to " + subject, status);
    }

    Result<void> publish(const std::string& subject, std::span<const std::byte> message) const {
        const natsStatus status =
            ::natsConnection_Publish(connection_, subject.c_str(), message.data(), static_cast<int>(message.size()));
        return status == NATS_OK ? Result<void>{} : nats_error("publish on " + subject, status);
    }

    /// The broker confirms that it has received everything that was published. Returns not_yet if this takes longer
    /// than the given time.
    Result<Done> flush(std::int64_t milliseconds) const {
        const natsStatus status = ::natsConnection_FlushTimeout(connection_, milliseconds);
        if (status == NATS_OK || status == NATS_TIMEOUT) return done_if(status == NATS_OK);
        return nats_error("flush", status);
    }

    /// Returns nullptr if no message arrived within this time.
    Result<natsMsg*> next(std::int64_t milliseconds) const {
        natsMsg* message = nullptr;
        const natsStatus status = ::natsSubscription_NextMsg(&message, subscription_, milliseconds);
        // The library reports once that it has dropped messages. This is no error here, because the rig counts lost
        // messages.
        if (status == NATS_OK || status == NATS_TIMEOUT || status == NATS_SLOW_CONSUMER) return message;
        return nats_error("take a message", status);
    }

    /// The farewell arrives after all other messages.
    void leave(const std::string& subject) const {
        constexpr std::int64_t longest_ms = 200;
        if (publish(subject, {})) ::natsConnection_FlushTimeout(connection_, longest_ms);
    }

private:
    natsConnection* connection_ = nullptr;
    natsSubscription* subscription_ = nullptr;
};

Facts library_facts() {
    return facts_of_library("NATS", ::nats_GetVersion());
}

class NatsPublisher final : public Publisher {
public:
    explicit NatsPublisher(const Topic& topic)
        : Publisher(topic.max_bytes), channel_(topic.channel), subjects_(subjects_of(topic)) {
        message_.reserve(topic.max_bytes);
    }
    ~NatsPublisher() override {
        if (joined_) connection_.leave(subjects_.each.front());
    }

    /// Connects to the broker, and subscribes to the message that a subscriber sends when it leaves.
    Result<void> join(const Topic& topic) {
        if (auto done = connection_.connect(topic); !done) return done;
        if (auto done = connection_.subscribe(topic, subjects_.left); !done) return done;
        joined_ = true;
        return {};
    }

    Result<Done> settle(Patience patience) override {
        return connection_.flush(std::max<std::int64_t>(1, to_nanoseconds(patience) / one_ms));
    }

    Facts facts() const override { return library_facts(); }

private:
    static constexpr int sends_a_look = 64;

    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        message_.resize(bytes);
        return std::span{message_};
    }

    /// The library itself waits until the kernel has room.
    Result<Done> commit(Patience) override {
        if (++sends_ % sends_a_look == 0) {
            const auto farewell = connection_.next(0);
            if (!farewell) return farewell.error();
            left_ = left_ || *farewell != nullptr;
            ::natsMsg_Destroy(*farewell);
        }
        if (left_) return Error{"publish on " + channel_ + ": the subscriber is gone"};
        if (auto done = connection_.publish(subjects_.of(message_), message_); !done) return done.error();
        return Done::yes;
    }

    void abandon() noexcept override {}

    std::string channel_;
    BrokerNames subjects_;
    Connection connection_;
    std::vector<std::byte> message_;
    bool joined_ = false;
    bool left_ = false;
    int sends_ = 0;
};

class NatsSubscriber final : public Subscriber {
public:
    explicit NatsSubscriber(const Topic& topic)
        : channel_(topic.channel), waiting_(topic.waiting), subjects_(subjects_of(topic)) {}
    ~NatsSubscriber() override {
        release();
        if (joined_) connection_.leave(subjects_.left);
    }

    Result<void> join(const Topic& topic) {
        if (auto done = connection_.connect(topic); !done) return done;
        if (auto done = connection_.subscribe(topic, subjects_.heard); !done) return done;
        joined_ = true;
        return {};
    }

    /// Returns the name of the channel, by which both sides find each other at the broker.
    std::string endpoint() const override { return channel_; }

    /// The broker has confirmed the subscription, so every message that is published from now on arrives.
    Result<Done> match(Patience) override { return Done::yes; }

    Facts facts() const override { return library_facts(); }

private:
    Result<std::span<const std::byte>> receive(Patience patience) override {
        auto came = connection_.next(0);
        for (BusyPoll poll{patience, waiting_}; came && *came == nullptr && poll.wait();) came = connection_.next(0);
        if (came && *came == nullptr && sleeps(waiting_)) came = sleep(patience);
        if (!came) return came.error();
        message_ = *came;
        if (message_ == nullptr) return std::span<const std::byte>{};
        const auto bytes = static_cast<std::size_t>(::natsMsg_GetDataLength(message_));
        if (bytes == 0) return Error{"take from " + channel_ + ": the publisher is gone"};
        return std::span{reinterpret_cast<const std::byte*>(::natsMsg_GetData(message_)), bytes};
    }

    /// The library counts in whole milliseconds. For shorter times, this function sleeps in short naps itself.
    Result<natsMsg*> sleep(Patience patience) const {
        constexpr Nanoseconds nap_ns = 50'000;
        const Nanoseconds deadline = now_ns() + to_nanoseconds(patience);
        Result<natsMsg*> came{nullptr};
        for (Nanoseconds left = to_nanoseconds(patience); came && *came == nullptr && left > 0;
             left = deadline - now_ns()) {
            if (left < one_ms) sleep_until(now_ns() + std::min(nap_ns, left));
            came = connection_.next(left < one_ms ? 0 : left / one_ms);
        }
        return came;
    }

    void release() noexcept override { ::natsMsg_Destroy(std::exchange(message_, nullptr)); }

    std::string channel_;
    Waiting waiting_;
    BrokerNames subjects_;
    Connection connection_;
    natsMsg* message_ = nullptr;
    bool joined_ = false;
};

std::string configure(const RunPlan&, const BrokerAddress& broker) {
    return "listen: \"" + to_text(*parse_address(broker.host, broker.port)) +
           "\"\nmax_payload: " + std::to_string(most_payload_bytes) + "\n";
}

Result<std::unique_ptr<Companion>> start_companion(const RunPlan& plan) {
    return Broker::start({"nats-server", "nats-server", {"--version"}, {"-c"}, configure}, plan);
}

}  // namespace

extern const Transport nats{
    .name = "nats",
    .summary = "NATS through a nats-server, which the run starts; over TCP, IPv4 or IPv6; best effort",
    .data_path = "copy",
    .reliability = Reliability::best_effort,
    .reach = Reach::network,
    .subscribe = joined_subscriber<NatsSubscriber>,
    .advertise = joined_publisher<NatsPublisher>,
    .reaches_several = true,
    .settings = settings,
    .way = Way::tcp,
    .start_companion = start_companion,
    .endpoint_at = ip_endpoint_at,
    .most_bytes = most_payload_bytes,
    .remark = "nats: max_payload of the broker is 8 MiB, so that messages above its own limit of 1 MiB pass",
};

}  // namespace tacholog::transports
