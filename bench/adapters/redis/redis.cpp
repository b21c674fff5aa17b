// Redis PUBLISH and SUBSCRIBE: the library hiredis on both sides, and the broker redis-server, which the run starts and
// ends. Nothing is stored. Each message is sent over TCP twice: to the broker, and from there to the subscribers.
//
// It is best effort. Messages that arrive are complete and in order. If too much data waits for a subscriber (by
// default 32 MiB, or 8 MiB for a minute), the broker closes its connection. The subscriber reconnects immediately. The
// waiting messages are lost, and so are messages that are published before it has reconnected. Lost messages are
// counted. The broker answers each PUBLISH with the number of subscribers that it reached. The setting `pipeline`
// limits the number of outstanding answers.
// A message is written into our buffer and copied into the library's buffer. It is copied into the kernel and out of it
// twice, and is read in the library's buffer. The library has no threads on either side.
// Anybody who can reach the port can connect. On a host that is shared with other people, use a transport of our own.
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <array>
#include <memory>
#include <utility>

#include "adapters/attempts.hpp"
#include "adapters/broker.hpp"

namespace tacholog::transports {
namespace {

Result<void> check_limit(std::string_view value) {
    return value == "none" ? Result<void>{} : Error{"neither library nor none"};
}

constexpr std::array settings{
    // Quoted from https://redis.io/topics/pipelining/: "Redis pipelining is a technique for improving performance by
    // issuing multiple commands at once without waiting for the response to each individual command".
    Setting{.name = "pipeline",
            .values = "N",
            .default_value = "1",
            .meaning = "how many PUBLISH commands may wait for their answers; 1 waits for each, as redisCommand does",
            .check = whole_number<1, 100'000>},
    Setting{.name = "output-buffer-limit",
            .values = "library or none",
            .default_value = "library",
            .meaning = "none: the broker keeps any number of bytes for a slow subscriber "
                       "(client-output-buffer-limit pubsub 0 0 0); its own default is 32 MiB, or 8 MiB for 60 s",
            .check = check_limit},
};

struct FreeContext {
    void operator()(redisContext* context) const { ::redisFree(context); }
};
struct FreeReply {
    void operator()(redisReply* reply) const { ::freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

/// A connection to the broker. Its calls never block after it has been connected.
class Connection {
public:
    explicit Connection(const Topic& topic) : waiting_(topic.waiting) {}

    Result<void> connect(const Topic& topic) {
        const auto broker = broker_of(topic);
        if (!broker) return broker.error();
        operation_ = "connect to the broker at " + topic.companion;
        context_.reset(::redisConnect(broker->host.c_str(), broker->port));
        if (context_ == nullptr || context_->err != 0) return trouble();
        const int yes = 1;  // the library also sets this option for non-blocking connections
        ::setsockopt(context_->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        context_->flags &= ~REDIS_BLOCK;
        ::fcntl(context_->fd, F_SETFL, ::fcntl(context_->fd, F_GETFL) | O_NONBLOCK);
        writing_ = false;
        return {};
    }

    /// Appends the name of the command, then the channel, then the payload if there is one.
    void append(std::string_view command, const std::string& channel, std::span<const std::byte> bytes) {
        const std::array<const char*, 3> words{command.data(), channel.c_str(),
                                               reinterpret_cast<const char*>(bytes.data())};
        const std::array<std::size_t, 3> sizes{command.size(), channel.size(), bytes.size()};
        ::redisAppendCommandArgv(context_.get(), bytes.data() == nullptr ? 2 : 3,
                                 const_cast<const char**>(words.data()), sizes.data());
        writing_ = true;
    }

    /// True while the output buffer holds bytes that the kernel has not accepted.
    bool writing() const { return writing_; }

    Result<void> write() {
        int done = 0;
        if (writing_ && ::redisBufferWrite(context_.get(), &done) != REDIS_OK) return trouble();
        writing_ = writing_ && done == 0;
        return {};
    }

    /// If the input buffer has no complete reply, reads once from the socket. Returns nothing if there is still none.
    Result<Reply> read() {
        void* reply = nullptr;
        if (::redisGetReplyFromReader(context_.get(), &reply) != REDIS_OK) return trouble();
        if (reply == nullptr) {
            if (::redisBufferRead(context_.get()) != REDIS_OK) return trouble();
            if (::redisGetReplyFromReader(context_.get(), &reply) != REDIS_OK) return trouble();
        }
        return Reply{static_cast<redisReply*>(reply)};
    }

    /// Repeats the attempt until it succeeds or fails. Returns not_yet if neither happens within `patience`.
    template <typename Attempt>
    Result<Done> wait(Patience patience, Attempt&& attempt) {
        return try_for(patience, waiting_, attempt, [this](Nanoseconds time_ns) { sleep(time_ns); });
    }

    void sleep(Nanoseconds time_ns) const {
        sleep_until_ready(context_->fd, writing_ ? POLLIN | POLLOUT : POLLIN, time_ns);
    }

    void set_operation(std::string operation) { operation_ = std::move(operation); }

private:
    Error trouble() const { return Error{operation_ + ": " + (context_ == nullptr ? "no memory" : context_->errstr)}; }

    Waiting waiting_;
    std::unique_ptr<redisContext, FreeContext> context_;
    std::string operation_;
    bool writing_ = false;
};

Facts library_facts() {
    return facts_of_library("Redis (hiredis)", version_text(HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH));
}

class RedisPublisher final : public Publisher {
public:
    explicit RedisPublisher(const Topic& topic)
        : Publisher(topic.max_bytes),
          channel_(topic.channel),
          expected_(static_cast<long long>(topic.audience.subscribers)),
          pipeline_(static_cast<int>(number_of(topic.settings, "pipeline"))),
          connection_(topic) {
        message_.reserve(topic.max_bytes);
    }
    /// An empty message after the last one tells the subscribers that this side leaves.
    ~RedisPublisher() override {
        if (!joined_) return;
        constexpr Patience longest{200};
        constexpr Nanoseconds one_ms = 1'000'000;
        static constexpr std::byte nothing{};
        connection_.append("PUBLISH", channel_, std::span{&nothing, 0});
        ++unanswered_;
        for (const Deadline deadline{longest}; unanswered_ > 0 && !deadline.passed() && take_answers();) {
            if (unanswered_ > 0) connection_.sleep(one_ms);
        }
    }

    Result<void> join(const Topic& topic) {
        if (auto done = connection_.connect(topic); !done) return done;
        connection_.set_operation("publish on " + channel_);
        joined_ = true;
        return {};
    }

    Result<Done> settle(Patience patience) override {
        return connection_.wait(patience, [this]() -> Result<Done> {
            if (auto done = take_answers(); !done) return done.error();
            return done_if(unanswered_ == 0);
        });
    }

    Facts facts() const override { return library_facts(); }

private:
    /// How long a subscriber may be missing before it counts as gone. A subscriber that was only disconnected by the
    /// broker reconnects immediately.
    static constexpr Nanoseconds longest_absence_ns = nanoseconds_per_second;

    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        message_.resize(bytes);
        handed_over_ = false;
        return std::span{message_};
    }

    /// Returns done when the number of outstanding answers is below the limit.
    Result<Done> commit(Patience patience) override {
        const auto sent = connection_.wait(patience, [this]() -> Result<Done> {
            if (!handed_over_) {
                connection_.append("PUBLISH", channel_, message_);
                ++unanswered_;
                handed_over_ = true;
            }
            if (auto done = take_answers(); !done) return done.error();
            return done_if(unanswered_ < pipeline_ && !connection_.writing());
        });
        if (is_done(sent)) handed_over_ = false;
        return sent;
    }

    void abandon() noexcept override {}

    /// If several answers may be outstanding (`pipeline`), this reads nothing until their number reaches the limit.
    /// Then it reads all of them.
    Result<void> take_answers() {
        if (auto done = connection_.write(); !done) return done;
        if (unanswered_ < pipeline_ && handed_over_) return {};
        while (unanswered_ > 0) {
            auto reply = connection_.read();
            if (!reply) return reply.error();
            if (*reply == nullptr) return {};
            --unanswered_;
            if ((*reply)->type == REDIS_REPLY_ERROR) return Error{"publish on " + channel_ + ": " + (*reply)->str};
            if (auto there = note_reached((*reply)->integer); !there) return there;
        }
        return {};
    }

    Result<void> note_reached(long long subscribers) {
        if (subscribers >= expected_) absent_since_ns_ = 0;
        if (subscribers >= expected_) return {};
        if (absent_since_ns_ == 0) absent_since_ns_ = now_ns();
        if (now_ns() - absent_since_ns_ < longest_absence_ns) return {};
        return Error{"publish on " + channel_ + ": the subscriber is gone"};
    }

    std::string channel_;
    long long expected_;
    int pipeline_;
    Connection connection_;
    std::vector<std::byte> message_;
    bool joined_ = false;
    bool handed_over_ = false;  ///< the loaned message has been added to the output buffer
    int unanswered_ = 0;
    Nanoseconds absent_since_ns_ = 0;
};

class RedisSubscriber final : public Subscriber {
public:
    explicit RedisSubscriber(Topic topic) : topic_(std::move(topic)), connection_(topic_) {}

    /// Returns after the broker has confirmed the subscription.
    Result<void> join(const Topic& topic) {
        constexpr Patience longest{10'000};
        constexpr Nanoseconds one_ms = 1'000'000;
        reply_.reset();
        if (auto done = connection_.connect(topic); !done) return done;
        connection_.set_operation("take from " + topic.channel);
        connection_.append("SUBSCRIBE", topic.channel, {});
        for (const Deadline deadline{longest}; !deadline.passed();) {
            if (auto done = connection_.write(); !done) return done;
            auto reply = connection_.read();
            if (!reply) return reply.error();
            if (*reply != nullptr) return {};
            connection_.sleep(one_ms);
        }
        return Error{"subscribe to " + topic.channel + ": no answer"};
    }

    /// Returns the name of the channel, by which both sides find each other at the broker.
    std::string endpoint() const override { return topic_.channel; }

    /// The broker has confirmed the subscription, so every message that is published from now on arrives.
    Result<Done> match(Patience) override { return Done::yes; }

    Facts facts() const override { return library_facts(); }

private:
    Result<std::span<const std::byte>> receive(Patience patience) override {
        const auto came = connection_.wait(patience, [this]() -> Result<Done> {
            auto reply = connection_.read();
            // Either the broker has disconnected us, or it has ended. In the second case, reconnecting fails too.
            if (!reply) {
                if (auto back = join(topic_); !back) return back.error();
                return Done::not_yet;
            }
            reply_ = std::move(*reply);
            return done_if(reply_ != nullptr && reply_->elements == message_elements);
        });
        if (!came.has_value()) return came.error();
        if (*came == Done::not_yet) return std::span<const std::byte>{};
        const redisReply& payload = *reply_->element[message_elements - 1];
        if (payload.type != REDIS_REPLY_STRING || payload.len == 0)
            return Error{"take from " + topic_.channel + ": the publisher is gone"};
        return std::span{reinterpret_cast<const std::byte*>(payload.str), payload.len};
    }

    void release() noexcept override { reply_.reset(); }

    // A reply has three elements: the word "message", the channel, the payload.
    static constexpr std::size_t message_elements = 3;

    Topic topic_;
    Connection connection_;
    Reply reply_;
};

/// Returns the configuration of the broker. It disables snapshots. Otherwise, the broker would write a snapshot into
/// the folder of the run at its end, although PUBLISH stores nothing.
std::string configure(const RunPlan& plan, const BrokerAddress& broker) {
    std::string text = "bind " + broker.host + "\nport " + std::to_string(broker.port) +
                       "\nprotected-mode no\nsave \"\"\ndaemonize no\n";
    if (value_of(plan.settings, "output-buffer-limit") == "none") text += "client-output-buffer-limit pubsub 0 0 0\n";
    return text;
}

Result<std::unique_ptr<Companion>> start_companion(const RunPlan& plan) {
    return Broker::start({"redis-server", "redis-server", {"--version"}, {}, configure}, plan);
}

}  // namespace

extern const Transport redis{
    .name = "redis",
    .summary = "Redis PUBLISH and SUBSCRIBE through a redis-server, which the run starts; over TCP; best effort",
    .data_path = "copy",
    .reliability = Reliability::best_effort,
    .reach = Reach::network,
    .subscribe = joined_subscriber<RedisSubscriber>,
    .advertise = joined_publisher<RedisPublisher>,
    .reaches_several = true,
    .settings = settings,
    .way = Way::tcp,
    .start_companion = start_companion,
    .endpoint_at = ip_endpoint_at,
};

}  // namespace tacholog::transports
