// The interface of a transport: it loans a buffer to the publisher, carries what is published, and lends it to the
// subscriber. Copying and zero-copy transports share this interface, so that one rig measures both.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/address.hpp"
#include "core/audience.hpp"
#include "core/clock.hpp"
#include "core/message.hpp"
#include "core/result.hpp"
#include "core/settings.hpp"
#include "core/waiting.hpp"

namespace tacholog {

/// What a topic carries: the messages that are measured, or the answers to them, which go the other way.
enum class Direction { messages, answers };

struct Topic {
    std::string name;                          ///< unique on this host, so that two runs at once never meet
    std::size_t max_bytes;                     ///< the largest message sent on it
    std::string local_address;                 ///< where the peer can reach this side, for transports with addresses
    std::string peer_address = local_address;  ///< where this side was told to find the peer, if it was
    Direction direction = Direction::messages;
    Audience audience = {};                ///< who subscribes, for transports that reach several
    Waiting waiting = Waiting::busy_poll;  ///< the same on both sides: a side that sleeps has to be woken
    std::size_t batch_messages = 1;        ///< how many may be held back to travel together, for those that batch
    Settings settings = {};                ///< those of the transport's own that were given
};

/// Effective sizes, as read back from the kernel.
struct SocketBuffers {
    int receive_bytes = 0;
    int send_bytes = 0;
    std::string congestion = {};  ///< TCP's algorithm of congestion control; empty of other protocols
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
    inline Result<bool> publish(Patience patience);

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

    /// Sends the messages that are held back for a batch that is not full. False if the transport is still full after
    /// `patience`: try again. Not while a loan is out.
    virtual Result<bool> flush(Patience) { return true; }

    /// The system call that takes a batch, for the log; empty without batching.
    virtual std::string_view batched_by() const { return ""; }

    virtual std::optional<SocketBuffers> buffers() const { return std::nullopt; }

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
    virtual Result<bool> commit(Patience patience) = 0;
    virtual void abandon() noexcept = 0;

    std::size_t max_bytes_;
};

Loan::~Loan() {
    if (owner_ != nullptr) owner_->abandon();
}

Result<bool> Loan::publish(Patience patience) {
    auto sent = owner_->commit(patience);
    if (sent && *sent) owner_ = nullptr;
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

    /// Waits until a publisher has joined. False if none has within `patience`.
    virtual Result<bool> match(Patience patience) = 0;

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

    virtual std::optional<SocketBuffers> buffers() const { return std::nullopt; }

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
    Result<std::unique_ptr<Publisher>> (*advertise)(const Topic&, std::string_view endpoint);

    /// As advertise, to every subscriber of the topic's audience; nullptr if it reaches one alone.
    Result<std::unique_ptr<Publisher>> (*advertise_to_all)(const Topic&,
                                                           std::span<const std::string> endpoints) = nullptr;
    /// Whether it can go on without a slow subscriber, as SlowSubscriber::drop asks for.
    bool drops_for_slow = false;
    /// How many bytes of messages it holds back at most, if asked to, so that they travel together; 0: none.
    std::size_t most_batch_bytes = 0;
    std::span<const Setting> settings = {};  ///< its own options
    /// An endpoint that the peer at this host has named, as it is to be used; nothing if it is somewhere else, where
    /// the peer must not send us. nullptr: endpoints name no host, as they are on this one.
    std::optional<std::string> (*endpoint_at)(std::string_view endpoint, const Address& host) = nullptr;
    std::string_view remark = {};  ///< what the log says of how it works, where a figure depends on that
};

/// `advertise` of those that reach several: the same with one endpoint.
template <Result<std::unique_ptr<Publisher>> (*to_all)(const Topic&, std::span<const std::string>)>
Result<std::unique_ptr<Publisher>> advertise_to_one(const Topic& topic, std::string_view endpoint) {
    return to_all(topic, std::array{std::string{endpoint}});
}

/// Every transport of this build, by name. Written by CMake from the tacholog_transport() calls.
std::span<const Transport* const> all_transports();

}  // namespace tacholog
