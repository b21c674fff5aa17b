// A queue between two threads of one process that injects the configured faults: it delays, stalls, loses, duplicates,
// reorders and changes messages. It is the ground truth that the rig's figures are tested against, not a real
// transport. It counts as best effort because it can lose messages. Without configured faults it loses nothing, and the
// publisher blocks if the queue is full.
#include <algorithm>
#include <deque>
#include <vector>

#include "transports/injection.hpp"
#include "transports/meeting_place.hpp"
#include "transports/parking.hpp"
#include "transports/transport.hpp"

namespace tacholog::transports {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::string_view no_faults = "none";
constexpr std::string_view no_limit = "none";

Result<void> check_faults(std::string_view text) {
    const auto injection = parse_injection(text);
    return injection ? Result<void>{} : injection.error();
}

constexpr std::array settings{
    Setting{.name = "faults",
            .values = "LIST",
            .default_value = no_faults,
            .meaning =
                "faults on the way to the subscriber, to test the figures: hold=TIME, stall=TIME/PERIOD "
                "(subscriber), send-stall=TIME/PERIOD (publisher); silence=PUBLISHER: all messages of this publisher "
                "are lost (the first of several publishers is 1); every N-th message: lose=N, duplicate=N, reorder=N, "
                "corrupt=N[:BYTE[:MASK]]: this byte of the message (from 0; default: the last; each: "
                "every one in turn) XOR MASK (default 255); corrupt-answer=... the same for the answers",
            .check = check_faults},
    Setting{.name = "capacity",
            .values = "RATE",
            .default_value = no_limit,
            .meaning =
                "how many messages per second pass to the subscriber, one after the other, each in the same time; "
                "messages that come faster wait in a queue, and the publisher waits when the queue is full",
            .check = whole_number<1, 1'000'000'000>}};

Result<Injection> injection_of(const Settings& given) {
    const std::string faults = value_of(given, "faults");
    return faults.empty() || faults == no_faults ? Injection{} : parse_injection(faults);
}

/// Rejects the index of a byte that the smallest message does not have, because that byte could not be changed.
Result<void> ready(const RunPlan& plan) {
    const auto injection = injection_of(plan.settings);
    if (!injection) return injection.error();
    const std::size_t smallest_bytes = plan.smallest_bytes();
    for (const Corruption& corrupt : {injection->corrupt, injection->corrupt_answer}) {
        if (corrupt.byte_index(smallest_bytes) < smallest_bytes) continue;
        return Error{"--set faults=" + value_of(plan.settings, "faults") + ": a message of " +
                     std::to_string(smallest_bytes) + " bytes has no byte " + std::to_string(*corrupt.byte) +
                     " (the first is 0)"};
    }
    return {};
}

/// Faults are injected only on the way to the subscriber, so a round trip has exactly these faults. Answers have only
/// one kind of fault, corruption, which has its own setting.
Result<Injection> injection_of(const Topic& topic) {
    auto injection = injection_of(topic.settings);
    if (injection && topic.direction == Direction::messages) {
        const std::uint64_t capacity_per_s = number_of(topic.settings, "capacity");  // 0: no limit
        if (capacity_per_s > 0) injection->service_ns = 1e9 / static_cast<double>(capacity_per_s);
        if (injection->silence == topic.publisher + 1) injection->lose = 1;
        return injection;
    }
    if (!injection) return injection;
    Injection of_answers;
    of_answers.corrupt = injection->corrupt_answer;
    return of_answers;
}

// A hold or a stall ends at a certain time, and nobody wakes the waiting thread then. Therefore threads sleep only
// briefly.
constexpr Nanoseconds longest_nap_ns = 20'000;

struct Held {
    Bytes bytes;
    Nanoseconds ready_ns = 0;
};

class Channel {
public:
    Channel(const Topic& topic, const Injection& injection)
        : waiting(topic.waiting),
          injection_(injection),
          room_(std::clamp<std::size_t>(most_bytes / topic.max_bytes, 4, 1024)) {}

    /// Returns false if the queue is full or the publisher is stalled.
    bool put(std::span<const std::byte> message) {
        const Nanoseconds now = now_ns();
        if (injection_.send_stall.covers(now - start_ns_)) return false;
        const std::lock_guard lock{mutex_};
        if (queue_.size() >= room_) return false;
        ++count_;
        if (is_due(injection_.lose)) return true;
        served_ns_ = std::max(served_ns_, static_cast<double>(now - start_ns_)) + injection_.service_ns;
        const auto passed_ns = start_ns_ + static_cast<Nanoseconds>(served_ns_);
        Held held{Bytes(message.begin(), message.end()), passed_ns + injection_.hold_ns};
        if (const Corruption& corrupt = injection_.corrupt; is_due(corrupt.every))
            held.bytes[corrupt.byte_index(held.bytes.size(), corrupted_++)] ^= std::byte{corrupt.mask};
        const Held again = is_due(injection_.duplicate) ? held : Held{};
        if (is_due(injection_.reorder) && !swapped_) {
            swapped_ = std::move(held);
            return true;
        }
        queue_.push_back(std::move(held));
        if (!again.bytes.empty()) queue_.push_back(again);
        if (swapped_) queue_.push_back(*std::exchange(swapped_, std::nullopt));
        return true;
    }

    /// Returns false if no message is ready or the subscriber is stalled.
    bool get(Bytes& into) {
        const Nanoseconds now = now_ns();
        if (injection_.stall.covers(now - start_ns_)) return false;
        const std::lock_guard lock{mutex_};
        if (queue_.empty() || queue_.front().ready_ns > now) return false;
        into.swap(queue_.front().bytes);
        queue_.pop_front();
        return true;
    }

    void leave(bool Channel::* who) {
        const std::lock_guard lock{mutex_};
        this->*who = true;
    }
    bool has_left(bool Channel::* who) {
        const std::lock_guard lock{mutex_};
        return this->*who;
    }

    const Waiting waiting;
    Parking publisher;   ///< the publisher waits here for room, unless it polls
    Parking subscriber;  ///< the subscriber waits here for a message, unless it polls
    bool publisher_left = false;
    bool subscriber_left = false;

private:
    static constexpr std::size_t most_bytes = std::size_t{8} * 1024 * 1024;

    bool is_due(std::uint64_t every) const { return every > 0 && count_ % every == 0; }

    const Injection injection_;
    const std::size_t room_;
    const Nanoseconds start_ns_ = now_ns();
    std::mutex mutex_;
    std::deque<Held> queue_;
    std::optional<Held> swapped_;  // this message waits for the next one, which overtakes it
    // The time when the last message had passed, in nanoseconds after the start. The time is a double, because
    // fractions of a nanosecond add up.
    double served_ns_ = 0;
    std::uint64_t count_ = 0;
    std::uint64_t corrupted_ = 0;
};

class MockPublisher final : public Publisher {
public:
    MockPublisher(std::shared_ptr<Channel> channel, const Topic& topic)
        : Publisher(topic.max_bytes), channel_(std::move(channel)), buffer_(topic.max_bytes), name_(topic.name) {}
    ~MockPublisher() override { channel_->leave(&Channel::publisher_left); }

private:
    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        loaned_ = std::span{buffer_}.first(bytes);
        return loaned_;
    }

    Result<Done> commit(Patience patience) override {
        const auto put = [this] { return channel_->put(loaned_); };
        const auto gone = [this] { return channel_->has_left(&Channel::subscriber_left); };
        if (put() || wait_for(put, channel_->waiting, patience, channel_->publisher, gone, longest_nap_ns)) {
            channel_->subscriber.wake();
            return Done::yes;
        }
        if (gone()) return Error{"publish on " + name_ + ": the subscriber is gone"};
        return Done::not_yet;
    }

    void abandon() noexcept override {}

    std::shared_ptr<Channel> channel_;
    Bytes buffer_;
    std::span<std::byte> loaned_;
    std::string name_;
};

class MockSubscriber final : public Subscriber {
public:
    MockSubscriber(const Topic& topic, const Injection& injection)
        : channel_(std::make_shared<Channel>(topic, injection)), name_(topic.name) {
        MeetingPlace<Channel>::instance().open(name_, channel_);
    }
    ~MockSubscriber() override {
        MeetingPlace<Channel>::instance().close(name_);
        channel_->leave(&Channel::subscriber_left);
    }

    std::string endpoint() const override { return name_; }
    Result<Done> match(Patience) override { return Done::yes; }

private:
    Result<std::span<const std::byte>> receive(Patience patience) override {
        const auto get = [this] { return channel_->get(taken_); };
        const auto never = [] { return false; };
        if (!get() && !wait_for(get, channel_->waiting, patience, channel_->subscriber, never, longest_nap_ns)) {
            return std::span<const std::byte>{};
        }
        channel_->publisher.wake();
        return std::span<const std::byte>{taken_};
    }

    void release() noexcept override {}

    std::shared_ptr<Channel> channel_;
    Bytes taken_;
    std::string name_;
};

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    const auto injection = injection_of(topic);
    if (!injection) return injection.error();
    return std::unique_ptr<Subscriber>{std::make_unique<MockSubscriber>(topic, *injection)};
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, const Endpoints& endpoints) {
    auto channel = MeetingPlace<Channel>::instance().join(endpoints.front());
    if (!channel) return Error{"advertise " + topic.name + ": no subscriber in this process"};
    return std::unique_ptr<Publisher>{std::make_unique<MockPublisher>(std::move(channel), topic)};
}

}  // namespace

extern const Transport mock{
    .name = "mock",
    .summary = "two threads of one process, with the faults of a setting; tests the rig, measures nothing",
    .data_path = "copy",
    .reliability = Reliability::best_effort,
    .reach = Reach::process,
    .parties = Parties::threads,
    .subscribe = subscribe,
    .advertise = advertise,
    .settings = settings,
    .ready = ready,
};

}  // namespace tacholog::transports
