// Shared memory between processes of one host, without any copy. The publisher loans a part of the shared memory,
// writes the message there and publishes it. Each subscriber reads it in place and releases it. When all have released
// it, the memory is free again. Reliable and ordered.
//
// There are two ways to treat a slow subscriber. By default, the publisher waits for it; messages then lie in the slots
// of a ring. With --slow-subscriber drop, the publisher drops the message for this subscriber only, and counts it. Each
// subscriber then has a ring of references, and a chunk is free when its last reference has been released. The
// transport's own cost per message does not depend on the message size; the cost of writing and reading the message
// does. The memory has no name in a file system, so nothing is left behind if a side is killed.

#include "transports/chunk_pool.hpp"
#include "transports/shared_memory.hpp"
#include "transports/shm_ring.hpp"
#include "transports/transport.hpp"

namespace tacholog::transports {
namespace {

/// The publisher for the option `--slow-subscriber drop`.
class DroppingPublisher final : public Publisher {
public:
    DroppingPublisher(OfferedMemory memory, PoolShape shape, const Topic& topic)
        : Publisher(topic.max_bytes),
          memory_(std::move(memory)),
          pool_(behind_head(*memory_.mapping), shape, topic.waiting),
          writer_(pool_) {}
    ~DroppingPublisher() override {
        pool_.header().publisher_left.store(true, std::memory_order_release);
        pool_.header().subscriber.wake();
    }

    std::uint64_t dropped(std::size_t subscriber) const override { return writer_.dropped(subscriber); }

private:
    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        bytes_ = bytes;
        return std::span{writer_.loan(), bytes};
    }

    Result<Done> commit(Patience) override {
        writer_.publish(bytes_);
        return Done::yes;
    }

    void abandon() noexcept override {}  // the chunk stays loaned and is used for the next message

    OfferedMemory memory_;
    ChunkPool pool_;
    ChunkWriter writer_;
    std::size_t bytes_ = 0;
};

class DroppingSubscriber final : public Subscriber {
public:
    explicit DroppingSubscriber(MemoryTaker taker) : taker_(std::move(taker)) {}

    std::string endpoint() const override { return taker_.endpoint(); }

    Result<Done> match(Patience patience) override {
        if (joined()) return Done::yes;
        const auto shape = PoolShape::for_messages(taker_.max_bytes(), taker_.audience().subscribers);
        auto mapping = taker_.take(patience, shape.bytes());
        if (!mapping) return mapping.error();
        if (*mapping == nullptr) return Done::not_yet;
        memory_ = std::move(*mapping);
        pool_ = ChunkPool{behind_head(*memory_), shape, taker_.waiting()};
        reader_ = ChunkReader{pool_, taker_.reader_index()};
        return Done::yes;
    }

private:
    bool joined() const { return memory_ != nullptr; }

    Result<std::span<const std::byte>> receive(Patience patience) override {
        if (!joined()) return Error{"take from " + taker_.name() + ": no publisher has joined yet"};
        auto message = reader_.read();
        if (message.data() != nullptr || patience.count() <= 0) return message;
        const auto came = [&] { return (message = reader_.read()).data() != nullptr; };
        if (wait_for(came, taker_.waiting(), patience, pool_.header().subscriber, [this] { return gone(); }))
            return message;
        return last_words();
    }

    bool gone() const {
        return pool_.header().publisher_left.load(std::memory_order_acquire) || taker_.publisher_hung_up();
    }

    // A publisher that has left may have published messages before that.
    Result<std::span<const std::byte>> last_words() {
        const bool left = gone();
        const auto message = reader_.read();
        if (message.data() == nullptr && left) return Error{"take from " + taker_.name() + ": the publisher is gone"};
        return message;
    }

    void release() noexcept override { reader_.release(); }

    MemoryTaker taker_;
    std::shared_ptr<const Mapping> memory_;
    ChunkPool pool_;
    ChunkReader reader_;
};

// If the publisher waits for all subscribers, slots are released in order, so a ring of slots is enough. The cache line
// that announces a message then also holds the first bytes of the message. If slow subscribers are left behind, they
// release messages at different speeds, which needs chunks.
bool waits_for_all(const Topic& topic) {
    return topic.audience.slow == SlowSubscriber::block;
}

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    if (waits_for_all(topic)) return subscribe_to_shm_ring(topic, Written::in_place);
    auto acceptor = LocalAcceptor::open(topic.name);
    if (!acceptor) return acceptor.error();
    return std::unique_ptr<Subscriber>{std::make_unique<DroppingSubscriber>(MemoryTaker{std::move(*acceptor), topic})};
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, const Endpoints& endpoints) {
    if (waits_for_all(topic)) return advertise_shm_ring(topic, endpoints, Written::in_place);
    const auto shape = PoolShape::for_messages(topic.max_bytes, endpoints.size());
    auto offered = offer_memory(endpoints, shape.bytes(), topic.max_bytes);
    if (!offered) return offered.error();
    return std::unique_ptr<Publisher>{std::make_unique<DroppingPublisher>(std::move(*offered), shape, topic)};
}

}  // namespace

extern const Transport shm_zero_copy{
    .name = "shm-zero-copy",
    .summary = "shared memory between processes of one host; reliable, loaned, written and read in place",
    .data_path = "zero-copy",
    .reliability = Reliability::reliable,
    .reach = Reach::host,
    .subscribe = subscribe,
    .advertise = advertise,
    .reaches_several = true,
    .drops_for_slow = true,
    .messages_in_memory = 4,
};

}  // namespace tacholog::transports
