// ZeroMQ: a PAIR over a local socket without a name in the file system. Both ends sleep.
#include <zmq.h>

#include "perf/peers/peer.hpp"

namespace {

using namespace tacholog::perf;

class Endpoint {
public:
    Endpoint(const std::string& topic, End end, std::size_t bytes)
        : bytes_(bytes), socket_(::zmq_socket(::zmq_ctx_new(), ZMQ_PAIR)) {
        const std::string where = "ipc://@" + topic;
        const bool met =
            end == End::near ? ::zmq_bind(socket_, where.c_str()) == 0 : ::zmq_connect(socket_, where.c_str()) == 0;
        insist(met, "zmq_bind or zmq_connect");
    }

    template <typename Write>
    void send(Write&& write) {
        zmq_msg_t message;
        insist(::zmq_msg_init_size(&message, bytes_) == 0, "zmq_msg_init_size");
        write(std::span{static_cast<std::byte*>(::zmq_msg_data(&message)), bytes_});
        insist(::zmq_msg_send(&message, socket_, 0) >= 0, "zmq_msg_send");
    }

    template <typename Read>
    void receive(Read&& read) {
        zmq_msg_t message;
        ::zmq_msg_init(&message);
        insist(::zmq_msg_recv(&message, socket_, 0) >= 0, "zmq_msg_recv");
        read(std::span{static_cast<const std::byte*>(::zmq_msg_data(&message)), ::zmq_msg_size(&message)});
        ::zmq_msg_close(&message);
    }

private:
    std::size_t bytes_;
    void* socket_;
};

}  // namespace

int main(int argc, char* argv[]) {
    return peer_main<Endpoint>("zeromq", argc, argv);
}
