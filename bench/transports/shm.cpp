// Shared memory between processes of one host, copied in once and read in place by each subscriber. Reliable and
// ordered: a slot is free again when all have read it, and a full ring blocks the publisher. The memory has no name in
// a file system, so nothing is left behind, whatever kills either side.

#include "transports/ring_transport.hpp"
#include "transports/shared_memory.hpp"

namespace tacholog::transports {
namespace {

class ShmPublisher final : public RingPublisher {
public:
    ShmPublisher(OfferedMemory memory, RingShape shape, const Topic& topic)
        : RingPublisher(Ring{memory.mapping->start(), shape, topic.waiting}, memory.mapping, topic.name),
          memory_(std::move(memory)) {}

private:
    bool peer_gone() override { return memory_.a_subscriber_hung_up(); }

    OfferedMemory memory_;
};

class ShmSubscriber final : public RingSubscriber {
public:
    explicit ShmSubscriber(MemoryTaker taker) : RingSubscriber(taker.name()), taker_(std::move(taker)) {}

    std::string endpoint() const override { return taker_.name(); }

    Result<bool> match(Patience patience) override {
        if (attached()) return true;
        const auto shape = RingShape::for_messages(taker_.max_bytes(), taker_.audience().subscribers);
        auto mapping = taker_.take(patience, shape.bytes());
        if (!mapping) return mapping.error();
        if (*mapping == nullptr) return false;
        const Ring ring{(*mapping)->start(), shape, taker_.waiting()};
        attach(ring, std::move(*mapping), taker_.place());
        return true;
    }

private:
    bool peer_gone() override { return taker_.publisher_hung_up(); }

    MemoryTaker taker_;
};

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    auto listener = listen_locally(topic.name);
    if (!listener) return listener.error();
    return std::unique_ptr<Subscriber>{std::make_unique<ShmSubscriber>(MemoryTaker{std::move(*listener), topic})};
}

Result<std::unique_ptr<Publisher>> advertise_to_all(const Topic& topic, std::span<const std::string> endpoints) {
    const auto shape = RingShape::for_messages(topic.max_bytes, endpoints.size());
    auto offered = offer_memory(endpoints, shape.bytes(), topic.max_bytes);
    if (!offered) return offered.error();
    return std::unique_ptr<Publisher>{std::make_unique<ShmPublisher>(std::move(*offered), shape, topic)};
}

}  // namespace

extern const Transport shm{"shm",
                           "shared memory between processes of one host; reliable, copied in, read in place",
                           "copy",
                           Reliability::reliable,
                           Parties::processes,
                           subscribe,
                           advertise_to_one<advertise_to_all>,
                           advertise_to_all};

}  // namespace tacholog::transports
