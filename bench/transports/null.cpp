// No transport at all: the publisher takes its own messages back as answers, in the same thread, and the subscriber
// gets none. So a latency test shows what the rig itself costs: the clock, the histogram, and writing and reading
// messages. This cost is part of every round trip over a real transport.
#include <vector>

#include "base/waiting.hpp"
#include "transports/transport.hpp"

namespace tacholog::transports {
namespace {

/// The message that this thread has published and not taken yet.
thread_local std::span<const std::byte> untaken;

class NullPublisher final : public Publisher {
public:
    explicit NullPublisher(std::size_t max_bytes) : Publisher(max_bytes), next_(max_bytes), published_(max_bytes) {}
    ~NullPublisher() override { untaken = {}; }

private:
    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        loan_ = std::span{next_}.first(bytes);
        return loan_;
    }
    Result<Done> commit(Patience) override {
        if (untaken.data() != nullptr) return Done::not_yet;
        untaken = loan_;
        next_.swap(published_);
        return Done::yes;
    }
    void abandon() noexcept override {}

    std::vector<std::byte> next_;
    std::vector<std::byte> published_;
    std::span<std::byte> loan_;
};

class NullSubscriber final : public Subscriber {
public:
    explicit NullSubscriber(const Topic& topic) : name_(topic.name), waiting_(topic.waiting) {}

    std::string endpoint() const override { return name_; }
    Result<Done> match(Patience) override { return Done::yes; }

private:
    Result<std::span<const std::byte>> receive(Patience patience) override {
        if (untaken.data() == nullptr && patience.count() > 0)
            wait_until(now_ns() + to_nanoseconds(patience), waiting_);
        return untaken;
    }
    void release() noexcept override { untaken = {}; }

    std::string name_;
    Waiting waiting_;
};

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    return std::unique_ptr<Subscriber>{std::make_unique<NullSubscriber>(topic)};
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, const Endpoints&) {
    return std::unique_ptr<Publisher>{std::make_unique<NullPublisher>(topic.max_bytes)};
}

}  // namespace

extern const Transport null{
    .name = "null",
    .summary =
        "no transport: the publisher takes its own messages back; a latency test shows what the rig itself costs",
    .data_path = "zero-copy",
    .reliability = Reliability::reliable,
    .reach = Reach::process,
    .parties = Parties::threads,
    .subscribe = subscribe,
    .advertise = advertise,
    .reaches_nobody = true,
    .remark = "null: the publisher takes its own messages back: these round trips are the cost of the rig itself",
};

}  // namespace tacholog::transports
