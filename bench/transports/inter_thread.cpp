// Threads of one process that share a ring of slots. Reliable and ordered: a slot is free again when all subscribers
// have read it, and the publisher blocks if the ring is full. Messages are written and read in place. No transport
// between processes can be faster than this.
#include <condition_variable>

#include "transports/meeting_place.hpp"
#include "transports/ring_transport.hpp"

namespace tacholog::transports {
namespace {

struct SharedRing {
    SharedRing(Mapping&& memory, RingShape shape, Waiting waiting)
        : mapping(std::move(memory)), ring(mapping.start(), shape, waiting) {}

    Mapping mapping;
    Ring ring;
};

/// A place where a subscriber waits until its publisher has created the ring. The publisher creates one ring for all
/// subscribers.
class Seat {
public:
    void give(std::shared_ptr<SharedRing> ring, std::size_t reader_index) {
        const std::lock_guard lock{mutex_};
        ring_ = std::move(ring);
        reader_index_ = reader_index;
        came_.notify_one();
    }

    /// Returns null if the publisher does not hand over the ring within `patience`.
    std::shared_ptr<SharedRing> wait(Patience patience) {
        std::unique_lock lock{mutex_};
        came_.wait_for(lock, patience, [this] { return ring_ != nullptr; });
        return ring_;
    }

    std::size_t reader_index() const { return reader_index_; }  ///< valid when the publisher has passed on the ring

private:
    std::mutex mutex_;
    std::condition_variable came_;
    std::shared_ptr<SharedRing> ring_;
    std::size_t reader_index_ = 0;
};

using Meeting = MeetingPlace<Seat>;

class ThreadSubscriber final : public RingSubscriber {
public:
    explicit ThreadSubscriber(const std::string& name)
        : RingSubscriber(name), name_(name), seat_(std::make_shared<Seat>()) {
        Meeting::instance().open(name, seat_);
    }
    ~ThreadSubscriber() override { Meeting::instance().close(name_); }

    std::string endpoint() const override { return name_; }
    Result<Done> match(Patience patience) override {
        if (attached()) return Done::yes;
        auto shared = seat_->wait(patience);
        if (!shared) return Done::not_yet;
        const Ring ring = shared->ring;
        attach(ring, std::move(shared), seat_->reader_index());
        return Done::yes;
    }

private:
    std::string name_;
    std::shared_ptr<Seat> seat_;
};

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    return std::unique_ptr<Subscriber>{std::make_unique<ThreadSubscriber>(topic.name)};
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, const Endpoints& endpoints) {
    std::vector<std::shared_ptr<Seat>> seats;
    for (const std::string& endpoint : endpoints) {
        seats.push_back(Meeting::instance().join(endpoint));
        if (!seats.back()) return Error{"advertise " + topic.name + ": no subscriber in this process"};
    }
    const auto shape = RingShape::for_messages(topic.max_bytes, seats.size(), Written::in_place);
    auto mapping = Mapping::map(-1, shape.bytes());
    if (!mapping) return mapping.error();
    auto shared = std::make_shared<SharedRing>(std::move(*mapping), shape, topic.waiting);
    for (std::size_t reader_index = 0; reader_index < seats.size(); ++reader_index)
        seats[reader_index]->give(shared, reader_index);
    const Ring ring = shared->ring;
    return std::unique_ptr<Publisher>{
        std::make_unique<RingPublisher>(ring, std::move(shared), topic.name, Written::in_place)};
}

}  // namespace

extern const Transport inter_thread{
    .name = "inter-thread",
    .summary = "threads of one process; reliable, written and read in a ring",
    .data_path = "zero-copy",
    .reliability = Reliability::reliable,
    .reach = Reach::process,
    .parties = Parties::threads,
    .subscribe = subscribe,
    .advertise = advertise,
    .reaches_several = true,
    .messages_in_memory = 4,
};

}  // namespace tacholog::transports
