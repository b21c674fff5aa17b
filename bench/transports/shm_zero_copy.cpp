// Shared memory between two processes of one host, never copied: the loan is a chunk of the shared memory itself,
// publishing hands over a reference to it, the subscriber reads it in place and gives the reference back. Reliable and
// ordered: when the subscriber holds all it can hold, the publisher waits. What a message costs does not depend on its
// size; writing and reading it does. The memory has no name in a file system, so nothing is left behind, whatever kills
// either side.
#include "core/waiting.hpp"
#include "transports/chunk_pool.hpp"
#include "transports/shared_memory.hpp"
#include "transports/transport.hpp"

namespace tacholog::transports {
namespace {

class ZeroCopyPublisher final : public Publisher {
public:
    ZeroCopyPublisher(OfferedMemory memory, PoolShape shape, std::string name)
        : memory_(std::move(memory)), pool_(memory_.mapping.start(), shape), writer_(pool_), name_(std::move(name)) {}
    ~ZeroCopyPublisher() override { pool_.header().publisher_left.store(true, std::memory_order_release); }

private:
    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        if (bytes > pool_.shape().max_bytes)
            return Error{"loan " + std::to_string(bytes) + " bytes on " + name_ + ": too large"};
        bytes_ = bytes;
        return std::span{writer_.loan(), bytes};
    }

    Result<bool> commit(Patience patience) override {
        if (writer_.publish(bytes_)) return true;
        for (BusyPoll poll{patience}; poll.wait();) {
            if (writer_.publish(bytes_)) return true;
        }
        if (pool_.header().subscriber_left.load(std::memory_order_acquire) || hung_up(memory_.socket)) {
            return Error{"publish on " + name_ + ": the subscriber is gone"};
        }
        return false;
    }

    void abandon() noexcept override {}  // the chunk stays loaned, for the next message

    OfferedMemory memory_;
    ChunkPool pool_;
    ChunkWriter writer_;
    std::size_t bytes_ = 0;
    std::string name_;
};

class ZeroCopySubscriber final : public Subscriber {
public:
    explicit ZeroCopySubscriber(MemoryTaker taker) : taker_(std::move(taker)) {}
    ~ZeroCopySubscriber() override {
        if (joined()) pool_.header().subscriber_left.store(true, std::memory_order_release);
    }

    std::string endpoint() const override { return taker_.name(); }

    Result<bool> match(Patience patience) override {
        if (joined()) return true;
        const auto shape = PoolShape::for_messages(taker_.max_bytes());
        auto mapping = taker_.take(patience, shape.bytes());
        if (!mapping) return mapping.error();
        if (!*mapping) return false;
        memory_ = std::move(**mapping);
        pool_ = ChunkPool{memory_.start(), shape};
        reader_ = ChunkReader{pool_};
        return true;
    }

private:
    bool joined() const { return memory_.start() != nullptr; }

    Result<std::span<const std::byte>> receive(Patience patience) override {
        if (!joined()) return Error{"take from " + taker_.name() + ": no publisher has joined yet"};
        auto message = reader_.read();
        for (BusyPoll poll{patience}; message.data() == nullptr && poll.wait();) message = reader_.read();
        if (message.data() == nullptr && patience.count() > 0) return last_words();
        return message;
    }

    // A publisher that has left may have published before it did.
    Result<std::span<const std::byte>> last_words() {
        const bool left = pool_.header().publisher_left.load(std::memory_order_acquire) || taker_.publisher_hung_up();
        const auto message = reader_.read();
        if (message.data() == nullptr && left) return Error{"take from " + taker_.name() + ": the publisher is gone"};
        return message;
    }

    void release() noexcept override { reader_.release(); }

    MemoryTaker taker_;
    Mapping memory_;
    ChunkPool pool_;
    ChunkReader reader_;
};

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    auto listener = listen_locally(topic.name);
    if (!listener) return listener.error();
    MemoryTaker taker{std::move(*listener), topic.name, topic.max_bytes};
    return std::unique_ptr<Subscriber>{std::make_unique<ZeroCopySubscriber>(std::move(taker))};
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, std::string_view endpoint) {
    const auto shape = PoolShape::for_messages(topic.max_bytes);
    auto offered = offer_memory(std::string{endpoint}, shape.bytes(), topic.max_bytes);
    if (!offered) return offered.error();
    return std::unique_ptr<Publisher>{std::make_unique<ZeroCopyPublisher>(std::move(*offered), shape, topic.name)};
}

}  // namespace

extern const Transport shm_zero_copy{
    "shm-zero-copy",    "shared memory between processes of one host; reliable, loaned, written and read in place",
    "zero-copy",        Reliability::reliable,
    Parties::processes, subscribe,
    advertise};

}  // namespace tacholog::transports
