// The interface of a transport. The transport loans a buffer to the publisher, transfers the published message, and
// lends it to the subscriber. Copying and zero-copy transports share this interface, so that one rig measures both.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/address.hpp"
#include "base/audience.hpp"
#include "base/clock.hpp"
#include "base/facts.hpp"
#include "base/instances.hpp"
#include "base/message.hpp"
#include "base/result.hpp"
#include "base/settings.hpp"
#include "base/waiting.hpp"

namespace tacholog {

/// What a topic carries: the measured messages, or the answers, which go in the opposite direction.
enum class Direction { messages, answers };

/// One channel from a publisher to its subscribers, as seen by one side.
struct Topic {
    std::string name;       ///< this side's end; unique on this host, so that ends of different topics never connect
    std::size_t max_bytes;  ///< the size of the largest message
    std::string local_address;                 ///< where the peer reaches this side, for transports with addresses
    std::string peer_address = local_address;  ///< where this side reaches the peer, if an address was given
    Direction direction = Direction::messages;
    std::size_t publisher = 0;  ///< the index of the publisher, from 0
    Audience audience = {};     ///< the subscribers, for transports that reach several
    /// How a side waits. The value is the same on both sides, because each side must know whether it has to wake the
    /// other.
    Waiting waiting = Waiting::busy_poll;
    std::size_t batch_messages = 1;  ///< the largest number of messages in a batch, for transports with batches
    Settings settings = {};          ///< all settings that the transport declares, with the values in effect
    /// The name of the channel, for middleware that connects its sides by topic name. All sides have the same name. No
    /// other channel of this run or of another run has this name. It contains only letters, digits and '-'.
    std::string channel = name;
    /// For keyed data: the number of instances. `instance_of` returns the instance of a message.
    std::optional<std::size_t> instances = {};
    std::string companion = {};  ///< the address of the run's Companion; empty if there is none
};

/// The instance (from 0) of a keyed topic to which this message belongs. The rig stores it in the message, so that
/// transports without instances need not transfer it. The message must have been written but not published yet, or must
/// have been received intact.
inline std::size_t instance_of(std::span<const std::byte> message) {
    return static_cast<std::size_t>(key_of(message_parts::load(message.data())));
}

/// What a run will require of a transport.
struct RunPlan {
    Settings settings = {};  ///< all settings that the transport declares, with the values in effect
    std::vector<std::size_t> sizes_bytes = {};
    Waiting waiting = Waiting::busy_poll;
    Audience audience = {};
    std::size_t publishers = 1;
    std::optional<std::size_t> instances = {};
    std::string address = {};  ///< the publisher's address, as both sides know it
    bool publishes = true;     ///< whether the publisher runs in this process
    bool subscribes = true;    ///< whether the subscribers run in this process

    std::size_t largest_bytes() const { return *std::max_element(sizes_bytes.begin(), sizes_bytes.end()); }
    std::size_t smallest_bytes() const { return *std::min_element(sizes_bytes.begin(), sizes_bytes.end()); }
};

/// A program that a run needs in addition to its two sides, such as a broker or a daemon. The destructor ends the
/// program. machine/helper_program.hpp starts such programs.
class Companion {
public:
    virtual ~Companion() = default;

    /// What both sides need to connect to the program, for Topic::companion: "127.0.0.1:41234", or a folder.
    virtual std::string address() const = 0;

    /// For the log: the name, version and command line of the program.
    virtual Facts facts() const = 0;

    /// The process of the program, whose CPU time is part of the cost of messages; 0 if unknown.
    virtual pid_t pid() const { return 0; }

    /// Ends the program immediately and removes its files. Called when this process is about to exit without running
    /// destructors.
    virtual void end_now() noexcept {}

    /// The reason why the program ended too early; empty if it has not.
    virtual std::optional<std::string> trouble() const { return std::nullopt; }
};

class Publisher;

/// A buffer for one message. The message is published at most once. If it is not published, the buffer returns to the
/// transport.
class [[nodiscard]] Loan {
public:
    Loan(Publisher& owner, std::span<std::byte> bytes) : owner_(&owner), bytes_(bytes) {}
    Loan(Loan&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), bytes_(other.bytes_) {}
    Loan& operator=(Loan&&) = delete;
    inline ~Loan();

    std::span<std::byte> bytes() const { return bytes_; }

    /// Publishes the message. Returns not_yet if the transport is still full after `patience`. Then the loan is still
    /// valid, and the call can be repeated.
    inline Result<Done> publish(Patience patience);

private:
    Publisher* owner_;
    std::span<std::byte> bytes_;
};

class Publisher {
public:
    explicit Publisher(std::size_t max_bytes) : max_bytes_(max_bytes) {}
    virtual ~Publisher() = default;

    /// There can be only one loan at a time. Messages larger than the topic's largest are rejected here, so that
    /// transports need no check.
    Result<Loan> loan(std::size_t bytes) {
        if (bytes > max_bytes_) [[unlikely]]
            return too_large(bytes);
        auto buffer = acquire(bytes);
        if (!buffer) return buffer.error();
        return Loan{*this, *buffer};
    }

    /// Sends the messages of an incomplete batch. Returns not_yet if the transport is still full after `patience`; the
    /// call can then be repeated. Must not be called during a loan.
    virtual Result<Done> flush(Patience) { return Done::yes; }

    /// Waits until all published messages have arrived at the program between the sides, such as a broker. If a
    /// subscriber does not receive a message after that, the message is lost. Before that, the message may still be on
    /// its way. Returns not_yet if this takes longer than `patience`; the call can then be repeated. Must not be called
    /// during a loan.
    virtual Result<Done> settle(Patience) { return Done::yes; }

    /// The system call that sends a batch, for the log. Empty without batching.
    virtual std::string_view batched_by() const { return ""; }

    /// Waits until the subscribers have connected. Only transports that connect after `advertise` need this. Returns
    /// not_yet if this takes longer than `patience`, and is then called again. Both sides wait for each other at the
    /// same time, so each side calls Publisher::match and Subscriber::match alternately.
    virtual Result<Done> match(Patience) { return Done::yes; }

    /// The facts about this side for the log. Called once, after both sides have matched.
    virtual Facts facts() const { return {}; }

    /// The messages that were dropped so far because this subscriber was slow. Subscribers are numbered in the order of
    /// the endpoints.
    virtual std::uint64_t dropped(std::size_t) const { return 0; }

protected:
    std::size_t max_bytes() const { return max_bytes_; }

private:
    friend class Loan;
    [[gnu::cold]] Error too_large(std::size_t bytes) const {
        return Error{"loan " + std::to_string(bytes) + " bytes: too large, the topic's largest message has " +
                     std::to_string(max_bytes_)};
    }

    /// `bytes` is at most max_bytes().
    virtual Result<std::span<std::byte>> acquire(std::size_t bytes) = 0;
    virtual Result<Done> commit(Patience patience) = 0;
    virtual void abandon() noexcept = 0;

    std::size_t max_bytes_;
};

Loan::~Loan() {
    if (owner_ != nullptr) owner_->abandon();
}

Result<Done> Loan::publish(Patience patience) {
    auto sent = owner_->commit(patience);
    if (is_done(sent)) owner_ = nullptr;
    return sent;
}

class Subscriber;

/// A received message. Its bytes are valid as long as this object exists.
class [[nodiscard]] Sample {
public:
    Sample(Subscriber& owner, std::span<const std::byte> bytes) : owner_(&owner), bytes_(bytes) {}
    Sample(Sample&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), bytes_(other.bytes_) {}
    Sample& operator=(Sample&&) = delete;
    inline ~Sample();

    std::span<const std::byte> bytes() const { return bytes_; }

private:
    Subscriber* owner_;
    std::span<const std::byte> bytes_;
};

class Subscriber {
public:
    virtual ~Subscriber() = default;

    /// What the publisher needs to connect to this subscriber. It is sent over the control channel.
    virtual std::string endpoint() const = 0;

    /// Waits until a publisher has connected. Returns not_yet if this takes longer than `patience`.
    virtual Result<Done> match(Patience patience) = 0;

    /// Returns the next message. Returns nothing if no message arrived within `patience`; this is not an error. The
    /// previous sample must be gone, because there can be only one sample at a time.
    Result<std::optional<Sample>> take(Patience patience) {
        auto bytes = receive(patience);
        if (!bytes) return bytes.error();
        if (bytes->data() == nullptr) return std::optional<Sample>{};
        if (bytes->size() < message_header_bytes) [[unlikely]] {
            release();
            return too_short(bytes->size());
        }
        return std::optional<Sample>{std::in_place, *this, *bytes};
    }

    /// The facts about this side for the log, as in Publisher::facts. If both sides report the same fact, the log
    /// states the value from the subscriber.
    virtual Facts facts() const { return {}; }

private:
    friend class Sample;
    [[gnu::cold]] static Error too_short(std::size_t bytes) {
        return Error{"take: the peer sent a message of " + std::to_string(bytes) +
                     " bytes; none of perftest's is so short"};
    }

    /// Returns a span without data if no message arrived.
    virtual Result<std::span<const std::byte>> receive(Patience patience) = 0;
    virtual void release() noexcept = 0;
};

Sample::~Sample() {
    if (owner_ != nullptr) owner_->release();
}

enum class Reliability { reliable, best_effort };
/// How far a message can be sent: to another thread, to another process of this host, or to another host.
enum class Reach { process, host, network };
/// What the two sides can be: processes, threads of one process, or processes on different network interfaces. One
/// command can start both sides, except on different network interfaces.
enum class Parties { processes, threads, hosts };
/// How the bytes of messages are transferred, as far as the counters of the kernel can tell. `local` is shared memory,
/// pipes and Unix sockets, which are not counted. `udp` and `tcp` are counted, also over the loopback.
enum class Way { local, udp, tcp };

/// The values of `Subscriber::endpoint`, one for each subscriber of a topic.
using Endpoints = std::vector<std::string>;

/// The description of a transport: its name, its properties, and two functions that open the ends of a topic. First
/// `subscribe` is called, then `advertise`. `advertise` never waits for the subscriber, so that two sides can call it
/// at the same time. The file of each transport ends with one such struct. Its fields are named, and fields with a
/// default value may be omitted.
struct Transport {
    std::string_view name;
    std::string_view summary;    ///< what the transport is, in one line, for --list-transports
    std::string_view data_path;  ///< copy, zero-copy, ...
    Reliability reliability;
    Reach reach;
    Parties parties = Parties::processes;
    Result<std::unique_ptr<Subscriber>> (*subscribe)(const Topic&);
    Result<std::unique_ptr<Publisher>> (*advertise)(const Topic&, const Endpoints&);

    /// Whether one publisher can reach several subscribers. If not, `advertise` gets one endpoint.
    bool reaches_several = false;
    /// Whether the transport supports SlowSubscriber::drop, so that a slow subscriber does not delay the others.
    bool drops_for_slow = false;
    /// The largest batch in bytes; 0: batches are not supported.
    std::size_t most_batch_bytes = 0;
    std::span<const Setting> settings = {};  ///< the transport's own settings, with their defaults
    /// Changes the properties of `promised` that depend on settings. At first, `promised` is a copy of this struct.
    void (*adjust)(Transport& promised, const Settings& settings) = nullptr;
    /// The path that the data should take. The log states whether the counters of the kernel agree, because some
    /// libraries silently use another path. Empty: not checked.
    std::optional<Way> way = std::nullopt;
    /// Whether this process can run as planned. An error says in one line what is missing and what to do ("iox-roudi is
    /// not running: start it with ..."). This is called on each side before anything is measured. It must not leave a
    /// thread behind, because processes are forked later. nullptr: the transport is always ready.
    Result<void> (*ready)(const RunPlan&) = nullptr;
    /// Starts the program that the run needs, such as a broker. Called before `ready`, once in each process that the
    /// user starts. Returns a null pointer if this process need not start it: the other side starts it, or it is
    /// running anyway.
    Result<std::unique_ptr<Companion>> (*start_companion)(const RunPlan&) = nullptr;
    /// Whether each size needs a new process, because the library can be started only once in a process.
    bool fresh_process_for_each_size = false;
    /// Whether a call of the library may block for ever after the other side was killed, for example on a lock in
    /// shared memory. If so, this process exits three seconds after the kill, without shutting down the library. If the
    /// shutdown of a library crashes after such a kill, its endpoints can call `PeerWatch::somebody_has_hung_up` before
    /// the shutdown. A transport with a new process for each size does not need this.
    bool may_wait_for_the_dead = false;
    /// Checks an endpoint that the peer at `host` has sent. Returns the endpoint to use. Returns an empty text if the
    /// endpoint is on another host, because the peer must not make us send there. nullptr: endpoints contain no host,
    /// because all are on this host.
    std::optional<std::string> (*endpoint_at)(std::string_view endpoint, const Address& host) = nullptr;
    /// The largest possible message in bytes; 0: no limit. A run with larger messages is rejected.
    std::size_t most_bytes = 0;
    /// The least memory that both sides of a channel need together, as a number of messages of the largest size. The
    /// memory is checked before a run, so that a run that needs too much memory is rejected, not killed.
    std::size_t messages_in_memory = 2;
    /// Whether the messages of this transport return to the publisher and never reach a subscriber. Only a latency test
    /// is possible then.
    bool reaches_nobody = false;
    std::string_view remark = {};  ///< a note for the log about how the transport works, if figures depend on it
};

/// Returns a copy of the transport, with the properties that the transport has under these settings.
inline Transport adjusted(const Transport& transport, const Settings& settings) {
    Transport promised = transport;
    if (transport.adjust != nullptr) transport.adjust(promised, settings);
    return promised;
}

/// All transports of this build, sorted by name. CMake generates this from the tacholog_transport() calls.
std::span<const Transport* const> all_transports();

/// Returns the transport with this name; nullptr if it is not in this build.
inline const Transport* find_transport(std::string_view name) {
    for (const Transport* transport : all_transports()) {
        if (transport->name == name) return transport;
    }
    return nullptr;
}

/// Returns nullptr if the transport has no such setting.
inline const Setting* setting_of(const Transport& transport, std::string_view name) {
    for (const Setting& setting : transport.settings) {
        if (setting.name == name) return &setting;
    }
    return nullptr;
}

/// A transport that is not in this build, and what to install for it.
struct LeftOut {
    std::string_view name;
    std::string_view remedy;  ///< "install libzmq3-dev"
};

/// CMake generates this from the tacholog_left_out() calls.
std::span<const LeftOut> transports_left_out();

}  // namespace tacholog
