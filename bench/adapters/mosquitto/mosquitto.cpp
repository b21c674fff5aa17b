// MQTT through Eclipse Mosquitto: the library libmosquitto on both sides, and the broker mosquitto, which the run
// starts and ends. Each message is sent over TCP twice: to the broker, and from there to the subscribers.
//
// The transport is best effort with either quality of service. Messages that arrive are complete and in order. For a
// slow subscriber, the broker silently drops messages. With qos 1, the broker drops messages only after
// `max_queued_messages` (1000) are waiting. Dropped messages are counted as lost. The adapter rejects qos 2, because
// the publisher would have to read from its connection between messages.
// Both sides call the library from their own threads (mosquitto_loop_read, mosquitto_loop_write), not from a thread of
// the library, so that they can poll as well as sleep. A message is written into our buffer and copied by the library.
// It is copied into the kernel and out of it twice. The subscriber copies it once more, because the library lends it
// only during a callback.
// Anybody who can reach the port can connect. On a host that is shared with other people, use a transport of our own.
#include <mosquitto.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

#include "adapters/attempts.hpp"
#include "adapters/broker.hpp"

namespace tacholog::transports {
namespace {

Result<void> check_nodelay(std::string_view value) {
    return value == "on" ? Result<void>{} : Error{"neither library nor on"};
}

constexpr std::array settings{
    Setting{.name = "qos",
            .values = "0 or 1",
            .default_value = "0",
            .meaning = "quality of service: 0 sends once, 1 sends until it is acknowledged, at each hop",
            .check = whole_number<0, 1>},
    // Both manuals name this option for latency: "reducing latency of some messages at potentially increasing the
    // number of TCP packets being sent" (mosquitto.conf(5), set_tcp_nodelay), and similarly mosquitto.h for
    // MOSQ_OPT_TCP_NODELAY.
    Setting{.name = "tcp-nodelay",
            .values = "library or on",
            .default_value = "library",
            .meaning = "on: the broker and both sides send small packets at once (TCP_NODELAY); the library's own "
                       "default lets the kernel join them",
            .check = check_nodelay},
    Setting{.name = "max-queued-messages",
            .values = "library or N",
            .default_value = "library",
            .meaning = "how many messages with qos 1 may wait at the broker for a subscriber (0: any number); 1000 is "
                       "the broker's own default",
            .check = whole_number<0, 100'000'000>},
};

bool nodelay(const Settings& given) {
    return value_of(given, "tcp-nodelay") == "on";
}

Error mqtt_error(const std::string& operation, int code) {
    return Error{operation + ": " + ::mosquitto_strerror(code)};
}

/// In MQTT, names are called topics, and their parts are called levels.
BrokerNames names_of(const Topic& topic) {
    return {topic, "/", "#"};
}

/// A connection to the broker. The library has no thread: the thread that uses this object also reads and writes for
/// the library.
class Client {
public:
    explicit Client(const Topic& topic)
        : qos_(static_cast<int>(number_of(topic.settings, "qos"))),
          nodelay_(nodelay(topic.settings)),
          waiting_(topic.waiting) {
        static const int started = ::mosquitto_lib_init();
        static_cast<void>(started);
        client_ = ::mosquitto_new(nullptr, true, this);
        ::mosquitto_int_option(client_, MOSQ_OPT_TCP_NODELAY, nodelay_ ? 1 : 0);
        ::mosquitto_connect_callback_set(client_,
                                         [](mosquitto*, void* self, int code) { of(self).connected_ = code == 0; });
        ::mosquitto_subscribe_callback_set(
            client_, [](mosquitto*, void* self, int, int, const int*) { of(self).subscribed_ = true; });
        ::mosquitto_publish_callback_set(client_, [](mosquitto*, void* self, int) { --of(self).unanswered_; });
        ::mosquitto_message_callback_set(client_, [](mosquitto*, void* self, const mosquitto_message* message) {
            const auto* const bytes = static_cast<const std::byte*>(message->payload);
            of(self).received_.emplace_back(bytes, bytes + message->payloadlen);
        });
    }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client() { ::mosquitto_destroy(client_); }

    /// `will` is the last will: the broker publishes an empty message under this name if this side is killed.
    Result<void> connect(const Topic& topic, const std::string& will) {
        const auto broker = broker_of(topic);
        if (!broker) return broker.error();
        ::mosquitto_will_set(client_, will.c_str(), 0, nullptr, qos_, false);
        constexpr int no_keepalive = 0;
        if (const int code = ::mosquitto_connect(client_, broker->host.c_str(), broker->port, no_keepalive); code != 0)
            return mqtt_error("connect to the broker at " + topic.companion, code);
        return finish("connect to the broker at " + topic.companion, connected_);
    }

    Result<void> subscribe(const std::string& name) {
        if (auto asked = ask_for(name); !asked) return asked;
        return finish("subscribe to " + name, subscribed_);
    }

    /// Requests a subscription. The broker answers in order, so the answer also shows that everything that this side
    /// sent earlier has been handled.
    Result<void> ask_for(const std::string& name) {
        subscribed_ = false;
        if (const int code = ::mosquitto_subscribe(client_, nullptr, name.c_str(), qos_); code != 0)
            return mqtt_error("subscribe to " + name, code);
        return {};
    }

    bool subscribed() const { return subscribed_; }

    Result<void> publish(const std::string& name, std::span<const std::byte> message) {
        const int bytes = static_cast<int>(message.size());
        if (const int code = ::mosquitto_publish(client_, nullptr, name.c_str(), bytes, message.data(), qos_, false);
            code != 0)
            return mqtt_error("publish on " + name, code);
        ++unanswered_;  // with qos 0, the library reports a message as answered as soon as it is written
        return {};
    }

    bool wants_to_write() const { return ::mosquitto_want_write(client_); }
    int unanswered() const { return unanswered_; }
    std::deque<std::vector<std::byte>>& received() { return received_; }

    Result<void> serve(const std::string& operation) {
        constexpr int unused = 1;
        int code = wants_to_write() ? ::mosquitto_loop_write(client_, unused) : 0;
        if (code == 0) code = ::mosquitto_loop_read(client_, unused);
        return code == 0 ? Result<void>{} : mqtt_error(operation, code);
    }

    /// Repeats the attempt until it succeeds or fails. Returns not_yet if neither happens within `patience`.
    template <typename Attempt>
    Result<Done> wait(Patience patience, Attempt&& attempt) {
        return try_for(patience, waiting_, attempt, [this](Nanoseconds time_ns) { sleep(time_ns); });
    }

    /// Disconnects cleanly. If the connection were closed while answers of the broker are unread here, the kernel would
    /// discard messages that the broker has not read yet.
    void leave() {
        const Deadline deadline{longest_farewell};
        while ((unanswered_ > 0 || wants_to_write()) && !deadline.passed() && serve("leave")) sleep(one_ms);
        ::mosquitto_disconnect(client_);
        while (!deadline.passed() && serve("leave")) sleep(one_ms);
    }

private:
    static constexpr Patience longest_farewell{200};
    static constexpr Nanoseconds one_ms = 1'000'000;

    static Client& of(void* self) { return *static_cast<Client*>(self); }

    Result<void> finish(const std::string& operation, const bool& done) {
        constexpr Patience longest{10'000};
        for (const Deadline deadline{longest}; !done;) {
            if (auto served = serve(operation); !served) return served;
            if (deadline.passed()) return Error{operation + ": no answer"};
            if (!done) sleep(one_ms);
        }
        return {};
    }

    void sleep(Nanoseconds time_ns) const {
        sleep_until_ready(::mosquitto_socket(client_), wants_to_write() ? POLLIN | POLLOUT : POLLIN, time_ns);
    }

    int qos_;
    bool nodelay_;
    Waiting waiting_;
    mosquitto* client_ = nullptr;
    bool connected_ = false;
    bool subscribed_ = false;
    int unanswered_ = 0;
    std::deque<std::vector<std::byte>> received_;
};

Facts library_facts() {
    int major = 0;
    int minor = 0;
    int revision = 0;
    ::mosquitto_lib_version(&major, &minor, &revision);
    return facts_of_library("Mosquitto", version_text(major, minor, revision));
}

class MqttPublisher final : public Publisher {
public:
    explicit MqttPublisher(const Topic& topic)
        : Publisher(topic.max_bytes), channel_(topic.channel), names_(names_of(topic)), client_(topic) {
        message_.reserve(topic.max_bytes);
    }
    ~MqttPublisher() override {
        if (!joined_) return;
        if (client_.publish(names_.each.front(), {})) client_.leave();
    }

    /// Connects to the broker, and subscribes to the name under which subscribers announce that they leave.
    Result<void> join(const Topic& topic) {
        if (auto done = client_.connect(topic, names_.each.front()); !done) return done;
        if (auto done = client_.subscribe(names_.left); !done) return done;
        joined_ = true;
        return {};
    }

    /// Waits until the broker has handled all messages. MQTT has no request for this, so another subscription is
    /// requested. The broker answers in order, so the answer to this request comes last.
    Result<Done> settle(Patience patience) override {
        if (!settling_) {
            if (auto asked = client_.ask_for(names_.left); !asked) return asked.error();
        }
        const auto settled = client_.wait(patience, [this]() -> Result<Done> {
            if (auto served = client_.serve("publish on " + channel_); !served) return served.error();
            return done_if(client_.subscribed());
        });
        settling_ = is_not_yet_done(settled);
        return settled;
    }

    Facts facts() const override { return library_facts(); }

private:
    static constexpr int sends_a_look = 64;
    static constexpr int most_unanswered = 20;  // more messages than this must wait for answers, as in the library

    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        message_.resize(bytes);
        handed_over_ = false;
        return std::span{message_};
    }

    /// Returns done only when the kernel has the whole message, because nobody writes remaining bytes while this side
    /// waits for an answer.
    Result<Done> commit(Patience patience) override {
        if (++sends_ % sends_a_look == 0) {
            if (auto served = client_.serve("publish on " + channel_); !served) return served.error();
        }
        const auto sent = client_.wait(patience, [this]() -> Result<Done> {
            if (!client_.received().empty()) return Error{"publish on " + channel_ + ": the subscriber is gone"};
            if (!handed_over_ && client_.unanswered() >= most_unanswered) {
                if (auto served = client_.serve("publish on " + channel_); !served) return served.error();
            }
            if (!handed_over_ && client_.unanswered() < most_unanswered) {
                if (auto done = client_.publish(names_.of(message_), message_); !done) return done.error();
                handed_over_ = true;
            }
            if (handed_over_ && !client_.wants_to_write()) return Done::yes;
            if (auto served = client_.serve("publish on " + channel_); !served) return served.error();
            return done_if(handed_over_ && !client_.wants_to_write());
        });
        if (is_done(sent)) handed_over_ = false;
        return sent;
    }

    void abandon() noexcept override {}

    std::string channel_;
    BrokerNames names_;
    Client client_;
    std::vector<std::byte> message_;
    bool joined_ = false;
    bool handed_over_ = false;  ///< the library has the loaned message, even if the kernel does not have it yet
    bool settling_ = false;     ///< settle() still waits for an answer of the broker
    int sends_ = 0;
};

class MqttSubscriber final : public Subscriber {
public:
    explicit MqttSubscriber(const Topic& topic) : channel_(topic.channel), names_(names_of(topic)), client_(topic) {}
    ~MqttSubscriber() override {
        if (!joined_) return;
        if (client_.publish(names_.left, {})) client_.leave();
    }

    Result<void> join(const Topic& topic) {
        if (auto done = client_.connect(topic, names_.left); !done) return done;
        if (auto done = client_.subscribe(names_.heard); !done) return done;
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
        auto& received = client_.received();
        const auto came = client_.wait(patience, [&]() -> Result<Done> {
            if (received.empty()) {
                if (auto served = client_.serve("take from " + channel_); !served) return served.error();
            }
            return done_if(!received.empty());
        });
        if (!came.has_value()) return came.error();
        if (*came == Done::not_yet) return std::span<const std::byte>{};
        if (received.front().empty()) return Error{"take from " + channel_ + ": the publisher is gone"};
        return std::span<const std::byte>{received.front()};
    }

    void release() noexcept override { client_.received().pop_front(); }

    std::string channel_;
    BrokerNames names_;
    Client client_;
    bool joined_ = false;
};

std::string configure(const RunPlan& plan, const BrokerAddress& broker) {
    std::string text = "listener " + std::to_string(broker.port) + " " + broker.host + "\nallow_anonymous true\n";
    // Without this line, a broker started by root changes its user, and the kernel then no longer kills it together
    // with perftest.
    if (::geteuid() == 0) text += "user root\n";
    if (nodelay(plan.settings)) text += "set_tcp_nodelay true\n";
    const std::string queued = value_of(plan.settings, "max-queued-messages");
    if (queued != "library") text += "max_queued_messages " + queued + "\n";
    return text;
}

Result<std::unique_ptr<Companion>> start_companion(const RunPlan& plan) {
    return Broker::start({"mosquitto", "mosquitto", {"-h"}, {"-c"}, configure}, plan);
}

}  // namespace

extern const Transport mosquitto{
    .name = "mosquitto",
    .summary = "MQTT through a Mosquitto broker, which the run starts; over TCP, IPv4 or IPv6; best effort",
    .data_path = "copy",
    .reliability = Reliability::best_effort,
    .reach = Reach::network,
    .subscribe = joined_subscriber<MqttSubscriber>,
    .advertise = joined_publisher<MqttPublisher>,
    .reaches_several = true,
    .settings = settings,
    .way = Way::tcp,
    .start_companion = start_companion,
    .endpoint_at = ip_endpoint_at,
};

}  // namespace tacholog::transports
