// LCM (Lightweight Communications and Marshalling): UDP multicast without a broker. Each topic has its own group and
// port, which both sides compute from the name of the channel. One publisher reaches all subscribers with one datagram.
// In each subscriber, a thread of the library receives it from the socket.
//
// It is best effort. Lost messages are not sent again, and the publisher does not wait for a slow subscriber. If the
// socket buffer of the subscriber is full, the kernel drops the new datagram. If the queue of the library is full, the
// library drops its oldest message. Messages that arrive are complete and in order. A message above 65487 bytes is sent
// in several datagrams. If one of them is lost, the message is lost. Therefore all datagrams of the largest message
// must fit into the socket buffer together, and larger messages are rejected. By default, datagrams do not leave the
// host (ttl 0). The library does not check who sends to the group.
// A message is written into our buffer and copied into the kernel. The library copies it out of the kernel, and the
// subscriber copies it once more, because the library lends it only during a callback.
#include <lcm/lcm.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <utility>

#include "adapters/attempts.hpp"
#include "adapters/name_hash.hpp"
#include "adapters/sides.hpp"
#include "base/meeting_ports.hpp"
#include "transports/ip_endpoint.hpp"
#include "transports/transport.hpp"

namespace tacholog::transports {
namespace {

constexpr std::array settings{
    // The authors advise "net.core.rmem_max=2097152" against lost packets:
    // https://lcm-proj.github.io/lcm/content/multicast-setup.html
    Setting{.name = "receive-buffer",
            .values = "library or BYTES",
            .default_value = "library",
            .meaning = "the socket's receive buffer (recv_buf_size), which also limits the size of messages: they have "
                       "at most this many bytes, or 102400 with the system's default buffer",
            .check = whole_number<65536, std::uint64_t{1} << 28>},
    Setting{.name = "queue",
            .values = "library or N",
            .default_value = "library",
            .meaning = "how many messages wait in the library for the subscriber "
                       "(lcm_subscription_set_queue_capacity); its own default is 30",
            .check = whole_number<1, 1'000'000>},
    Setting{.name = "ttl",
            .values = "N",
            .default_value = "0",
            .meaning = "how many networks datagrams may enter: 0, the library's own default, keeps them on this host",
            .check = whole_number<0, 255>},
};

bool is_set(const Settings& given, std::string_view name) {
    return value_of(given, name) != "library";
}

/// A multicast group of the local scope (239.255/16).
struct Group {
    std::string address;
    std::uint16_t port;
    std::string name;  ///< the name that LCM uses for the channel, up to 63 letters; each topic has its own
};

Group group_of(const std::string& channel) {
    const std::uint64_t number = name_hash(channel);
    // This does not use operator+, because g++ 12 then gives a false warning about a copy that is too large.
    std::string address = "239.255.";
    address.append(std::to_string(number >> 8 & 0xff)).append(".").append(std::to_string(number & 0xff));
    std::string name = "c";
    name.append(std::to_string(number));
    return {std::move(address), meeting_port(Meeting::group, number >> 16), std::move(name)};
}

/// An instance of the library, which receives from one group and sends to it.
class Instance {
public:
    Instance(const Settings& given, Group group) : group_(std::move(group)) {
        std::string url =
            "udpm://" + group_.address + ":" + std::to_string(group_.port) + "?ttl=" + value_of(given, "ttl");
        if (is_set(given, "receive-buffer")) url.append("&recv_buf_size=").append(value_of(given, "receive-buffer"));
        lcm_ = ::lcm_create(url.c_str());
    }
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;
    ~Instance() {
        if (lcm_ != nullptr) ::lcm_destroy(lcm_);
    }

    explicit operator bool() const { return lcm_ != nullptr; }
    lcm_t* get() const { return lcm_; }

    lcm_subscription_t* subscribe(lcm_msg_handler_t handler, void* object) const {
        return ::lcm_subscribe(lcm_, group_.name.c_str(), handler, object);
    }

    bool publish(std::span<const std::byte> message) const {
        return ::lcm_publish(lcm_, group_.name.c_str(), message.data(), static_cast<unsigned>(message.size())) == 0;
    }

    /// The message may be a test message that the library sent to itself.
    void handle() const { ::lcm_handle_timeout(lcm_, 0); }

private:
    Group group_;
    lcm_t* lcm_ = nullptr;
};

/// Returns the group in which subscribers announce that they leave. The messages have a different group, because a
/// publisher would otherwise receive all of its own messages.
Group farewells_of(const Topic& topic) {
    return group_of(topic.channel + "-left");
}

Facts library_facts() {
    return facts_of_library("LCM", version_text(LCM_MAJOR_VERSION, LCM_MINOR_VERSION, LCM_MICRO_VERSION));
}

class LcmPublisher final : public Publisher {
public:
    explicit LcmPublisher(const Topic& topic)
        : Publisher(topic.max_bytes),
          channel_(topic.channel),
          messages_(topic.settings, group_of(topic.channel)),
          farewells_(topic.settings, farewells_of(topic)) {
        message_.reserve(topic.max_bytes);
    }

    bool join() {
        return messages_ && farewells_ &&
               farewells_.subscribe([](const lcm_recv_buf_t*, const char*,
                                       void* self) { static_cast<LcmPublisher*>(self)->left_ = true; },
                                    this) != nullptr;
    }

    Facts facts() const override { return library_facts(); }

private:
    static constexpr int sends_a_look = 64;

    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        message_.resize(bytes);
        return std::span{message_};
    }

    Result<Done> commit(Patience) override {
        if (++sends_ % sends_a_look == 0) farewells_.handle();
        if (left_) return Error{"publish on " + channel_ + ": the subscriber is gone"};
        if (!messages_.publish(message_)) return Error{"publish on " + channel_ + ": LCM could not send it"};
        return Done::yes;
    }

    void abandon() noexcept override {}

    std::string channel_;
    Instance messages_;
    Instance farewells_;
    std::vector<std::byte> message_;
    int sends_ = 0;
    bool left_ = false;
};

class LcmSubscriber final : public Subscriber {
public:
    explicit LcmSubscriber(const Topic& topic)
        : channel_(topic.channel),
          waiting_(topic.waiting),
          messages_(topic.settings, group_of(topic.channel)),
          farewells_(topic.settings, farewells_of(topic)) {
        message_.reserve(topic.max_bytes);
    }
    ~LcmSubscriber() override {
        if (farewells_) farewells_.publish(std::as_bytes(std::span{"left"}));
    }

    bool join(const Topic& topic) {
        if (!messages_ || !farewells_) return false;
        const auto take = [](const lcm_recv_buf_t* came, const char*, void* self) {
            const auto* const data = static_cast<const std::byte*>(came->data);
            auto& subscriber = *static_cast<LcmSubscriber*>(self);
            subscriber.message_.assign(data, data + came->data_size);
            subscriber.came_ = true;
        };
        auto* const subscription = messages_.subscribe(take, this);
        if (subscription == nullptr) return false;
        return !is_set(topic.settings, "queue") ||
               ::lcm_subscription_set_queue_capacity(subscription,
                                                     static_cast<int>(number_of(topic.settings, "queue"))) == 0;
    }

    /// Both sides compute the group from the name of the channel.
    std::string endpoint() const override { return channel_; }

    /// There is nothing to wait for: the subscriber is already in the group, and a publisher does not announce itself.
    Result<Done> match(Patience) override { return Done::yes; }

    Facts facts() const override { return library_facts(); }

private:
    Result<std::span<const std::byte>> receive(Patience patience) override {
        const auto came = try_for(
            patience, waiting_, [this] { return Result<Done>{handle() ? Done::yes : Done::not_yet}; },
            [this](Nanoseconds time_ns) { sleep_until_ready(::lcm_get_fileno(messages_.get()), POLLIN, time_ns); });
        if (is_not_yet_done(came)) return std::span<const std::byte>{};
        return std::span<const std::byte>{message_};
    }

    /// Returns true if there was a message of ours. The library also counts the test messages that it sends to itself.
    /// On a busy machine, it sends several of these at its start, and the second one stays in its queue.
    bool handle() {
        came_ = false;
        messages_.handle();
        return came_;
    }

    void release() noexcept override {}

    std::string channel_;
    Waiting waiting_;
    Instance messages_;
    Instance farewells_;
    std::vector<std::byte> message_;
    bool came_ = false;  ///< a message of ours has arrived since this was reset
};

const Error no_instance{"start LCM: it could not join its multicast group; is there a route for 239.255.0.0/16?"};

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    auto subscriber = std::make_unique<LcmSubscriber>(topic);
    if (!subscriber->join(topic)) return no_instance;
    return std::unique_ptr<Subscriber>{std::move(subscriber)};
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, const Endpoints& endpoints) {
    if (auto fine = check_endpoints(topic, endpoints); !fine) return fine.error();
    auto publisher = std::make_unique<LcmPublisher>(topic);
    if (!publisher->join()) return no_instance;
    return std::unique_ptr<Publisher>{std::move(publisher)};
}

/// Two and a half datagrams of the library's largest size fit into the system's default buffer of 212992 bytes. The
/// kernel counts the memory that a datagram uses: 128 KiB for each datagram above 32 KiB.
constexpr std::size_t most_bytes_by_default = std::size_t{100} * 1024;

void adjust(Transport& promised, const Settings& given) {
    if (is_set(given, "receive-buffer")) promised.most_bytes = number_of(given, "receive-buffer");
    if (number_of(given, "ttl") == 0) return;
    promised.reach = Reach::network;
    promised.endpoint_at = ip_endpoint_at;
}

/// Makes system calls only, because a call of the library would start threads.
Result<void> ready(const RunPlan& plan) {
    const Fd socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    const auto group = parse_address("239.255.0.1", 7667);
    if (!socket || ::connect(socket.get(), group->get(), group->length()) != 0) {
        return Error{
            "LCM needs a route for multicast: ip link set lo multicast on; ip route add 239.255.0.0/16 dev lo"};
    }
    if (!is_set(plan.settings, "receive-buffer")) return {};
    const int wanted = static_cast<int>(number_of(plan.settings, "receive-buffer"));
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &wanted, sizeof wanted);
    int given = 0;
    socklen_t size = sizeof given;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &given, &size);
    if (given / 2 >= wanted) return {};
    return Error{"--set receive-buffer=" + std::to_string(wanted) + ": this host allows " + std::to_string(given / 2) +
                 " bytes: sysctl -w net.core.rmem_max=" + std::to_string(wanted)};
}

}  // namespace

extern const Transport lcm{
    .name = "lcm",
    .summary = "LCM over UDP multicast, IPv4; best effort, lossy under load, up to 100 KiB unless set otherwise",
    .data_path = "copy",
    .reliability = Reliability::best_effort,
    .reach = Reach::host,
    .subscribe = subscribe,
    .advertise = advertise,
    .reaches_several = true,
    .settings = settings,
    .adjust = adjust,
    .way = Way::udp,
    .ready = ready,
    .most_bytes = most_bytes_by_default,
};

}  // namespace tacholog::transports
