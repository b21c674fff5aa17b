// Shared memory between two processes of one host, copied in and read in place. Reliable and ordered: a full ring
// blocks the publisher. The memory has no name in a file system, so nothing is left behind, whatever kills either side.
#include "transports/ring_transport.hpp"
#include "transports/shared_memory.hpp"

namespace tacholog::transports {
namespace {

class ShmPublisher final : public RingPublisher {
public:
    ShmPublisher(const std::shared_ptr<Mapping>& memory, RingShape shape, Fd socket, const std::string& name)
        : RingPublisher(Ring{memory->start(), shape}, memory, name), socket_(std::move(socket)) {}

private:
    bool peer_gone() override { return hung_up(socket_); }

    Fd socket_;
};

class ShmSubscriber final : public RingSubscriber {
public:
    explicit ShmSubscriber(MemoryTaker taker) : RingSubscriber(taker.name()), taker_(std::move(taker)) {}

    std::string endpoint() const override { return taker_.name(); }

    Result<bool> match(Patience patience) override {
        if (attached()) return true;
        const auto shape = RingShape::for_messages(taker_.max_bytes());
        auto mapping = taker_.take(patience, shape.bytes());
        if (!mapping) return mapping.error();
        if (!*mapping) return false;
        const Ring ring{(*mapping)->start(), shape};
        attach(ring, std::make_shared<Mapping>(std::move(**mapping)));
        return true;
    }

private:
    bool peer_gone() override { return taker_.publisher_hung_up(); }

    MemoryTaker taker_;
};

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    auto listener = listen_locally(topic.name);
    if (!listener) return listener.error();
    MemoryTaker taker{std::move(*listener), topic.name, topic.max_bytes};
    return std::unique_ptr<Subscriber>{std::make_unique<ShmSubscriber>(std::move(taker))};
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, std::string_view endpoint) {
    const auto shape = RingShape::for_messages(topic.max_bytes);
    auto offered = offer_memory(std::string{endpoint}, shape.bytes(), topic.max_bytes);
    if (!offered) return offered.error();
    return std::unique_ptr<Publisher>{std::make_unique<ShmPublisher>(
        std::make_shared<Mapping>(std::move(offered->mapping)), shape, std::move(offered->socket), topic.name)};
}

}  // namespace

extern const Transport shm{"shm",
                           "shared memory between processes of one host; reliable, copied in, read in place",
                           "copy",
                           Reliability::reliable,
                           Parties::processes,
                           subscribe,
                           advertise};

}  // namespace tacholog::transports
