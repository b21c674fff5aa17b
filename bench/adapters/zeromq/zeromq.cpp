// ZeroMQ (libzmq): sockets with queues, which a thread of the library serves in each process. The subscriber binds, and
// the publisher connects to every subscriber, over an abstract Unix socket, over a TCP port, or within one process.
//
// The setting `sockets` decides what is guaranteed. Messages that arrive are always complete and in order.
// - `pub-sub`: PUB and SUB, the default, best effort. If a subscriber's queue is full, new messages are dropped.
// - `pub-sub-block`: PUB and SUB with ZMQ_XPUB_NODROP, reliable. A full queue blocks the publisher, so all subscribers
//   wait.
// - `push-pull`: PUSH and PULL, reliable, to one subscriber. A full queue blocks the publisher.
// "Reliable" holds while both sides live: if a side is killed, queued messages are lost. A message of any size is sent
// as one. Over ipc and tcp, a message is written into the library's buffer, copied into the kernel and out of it. Over
// inproc, only the ownership of the buffer changes. The library does not check who connects. On a host that is shared
// with other people, use a transport of our own.
#include <zmq.h>

#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "adapters/sides.hpp"
#include "adapters/zeromq/socket.hpp"
#include "transports/ip_endpoint.hpp"
#include "transports/transport.hpp"

namespace tacholog::transports {
namespace {

using namespace tacholog::zeromq;

constexpr std::array settings{
    Setting{.name = "sockets",
            .values = "pub-sub|pub-sub-block|push-pull",
            .default_value = "pub-sub",
            .meaning = "the pair of ZeroMQ sockets: pub-sub drops messages if a queue is full; pub-sub-block "
                       "(ZMQ_XPUB_NODROP) and push-pull wait for room. push-pull reaches only one subscriber"},
    Setting{.name = "high-water-mark",
            .values = "N",
            .default_value = "1000",
            .meaning =
                "how many messages each queue holds, one at the publisher and one at the subscriber (ZMQ_SNDHWM, "
                "ZMQ_RCVHWM); 1000 is the library's own default",
            .check = whole_number<1, 1'000'000>},
    Setting{.name = "io-threads",
            .values = "N",
            .default_value = "1",
            .meaning = "the library's threads in each process (ZMQ_IO_THREADS); 1 is its own default",
            .check = whole_number<1, 16>},
};

// The size of the message by which a publisher says that it leaves. All other messages are longer.
constexpr std::size_t farewell_bytes = 0;

Facts library_facts() {
    int major = 0;
    int minor = 0;
    int patch = 0;
    ::zmq_version(&major, &minor, &patch);
    return facts_of_library("ZeroMQ", version_text(major, minor, patch));
}

bool is_push_pull(const Topic& topic) {
    return value_of(topic.settings, "sockets") == "push-pull";
}

class ZeromqPublisher final : public Publisher {
public:
    explicit ZeromqPublisher(const Topic& topic)
        : Publisher(topic.max_bytes),
          channel_(topic.channel),
          subscribes_(!is_push_pull(topic)),
          socket_(topic, subscribes_ ? ZMQ_XPUB : ZMQ_PUSH) {
        // Queues messages only for subscribers that are connected. By default, the library would also queue messages
        // for subscribers that have left, and would not report that they left.
        socket_.set(ZMQ_IMMEDIATE, 1);
        // Never reconnects: a later listener at this address belongs to another run.
        socket_.set(ZMQ_RECONNECT_IVL, -1);
        if (!subscribes_) return;
        socket_.set(ZMQ_XPUB_VERBOSER, 1);  // each subscriber is reported when it connects and when it leaves
        if (value_of(topic.settings, "sockets") == "pub-sub-block") socket_.set(ZMQ_XPUB_NODROP, 1);
    }
    ~ZeromqPublisher() override {
        if (matched_) ::zmq_send(socket_.get(), "", farewell_bytes, ZMQ_DONTWAIT);
    }

    Result<void> connect(const std::string& address) {
        if (::zmq_connect(socket_.get(), address.c_str()) != 0) return zmq_error("connect ZeroMQ to " + address);
        ++expected_;
        return {};
    }

    /// PUB drops messages for a subscriber whose subscription has not arrived yet. So this waits for the subscriptions
    /// of all subscribers, and then sends them a greeting.
    Result<Done> match(Patience patience) override {
        if (matched_) return Done::yes;
        if (subscribes_) {
            const auto all = socket_.wait(ZMQ_POLLIN, patience, [this]() -> Result<Done> {
                hear();
                return done_if(joined_ == expected_);
            });
            if (!is_done(all)) return all;
        }
        const auto greeted = socket_.wait(ZMQ_POLLOUT, patience, [this]() -> Result<Done> {
            if (::zmq_send(socket_.get(), channel_.data(), channel_.size(), ZMQ_DONTWAIT) >= 0) return Done::yes;
            if (would_wait()) return Done::not_yet;
            return zmq_error("greet the subscribers of " + channel_);
        });
        matched_ = is_done(greeted);
        return greeted;
    }

    Facts facts() const override { return library_facts(); }

private:
    static constexpr int sends_a_look = 64;

    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        if (!message_.resize(bytes)) return zmq_error("loan " + std::to_string(bytes) + " bytes");
        return message_.bytes();
    }

    Result<Done> commit(Patience patience) override {
        if (subscribes_ && ++sends_ % sends_a_look == 0) {
            hear();
            if (joined_ < expected_) return Error{"publish on " + channel_ + ": the subscriber is gone"};
        }
        return socket_.wait(ZMQ_POLLOUT, patience, [this]() -> Result<Done> {
            if (::zmq_msg_send(message_.get(), socket_.get(), ZMQ_DONTWAIT) >= 0) return Done::yes;
            if (would_wait()) return Done::not_yet;
            return zmq_error("publish on " + channel_);
        });
    }

    void abandon() noexcept override { message_.clear(); }

    /// The library notifies about subscribers: 1 means that one has connected, 0 that one has left.
    void hear() {
        char word = 0;
        while (::zmq_recv(socket_.get(), &word, sizeof word, ZMQ_DONTWAIT) >= 0) joined_ += word == 1 ? 1 : -1;
    }

    std::string channel_;
    bool subscribes_;  ///< whether the socket is notified about subscribers; a PUSH socket is not
    Socket socket_;
    Message message_;
    int expected_ = 0;
    int joined_ = 0;
    int sends_ = 0;
    bool matched_ = false;
};

class ZeromqSubscriber final : public Subscriber {
public:
    explicit ZeromqSubscriber(const Topic& topic)
        : channel_(topic.channel), socket_(topic, is_push_pull(topic) ? ZMQ_PULL : ZMQ_SUB) {
        if (!is_push_pull(topic)) ::zmq_setsockopt(socket_.get(), ZMQ_SUBSCRIBE, "", 0);
    }

    Result<void> bind(const std::string& address) {
        if (::zmq_bind(socket_.get(), address.c_str()) != 0) return zmq_error("bind ZeroMQ to " + address);
        return {};
    }

    /// Returns the address in the form of the library: "tcp://127.0.0.1:40000".
    std::string bound_to() const {
        std::array<char, 256> text{};
        std::size_t size = text.size();
        return ::zmq_getsockopt(socket_.get(), ZMQ_LAST_ENDPOINT, text.data(), &size) == 0 ? text.data() : "";
    }

    void set_endpoint(std::string endpoint) { endpoint_ = std::move(endpoint); }
    std::string endpoint() const override { return endpoint_; }

    /// The first message of the publisher is the name of the channel.
    Result<Done> match(Patience patience) override {
        if (matched_) return Done::yes;
        const auto came = next(patience);
        if (!is_done(came)) return came;
        const auto bytes = message_.bytes();
        matched_ = bytes.size() == channel_.size() && std::memcmp(bytes.data(), channel_.data(), bytes.size()) == 0;
        return done_if(matched_);  // messages of other programs are discarded
    }

    Facts facts() const override { return library_facts(); }

private:
    Result<Done> next(Patience patience) {
        return socket_.wait(ZMQ_POLLIN, patience, [this]() -> Result<Done> {
            if (::zmq_msg_recv(message_.get(), socket_.get(), ZMQ_DONTWAIT) >= 0) return Done::yes;
            if (would_wait()) return Done::not_yet;
            return zmq_error("take from " + channel_);
        });
    }

    Result<std::span<const std::byte>> receive(Patience patience) override {
        if (left_) return Error{"take from " + channel_ + ": the publisher is gone"};
        const auto came = next(patience);
        if (!came.has_value()) return came.error();
        if (*came == Done::not_yet) return std::span<const std::byte>{};
        left_ = message_.bytes().size() == farewell_bytes;
        if (left_) return Error{"take from " + channel_ + ": the publisher is gone"};
        return std::span<const std::byte>{message_.bytes()};
    }

    void release() noexcept override { message_.clear(); }

    std::string channel_;
    Socket socket_;
    Message message_;
    std::string endpoint_;
    bool matched_ = false;
    bool left_ = false;
};

Result<std::unique_ptr<Subscriber>> bound(const Topic& topic, const std::string& address, std::string endpoint) {
    auto subscriber = std::make_unique<ZeromqSubscriber>(topic);
    if (auto done = subscriber->bind(address); !done) return done.error();
    subscriber->set_endpoint(std::move(endpoint));
    return std::unique_ptr<Subscriber>{std::move(subscriber)};
}

/// `address_of` checks an endpoint, and converts it into an address in the form of the library.
template <Result<std::string> (*address_of)(std::string_view endpoint, const Topic& topic)>
Result<std::unique_ptr<Publisher>> connected(const Topic& topic, const Endpoints& endpoints) {
    auto publisher = std::make_unique<ZeromqPublisher>(topic);
    for (const std::string& endpoint : endpoints) {
        const auto address = address_of(endpoint, topic);
        if (!address) return address.error();
        if (auto done = publisher->connect(*address); !done) return done.error();
    }
    return std::unique_ptr<Publisher>{std::move(publisher)};
}

/// The endpoint must be the name that perftest has given to a subscriber's end on this host.
Result<std::string> address_of_name(std::string_view scheme, std::string_view endpoint) {
    const bool is_name = std::ranges::all_of(endpoint, [](char letter) {
        return letter == '-' || (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z');
    });
    if (is_name && endpoint.starts_with("t")) return std::string{scheme} + std::string{endpoint};
    return Error{"advertise to '" + std::string{endpoint} + "': not a ZeroMQ endpoint of this host"};
}

constexpr std::string_view ipc = "ipc://@";  // an abstract Unix socket, which leaves no file behind
constexpr std::string_view inproc = "inproc://";

Result<std::string> ipc_address(std::string_view endpoint, const Topic&) {
    return address_of_name(ipc, endpoint);
}

Result<std::string> inproc_address(std::string_view endpoint, const Topic&) {
    return address_of_name(inproc, endpoint);
}

Result<std::string> tcp_address(std::string_view endpoint, const Topic& topic) {
    const auto found = subscriber_at(endpoint, topic, "ZeroMQ");
    if (!found) return found.error();
    return "tcp://" + to_text(found->address);
}

Result<std::unique_ptr<Subscriber>> subscribe_ipc(const Topic& topic) {
    return bound(topic, std::string{ipc} + topic.name, topic.name);
}

Result<std::unique_ptr<Subscriber>> subscribe_inproc(const Topic& topic) {
    return bound(topic, std::string{inproc} + topic.name, topic.name);
}

Result<std::unique_ptr<Subscriber>> subscribe_tcp(const Topic& topic) {
    const auto own = parse_address(topic.local_address, 0);
    if (!own) return Error{"bind ZeroMQ to " + topic.local_address + ": not an IP address"};
    const std::string host = to_text(*own);  // the port here is 0; ZeroMQ writes any free port as '*'
    auto subscriber = std::make_unique<ZeromqSubscriber>(topic);
    if (auto done = subscriber->bind("tcp://" + host.substr(0, host.rfind(':')) + ":*"); !done) return done.error();
    const std::string where = subscriber->bound_to();
    const auto port = to_number<std::uint16_t>(std::string_view{where}.substr(where.rfind(':') + 1));
    if (!port) return Error{"bind ZeroMQ to " + host + ": it is at '" + where + "'"};
    const auto address = parse_address(topic.local_address, *port);
    subscriber->set_endpoint(IpEndpoint{*address, 0}.text());
    return std::unique_ptr<Subscriber>{std::move(subscriber)};
}

/// Changes the promised guarantees to those of the sockets in use.
void adjust(Transport& promised, const Settings& given) {
    const std::string sockets = value_of(given, "sockets");
    if (sockets != "pub-sub") promised.reliability = Reliability::reliable;
    if (sockets == "push-pull") promised.reaches_several = false;
}

}  // namespace

extern const Transport zeromq_ipc{
    .name = "zeromq-ipc",
    .summary = "ZeroMQ between processes of one host, over Unix sockets; PUB/SUB, best effort unless set otherwise",
    .data_path = "copy",
    .reliability = Reliability::best_effort,
    .reach = Reach::host,
    .subscribe = subscribe_ipc,
    .advertise = connected<ipc_address>,
    .reaches_several = true,
    .settings = settings,
    .adjust = adjust,
    .way = Way::local,
};

extern const Transport zeromq_inproc{
    .name = "zeromq-inproc",
    .summary = "ZeroMQ between threads of one process; PUB/SUB, best effort unless set otherwise",
    .data_path = "zero-copy",
    .reliability = Reliability::best_effort,
    .reach = Reach::process,
    .parties = Parties::threads,
    .subscribe = subscribe_inproc,
    .advertise = connected<inproc_address>,
    .reaches_several = true,
    .settings = settings,
    .adjust = adjust,
    .way = Way::local,
};

extern const Transport zeromq_tcp{
    .name = "zeromq-tcp",
    .summary = "ZeroMQ over TCP, IPv4 or IPv6; PUB/SUB, best effort unless set otherwise",
    .data_path = "copy",
    .reliability = Reliability::best_effort,
    .reach = Reach::network,
    .subscribe = subscribe_tcp,
    .advertise = connected<tcp_address>,
    .reaches_several = true,
    .settings = settings,
    .adjust = adjust,
    .way = Way::tcp,
    .endpoint_at = ip_endpoint_at,
};

}  // namespace tacholog::transports
