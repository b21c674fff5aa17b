// A ring of slots in shared memory between processes of one host, which a publisher offers to its subscribers. A slot
// is free again when all subscribers have released it, and the publisher blocks if the ring is full. The memory has no
// name in a file system, so nothing is left behind if a side is killed.
#pragma once

#include "transports/ring_transport.hpp"
#include "transports/shared_memory.hpp"

namespace tacholog {

class ShmRingPublisher final : public RingPublisher {
public:
    ShmRingPublisher(OfferedMemory memory, RingShape shape, const Topic& topic, Written written)
        : RingPublisher(Ring{behind_head(*memory.mapping), shape, topic.waiting}, memory.mapping, topic.name, written),
          memory_(std::move(memory)) {}

private:
    bool peer_gone() override { return memory_.a_subscriber_hung_up(); }

    OfferedMemory memory_;
};

class ShmRingSubscriber final : public RingSubscriber {
public:
    ShmRingSubscriber(MemoryTaker taker, Written written)
        : RingSubscriber(taker.name()), taker_(std::move(taker)), written_(written) {}

    std::string endpoint() const override { return taker_.endpoint(); }

    Result<Done> match(Patience patience) override {
        if (attached()) return Done::yes;
        const auto shape = RingShape::for_messages(taker_.max_bytes(), taker_.audience().subscribers, written_);
        auto mapping = taker_.take(patience, shape.bytes());
        if (!mapping) return mapping.error();
        if (*mapping == nullptr) return Done::not_yet;
        const Ring ring{behind_head(**mapping), shape, taker_.waiting()};
        attach(ring, std::move(*mapping), taker_.reader_index());
        return Done::yes;
    }

private:
    bool peer_gone() override { return taker_.publisher_hung_up(); }

    MemoryTaker taker_;
    Written written_;
};

inline Result<std::unique_ptr<Subscriber>> subscribe_to_shm_ring(const Topic& topic, Written written) {
    auto acceptor = LocalAcceptor::open(topic.name);
    if (!acceptor) return acceptor.error();
    return std::unique_ptr<Subscriber>{
        std::make_unique<ShmRingSubscriber>(MemoryTaker{std::move(*acceptor), topic}, written)};
}

inline Result<std::unique_ptr<Publisher>> advertise_shm_ring(const Topic& topic, const Endpoints& endpoints,
                                                             Written written) {
    const auto shape = RingShape::for_messages(topic.max_bytes, endpoints.size(), written);
    auto offered = offer_memory(endpoints, shape.bytes(), topic.max_bytes);
    if (!offered) return offered.error();
    return std::unique_ptr<Publisher>{std::make_unique<ShmRingPublisher>(std::move(*offered), shape, topic, written)};
}

}  // namespace tacholog
