// nng: sockets with queues, which threads of the library serve in each process. The subscriber listens, and the
// publisher dials every subscriber, over an abstract Unix socket or a TCP port.
//
// The setting `sockets` decides what is guaranteed. Messages that arrive are always complete and in order.
// - `pub-sub`: the default, best effort. If the queue for a subscriber is full, the publisher drops the new message. If
//   the subscriber's own queue is full, the subscriber drops the oldest message in it.
// - `push-pull`: reliable, to one subscriber. A full queue blocks the publisher.
// "Reliable" holds while both sides live: if a side is killed, queued messages are lost. A message of any size is sent
// as one, so the library's limit for received messages (NNG_OPT_RECVMAXSZ, 1 MiB in Debian's 1.5.2) is disabled.
// A message is written into the library's buffer, copied into the kernel and out of it, and read in the library's
// buffer. This uses nng_sendmsg and nng_recvmsg, "a good way to reduce the likelihood of data copies and improve
// application performance" (manual page nng_msg(5)).
// The library does not check who connects. On a host that is shared with other people, use a transport of our own.
#include <nng/nng.h>
#include <nng/protocol/pipeline0/pull.h>
#include <nng/protocol/pipeline0/push.h>
#include <nng/protocol/pubsub0/pub.h>
#include <nng/protocol/pubsub0/sub.h>

#include <array>
#include <memory>
#include <utility>

#include "adapters/nng/socket.hpp"
#include "adapters/sides.hpp"
#include "transports/ip_endpoint.hpp"
#include "transports/transport.hpp"

namespace tacholog::transports {
namespace {

using namespace tacholog::nng;

constexpr std::array settings{
    Setting{.name = "sockets",
            .values = "pub-sub|push-pull",
            .default_value = "pub-sub",
            .meaning = "the pair of nng sockets: pub-sub drops messages if a queue is full; push-pull waits for room, "
                       "and reaches only one subscriber"},
    Setting{.name = "send-queue",
            .values = "library or N",
            .default_value = "library",
            .meaning = "how many messages wait at the publisher for each subscriber (NNG_OPT_SENDBUF); the library's "
                       "own default is 16 for pub, 0 for push",
            .check = whole_number<0, 8192>},
    Setting{.name = "receive-queue",
            .values = "library or N",
            .default_value = "library",
            .meaning = "how many messages wait at the subscriber (NNG_OPT_RECVBUF), only with pub-sub; the library's "
                       "own default is 128",
            .check = whole_number<0, 8192>},
};

// The size of the message by which a publisher says that it leaves; all other messages are longer.
constexpr std::size_t farewell_bytes = 0;

bool is_push_pull(const Settings& given) {
    return value_of(given, "sockets") == "push-pull";
}

Facts library_facts() {
    return facts_of_library("nng", ::nng_version());
}

class NngPublisher final : public Publisher {
public:
    NngPublisher(const Topic& topic, std::unique_ptr<Socket> socket)
        : Publisher(topic.max_bytes), channel_(topic.channel), socket_(std::move(socket)) {}
    ~NngPublisher() override {
        abandon();
        if (socket_->peers() == 0) return;
        // This message has a time limit, because a subscriber that reads nothing has no room for it.
        constexpr Patience longest_farewell{200};
        if (::nng_msg_alloc(&message_, farewell_bytes) == 0) static_cast<void>(commit(longest_farewell));
        abandon();
        Leaving::instance().add(std::move(socket_));
    }

    /// Does not wait for a subscriber on another host, because the threads of the library connect in the background.
    Result<void> dial(const std::string& url, int flags) {
        if (const int code = ::nng_dial(socket_->get(), url.c_str(), nullptr, flags); code != 0)
            return nng_error("dial nng at " + url, code);
        ++expected_;
        return {};
    }

    Result<Done> match(Patience patience) override {
        const Deadline deadline{patience};
        while (socket_->peers() < expected_) {
            if (deadline.passed()) return Done::not_yet;
            sleep_until(now_ns() + 100'000);
        }
        matched_ = true;
        return Done::yes;
    }

    Facts facts() const override { return library_facts(); }

private:
    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        if (const int code = ::nng_msg_alloc(&message_, bytes); code != 0)
            return nng_error("loan " + std::to_string(bytes) + " bytes", code);
        return std::span{static_cast<std::byte*>(::nng_msg_body(message_)), bytes};
    }

    Result<Done> commit(Patience patience) override {
        const auto alone = [this] { return matched_ && socket_->peers() < expected_; };
        if (alone()) return Error{"publish on " + channel_ + ": the subscriber is gone"};
        return socket_->wait(
            NNG_OPT_SENDTIMEO, patience,
            [this](int flags) -> Result<Done> {
                const int code = send_message(socket_->get(), message_, flags);
                if (code == NNG_EAGAIN || code == NNG_ETIMEDOUT) return Done::not_yet;
                if (code != 0) return nng_error("publish on " + channel_, code);
                message_ = nullptr;  // the library owns the message now
                return Done::yes;
            },
            alone);
    }

    void abandon() noexcept override {
        if (message_ != nullptr) ::nng_msg_free(std::exchange(message_, nullptr));
    }

    std::string channel_;
    std::unique_ptr<Socket> socket_;
    nng_msg* message_ = nullptr;
    int expected_ = 0;
    bool matched_ = false;
};

class NngSubscriber final : public Subscriber {
public:
    NngSubscriber(const Topic& topic, std::unique_ptr<Socket> socket)
        : channel_(topic.channel), socket_(std::move(socket)) {}
    ~NngSubscriber() override { release(); }

    /// Returns the TCP port, or 0 if the URL is not TCP.
    Result<int> listen(const std::string& url) {
        nng_listener listener{};
        if (const int code = ::nng_listen(socket_->get(), url.c_str(), &listener, 0); code != 0)
            return nng_error("listen with nng at " + url, code);
        int port = 0;
        ::nng_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port);
        return port;
    }

    void set_endpoint(std::string endpoint) { endpoint_ = std::move(endpoint); }
    std::string endpoint() const override { return endpoint_; }

    Result<Done> match(Patience patience) override {
        const Deadline deadline{patience};
        while (socket_->peers() == 0) {
            if (deadline.passed()) return Done::not_yet;
            sleep_until(now_ns() + 100'000);
        }
        matched_ = true;
        return Done::yes;
    }

    Facts facts() const override { return library_facts(); }

private:
    Result<std::span<const std::byte>> receive(Patience patience) override {
        const auto attempt = [this](int flags) -> Result<Done> {
            if (left_) return Done::not_yet;
            const int code = ::nng_recvmsg(socket_->get(), &message_, flags);
            if (code == NNG_EAGAIN || code == NNG_ETIMEDOUT) return Done::not_yet;
            if (code != 0) return nng_error("take from " + channel_, code);
            left_ = ::nng_msg_len(message_) == farewell_bytes;
            if (left_) release();
            return done_if(!left_);
        };
        const auto alone = [this] { return left_ || (matched_ && socket_->peers() == 0); };
        auto came = socket_->wait(NNG_OPT_RECVTIMEO, patience, attempt, alone);
        if (is_not_yet_done(came) && alone()) {
            came = attempt(NNG_FLAG_NONBLOCK);  // receives a message that arrived just before the publisher left
            if (is_not_yet_done(came)) return Error{"take from " + channel_ + ": the publisher is gone"};
        }
        if (!came.has_value()) return came.error();
        if (*came == Done::not_yet) return std::span<const std::byte>{};
        return std::span{static_cast<const std::byte*>(::nng_msg_body(message_)), ::nng_msg_len(message_)};
    }

    void release() noexcept override {
        if (message_ != nullptr) ::nng_msg_free(std::exchange(message_, nullptr));
    }

    std::string channel_;
    std::unique_ptr<Socket> socket_;
    nng_msg* message_ = nullptr;
    std::string endpoint_;
    bool matched_ = false;
    bool left_ = false;
};

Result<std::unique_ptr<NngSubscriber>> new_subscriber(const Topic& topic) {
    const bool pulls = is_push_pull(topic.settings);
    auto socket =
        open_socket(topic, pulls ? Open{::nng_pull0_open} : Open{::nng_sub0_open}, "receive-queue", NNG_OPT_RECVBUF);
    if (!socket) return socket.error();
    if (!pulls) ::nng_socket_set((*socket)->get(), NNG_OPT_SUB_SUBSCRIBE, "", 0);  // subscribes to every message
    return std::make_unique<NngSubscriber>(topic, std::move(*socket));
}

/// The URL and the flags for dialling an endpoint.
struct Called {
    std::string url;
    int flags;
};

template <Result<Called> (*called)(std::string_view endpoint, const Topic& topic)>
Result<std::unique_ptr<Publisher>> dialled(const Topic& topic, const Endpoints& endpoints) {
    const bool pushes = is_push_pull(topic.settings);
    auto socket =
        open_socket(topic, pushes ? Open{::nng_push0_open} : Open{::nng_pub0_open}, "send-queue", NNG_OPT_SENDBUF);
    if (!socket) return socket.error();
    auto publisher = std::make_unique<NngPublisher>(topic, std::move(*socket));
    for (const std::string& endpoint : endpoints) {
        const auto place = called(endpoint, topic);
        if (!place) return place.error();
        if (auto done = publisher->dial(place->url, place->flags); !done) return done.error();
    }
    return std::unique_ptr<Publisher>{std::move(publisher)};
}

constexpr std::string_view ipc = "abstract://";  // an abstract Unix socket, which leaves no file behind

/// Returns the URL of a subscriber on this host. The endpoint must be the name that perftest has given to this
/// subscriber. Dialling waits for the connection, because connecting on one host takes no time. So dialling fails
/// immediately if nobody listens at this URL.
Result<Called> called_by_name(std::string_view endpoint, const Topic&) {
    const bool is_name = std::ranges::all_of(endpoint, [](char letter) {
        return letter == '-' || (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z');
    });
    if (!is_name) return Error{"advertise to '" + std::string{endpoint} + "': not an nng endpoint of this host"};
    return Called{std::string{ipc} + std::string{endpoint}, 0};
}

Result<Called> called_by_address(std::string_view endpoint, const Topic& topic) {
    const auto found = subscriber_at(endpoint, topic, "nng");
    if (!found) return found.error();
    return Called{"tcp://" + to_text(found->address), NNG_FLAG_NONBLOCK};
}

Result<std::unique_ptr<Subscriber>> subscribe_ipc(const Topic& topic) {
    auto subscriber = new_subscriber(topic);
    if (!subscriber) return subscriber.error();
    if (auto listens = (*subscriber)->listen(std::string{ipc} + topic.name); !listens) return listens.error();
    (*subscriber)->set_endpoint(topic.name);
    return std::unique_ptr<Subscriber>{std::move(*subscriber)};
}

Result<std::unique_ptr<Subscriber>> subscribe_tcp(const Topic& topic) {
    const auto own = parse_address(topic.local_address, 0);
    if (!own) return Error{"listen with nng at " + topic.local_address + ": not an IP address"};
    auto subscriber = new_subscriber(topic);
    if (!subscriber) return subscriber.error();
    const auto port = (*subscriber)->listen("tcp://" + to_text(*own));
    if (!port) return port.error();
    (*subscriber)->set_endpoint(IpEndpoint{*parse_address(topic.local_address, *port), 0}.text());
    return std::unique_ptr<Subscriber>{std::move(*subscriber)};
}

/// Changes the promised guarantees if the settings choose PUSH/PULL sockets, which are reliable, but do not reach
/// several subscribers.
void adjust(Transport& promised, const Settings& given) {
    if (!is_push_pull(given)) return;
    promised.reliability = Reliability::reliable;
    promised.reaches_several = false;
}

}  // namespace

extern const Transport nng_ipc{
    .name = "nng-ipc",
    .summary = "nng between processes of one host, over Unix sockets; PUB/SUB, best effort unless set otherwise",
    .data_path = "copy",
    .reliability = Reliability::best_effort,
    .reach = Reach::host,
    .subscribe = subscribe_ipc,
    .advertise = dialled<called_by_name>,
    .reaches_several = true,
    .settings = settings,
    .adjust = adjust,
    .way = Way::local,
    .remark = "nng: NNG_OPT_RECVMAXSZ is 0 (no limit), so that messages above the library's 1 MiB pass",
};

extern const Transport nng_tcp{
    .name = "nng-tcp",
    .summary = "nng over TCP, IPv4 or IPv6; PUB/SUB, best effort unless set otherwise",
    .data_path = "copy",
    .reliability = Reliability::best_effort,
    .reach = Reach::network,
    .subscribe = subscribe_tcp,
    .advertise = dialled<called_by_address>,
    .reaches_several = true,
    .settings = settings,
    .adjust = adjust,
    .way = Way::tcp,
    .endpoint_at = ip_endpoint_at,
    .remark = "nng: NNG_OPT_RECVMAXSZ is 0 (no limit), so that messages above the library's 1 MiB pass",
};

}  // namespace tacholog::transports
