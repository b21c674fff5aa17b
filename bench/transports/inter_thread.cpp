// Two threads of one process and a ring of slots between them. Reliable and ordered: a full ring blocks the publisher.
// The message is copied into the ring and read in place. The floor under everything that crosses a process boundary.
#include "transports/meeting_place.hpp"
#include "transports/ring_transport.hpp"

namespace tacholog::transports {
namespace {

struct SharedRing {
    SharedRing(Mapping&& memory, RingShape shape) : mapping(std::move(memory)), ring(mapping.start(), shape) {}

    Mapping mapping;
    Ring ring;
};

using Meeting = MeetingPlace<SharedRing>;

class ThreadSubscriber final : public RingSubscriber {
public:
    ThreadSubscriber(std::shared_ptr<SharedRing> shared, const std::string& name) : RingSubscriber(name), name_(name) {
        Meeting::instance().open(name, shared);
        const Ring ring = shared->ring;
        attach(ring, std::move(shared));
    }
    ~ThreadSubscriber() override { Meeting::instance().close(name_); }

    std::string endpoint() const override { return name_; }
    Result<bool> match(Patience) override { return true; }

private:
    std::string name_;
};

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    const auto shape = RingShape::for_messages(topic.max_bytes);
    auto mapping = Mapping::map(-1, shape.bytes());
    if (!mapping) return mapping.error();
    auto shared = std::make_shared<SharedRing>(std::move(*mapping), shape);
    return std::unique_ptr<Subscriber>{std::make_unique<ThreadSubscriber>(std::move(shared), topic.name)};
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, std::string_view endpoint) {
    auto shared = Meeting::instance().join(std::string{endpoint});
    if (!shared) return Error{"advertise " + topic.name + ": no subscriber in this process"};
    const Ring ring = shared->ring;
    return std::unique_ptr<Publisher>{std::make_unique<RingPublisher>(ring, std::move(shared), topic.name)};
}

}  // namespace

extern const Transport inter_thread{
    "inter-thread",   "two threads of one process; reliable, copied into a ring, read in place",
    "copy",           Reliability::reliable,
    Parties::threads, subscribe,
    advertise};

}  // namespace tacholog::transports
