// The interface of a transport: it loans a buffer to the publisher, carries what is published, and lends it to the
// subscriber. Copying and zero-copy transports share this interface, so that one rig measures both.
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

/// What a topic carries: the messages that are measured, or the answers to them, which go the other way.
enum class Direction { messages, answers };

/// One channel from a publisher to its subscribers, as one of the sides sees it.
struct Topic {
    std::string name;           ///< of this side's end: unique on this host, so that no two ends ever meet by mistake
    std::size_t max_bytes;      ///< the largest message sent on it
    std::string local_address;  ///< where the peer can reach this side, for transports with addresses
    std::string peer_address = local_address;  ///< where this side was told to find the peer, if it was
    Direction direction = Direction::messages;
    std::size_t publisher = 0;             ///< which of several publishers, from 0
    Audience audience = {};                ///< who subscribes, for transports that reach several
    Waiting waiting = Waiting::busy_poll;  ///< the same on both sides: a side that sleeps must be woken explicitly
    std::size_t batch_messages = 1;        ///< how many may be held back to travel together, for those that batch
    Settings settings = {};                ///< each one that the transport declares, with the value in effect
    /// The same on all sides: a name for middleware whose sides meet by the name of a topic. No other run has it, and
    /// no other channel of this run. Letters, digits and '-' only.
    std::string channel = name;
    /// Of keyed data: how many instances there are. `instance_of` tells which one a message belongs to.
    std::optional<std::size_t> instances = {};
    std::string companion = {};  ///< the address of the run's Companion, where there is one
};

/// The instance (from 0) of a keyed topic to which this message belongs. The rig has written it into the message, so
/// that transports without instances need not hand it through. For a message between writing and publishing, or a
/// received one that is intact.
inline std::size_t instance_of(std::span<const std::byte> message) {
    return static_cast<std::size_t>(key_of(message_parts::load(message.data())));
}

/// What a run is going to ask of a transport.
struct RunPlan {
    Settings settings = {};  ///< each one that the transport declares, with the value in effect
    std::vector<std::size_t> sizes_bytes = {};
    Waiting waiting = Waiting::busy_poll;
    Audience audience = {};
    std::size_t publishers = 1;
    std::optional<std::size_t> instances = {};
    std::string address = {};  ///< the publisher's, as both sides know it
    bool publishes = true;     ///< this process has the publisher...
    bool subscribes = true;    ///< ...and these are its subscribers' too

    std::size_t largest_bytes() const { return *std::max_element(sizes_bytes.begin(), sizes_bytes.end()); }
    std::size_t smallest_bytes() const { return *std::min_element(sizes_bytes.begin(), sizes_bytes.end()); }
};

/// A program that a run needs beside its two sides, such as a broker or a daemon; it ends with this object. See
/// machine/helper_program.hpp, which starts such programs.
class Companion {
public:
    virtual ~Companion() = default;

    /// What both sides need to find it, for Topic::companion: "127.0.0.1:41234", or a folder.
    virtual std::string address() const = 0;

    /// For the log: its name, version and command line.
    virtual Facts facts() const = 0;

    /// The process of the program, whose processor time is part of what messages cost; 0 if nobody knows it.
    virtual pid_t pid() const { return 0; }

    /// Ends it at once, and removes what it leaves behind: this process is about to end without destroying anything.
    virtual void end_now() noexcept {}

    /// Why it is no longer there, if it has ended before it was told to.
    virtual std::optional<std::string> trouble() const { return std::nullopt; }
};

class Publisher;

/// A buffer to write one message into. Published at most once; given back if it never is.
class [[nodiscard]] Loan {
public:
    Loan(Publisher& owner, std::span<std::byte> bytes) : owner_(&owner), bytes_(bytes) {}
    Loan(Loan&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), bytes_(other.bytes_) {}
    Loan& operator=(Loan&&) = delete;
    inline ~Loan();

    std::span<std::byte> bytes() const { return bytes_; }

    /// Hands the message over. False if the transport is still full after `patience`: try again, the loan is kept.
    inline Result<Done> publish(Patience patience);

private:
    Publisher* owner_;
    std::span<std::byte> bytes_;
};

class Publisher {
public:
    /// Of a topic whose largest message has so many bytes.
    explicit Publisher(std::size_t max_bytes) : max_bytes_(max_bytes) {}
    virtual ~Publisher() = default;

    /// One loan at a time. A message above the topic's largest is refused here, so that no transport need look.
    Result<Loan> loan(std::size_t bytes) {
        if (bytes > max_bytes_) [[unlikely]]
            return too_large(bytes);
        auto buffer = acquire(bytes);
        if (!buffer) return buffer.error();
        return Loan{*this, *buffer};
    }

    /// Sends the messages that are held back for a batch that is not full. Not yet done if the transport is still full
    /// after `patience`: try again. Not while a loan is out.
    virtual Result<Done> flush(Patience) { return Done::yes; }

    /// Waits until a third party that stands between the sides, such as a broker, has all that was published: before
    /// that, a subscriber that hears nothing cannot tell a lost message from one that waits. Not yet done if it has not
    /// within `patience`: try again. Not while a loan is out.
    virtual Result<Done> settle(Patience) { return Done::yes; }

    /// The system call that takes a batch, for the log; empty without batching.
    virtual std::string_view batched_by() const { return ""; }

    /// Waits until its subscribers have joined, where they find each other only after `advertise`. Not yet done if
    /// they have not within `patience`: it is then called again. Meanwhile the peer does the same at its end, by turns
    /// with Subscriber::match.
    virtual Result<Done> match(Patience) { return Done::yes; }

    /// What the log states about this end. Asked for once, when both sides have matched.
    virtual Facts facts() const { return {}; }

    /// Messages so far that were dropped for this subscriber (in the order of their endpoints), because it was slow.
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

/// A received message, valid as long as this lives.
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

    /// What the publisher needs to find this subscriber; travels over the control channel.
    virtual std::string endpoint() const = 0;

    /// Waits until a publisher has joined. Not yet done if none has within `patience`.
    virtual Result<Done> match(Patience patience) = 0;

    /// The next message, or nothing if none came within `patience`; that is not an error. One sample at a time.
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

    /// As Publisher::facts. Where both have a fact, the log has the subscriber's.
    virtual Facts facts() const { return {}; }

private:
    friend class Sample;
    [[gnu::cold]] static Error too_short(std::size_t bytes) {
        return Error{"take: the peer sent a message of " + std::to_string(bytes) +
                     " bytes; none of perftest's is so short"};
    }

    /// A span without data says that nothing came.
    virtual Result<std::span<const std::byte>> receive(Patience patience) = 0;
    virtual void release() noexcept = 0;
};

Sample::~Sample() {
    if (owner_ != nullptr) owner_->release();
}

enum class Reliability { reliable, best_effort };
/// How far a message can get: to another thread, to another process of this host, or to another host.
enum class Reach { process, host, network };
/// What the two sides can be: processes, threads of one process, or (so that one command cannot start both) processes
/// that each need a network interface of their own.
enum class Parties { processes, threads, hosts };
/// The way that the bytes of messages take between the sides, as far as the kernel's counters can tell ways apart:
/// `local` is shared memory, pipes and Unix sockets; `udp` and `tcp` are counted, by the loopback too.
enum class Way { local, udp, tcp };

/// Where the subscribers of a topic are: what `Subscriber::endpoint` of each says.
using Endpoints = std::vector<std::string>;

/// A transport is a name, what it promises, and the two ways to join a topic: subscribe first, then advertise.
/// advertise never waits for the subscriber, so that two sides can advertise to each other. Each transport's file ends
/// with one of these, its fields named: those with a value here may be left out.
struct Transport {
    std::string_view name;
    std::string_view summary;    ///< one line for --list-transports
    std::string_view data_path;  ///< copy, zero-copy, ...
    Reliability reliability;
    Reach reach;
    Parties parties = Parties::processes;
    Result<std::unique_ptr<Subscriber>> (*subscribe)(const Topic&);
    Result<std::unique_ptr<Publisher>> (*advertise)(const Topic&, const Endpoints&);

    /// Whether it reaches several subscribers. Else `advertise` has one endpoint.
    bool reaches_several = false;
    /// Whether it can go on without a slow subscriber, as SlowSubscriber::drop asks for.
    bool drops_for_slow = false;
    /// How many bytes of messages it holds back at most, if asked to, so that they travel together; 0: none.
    std::size_t most_batch_bytes = 0;
    std::span<const Setting> settings = {};  ///< its own, with their defaults
    /// Changes what this struct promises, where that depends on settings: `promised` begins as a copy of it.
    void (*adjust)(Transport& promised, const Settings& settings) = nullptr;
    /// The way that its data is meant to take. The log then says whether the kernel's counters agree: some libraries
    /// fall back to another way in silence. Nothing: not asked.
    std::optional<Way> way = std::nullopt;
    /// Whether this process can run as planned: an error says in one line what is missing and what to do about it
    /// ("iox-roudi is not running: start it with ..."). Asked on each side before anything is measured. It must leave
    /// no thread behind, as processes are forked later. nullptr: always.
    Result<void> (*ready)(const RunPlan&) = nullptr;
    /// Starts the program that the run needs, once in each process that a user starts, and before `ready` is asked. An
    /// empty pointer: none is needed here, as the other side has it, or it runs anyway.
    Result<std::unique_ptr<Companion>> (*start_companion)(const RunPlan&) = nullptr;
    /// Whether each size needs a process of its own, as the library can be started only once in a process.
    bool fresh_process_for_each_size = false;
    /// Whether a call of its library may wait for ever when the other side has been killed: for a lock in shared
    /// memory, say. Three seconds after that, this process then ends without the library. An end of a library that
    /// crashes there can ask `PeerWatch::somebody_has_hung_up`. Not for those of fresh processes.
    bool may_wait_for_the_dead = false;
    /// An endpoint that the peer at this host has named, as it is to be used; nothing if it is somewhere else, where
    /// the peer must not send us. nullptr: endpoints name no host, as they are on this one.
    std::optional<std::string> (*endpoint_at)(std::string_view endpoint, const Address& host) = nullptr;
    std::size_t most_bytes = 0;  ///< the largest message that it carries; 0: any. A run with larger ones is refused
    /// How many messages of the largest size the memory of one channel holds, at both ends, at least. Asked before a
    /// run begins, so that it is refused rather than killed.
    std::size_t messages_in_memory = 2;
    std::string_view remark = {};  ///< what the log says of how it works, where a figure depends on that
};

/// The transport as it is with these settings.
inline Transport adjusted(const Transport& transport, const Settings& settings) {
    Transport promised = transport;
    if (transport.adjust != nullptr) transport.adjust(promised, settings);
    return promised;
}

/// Every transport of this build, by name. Written by CMake from the tacholog_transport() calls.
std::span<const Transport* const> all_transports();

/// The transport of that name; nullptr if this build has none.
inline const Transport* find_transport(std::string_view name) {
    for (const Transport* transport : all_transports()) {
        if (transport->name == name) return transport;
    }
    return nullptr;
}

/// The setting of that name; nullptr if the transport has none.
inline const Setting* setting_of(const Transport& transport, std::string_view name) {
    for (const Setting& setting : transport.settings) {
        if (setting.name == name) return &setting;
    }
    return nullptr;
}

/// A transport that this build does not have, and what to install for it.
struct LeftOut {
    std::string_view name;
    std::string_view remedy;  ///< "install libzmq3-dev"
};

/// Written by CMake from the tacholog_left_out() calls.
std::span<const LeftOut> transports_left_out();

}  // namespace tacholog
