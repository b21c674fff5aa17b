// Shared memory between processes of one host. Messages are copied in once, and each subscriber reads them in place.
// Reliable and ordered: a slot is free again when all subscribers have read it, and the publisher blocks if the ring is
// full. The memory has no name in a file system, so nothing is left behind if a side is killed.

#include "transports/shm_ring.hpp"

namespace tacholog::transports {
namespace {

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    return subscribe_to_shm_ring(topic, Written::elsewhere);
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, const Endpoints& endpoints) {
    return advertise_shm_ring(topic, endpoints, Written::elsewhere);
}

}  // namespace

extern const Transport shm{
    .name = "shm",
    .summary = "shared memory between processes of one host; reliable, copied in, read in place",
    .data_path = "copy",
    .reliability = Reliability::reliable,
    .reach = Reach::host,
    .subscribe = subscribe,
    .advertise = advertise,
    .reaches_several = true,
    .messages_in_memory = 4,
};

}  // namespace tacholog::transports
