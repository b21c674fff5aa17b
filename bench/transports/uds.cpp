// Unix stream sockets between two processes of one host. Reliable and ordered: the publisher blocks if the socket
// buffer is full. Each message is copied into the kernel and out of it; a large one is sent in several parts, as the
// socket buffer has room. The address is in the abstract namespace, so no file is created or left behind.
#include "transports/local_endpoint.hpp"
#include "transports/stream.hpp"

namespace tacholog::transports {
namespace {

// Both sides have already checked each other's token at the local endpoint.
constexpr std::uint64_t no_token = 0;

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    auto acceptor = LocalAcceptor::open(topic.name);
    if (!acceptor) return acceptor.error();
    return std::unique_ptr<Subscriber>{std::make_unique<StreamSubscriber>(std::move(*acceptor), no_token, topic)};
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, const Endpoints& endpoints) {
    const std::string& endpoint = endpoints.front();
    auto socket = connect_to_local(endpoint);
    if (!socket) return socket.error();
    auto publisher = std::make_unique<StreamPublisher>(topic);
    const auto added = publisher->add(
        std::move(*socket), std::string{"@tacholog/"}.append(endpoint.substr(0, endpoint.find('/'))), no_token);
    if (!added) return added.error();
    return std::unique_ptr<Publisher>{std::move(publisher)};
}

}  // namespace

extern const Transport uds{
    .name = "uds",
    .summary = "Unix stream sockets between processes of one host; reliable, copied in and out",
    .data_path = "copy",
    .reliability = Reliability::reliable,
    .reach = Reach::host,
    .subscribe = subscribe,
    .advertise = advertise,
    .most_batch_bytes = most_stream_batch_bytes,
};

}  // namespace tacholog::transports
