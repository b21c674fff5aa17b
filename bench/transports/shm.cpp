// Shared memory between processes of one host, copied in once and read in place by each subscriber. Reliable and
// ordered: a slot is free again when all have read it, and a full ring blocks the publisher. The memory has no name in
// a file system, so nothing is left behind, whatever kills either side.

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
