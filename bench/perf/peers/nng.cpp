// nng: a pair over a local socket without a name in the file system. Both ends sleep.
#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>

#include "perf/peers/peer.hpp"

namespace {

using namespace tacholog::perf;

class Endpoint {
public:
    Endpoint(const std::string& topic, End end, std::size_t bytes) : bytes_(bytes) {
        const std::string where = "abstract://" + topic;
        insist(::nng_pair0_open(&socket_) == 0, "nng_pair0_open");
        ::nng_socket_set_size(socket_, NNG_OPT_RECVMAXSZ, 0);
        const int met = end == End::near ? ::nng_listen(socket_, where.c_str(), nullptr, 0)
                                         : ::nng_dial(socket_, where.c_str(), nullptr, NNG_FLAG_NONBLOCK);
        insist(met == 0, "nng_listen or nng_dial");
    }

    template <typename Write>
    void send(Write&& write) {
        nng_msg* message = nullptr;
        insist(::nng_msg_alloc(&message, bytes_) == 0, "nng_msg_alloc");
        write(std::span{static_cast<std::byte*>(::nng_msg_body(message)), bytes_});
        insist(::nng_sendmsg(socket_, message, 0) == 0, "nng_sendmsg");
    }

    template <typename Read>
    void receive(Read&& read) {
        nng_msg* message = nullptr;
        insist(::nng_recvmsg(socket_, &message, 0) == 0, "nng_recvmsg");
        read(std::span{static_cast<const std::byte*>(::nng_msg_body(message)), ::nng_msg_len(message)});
        ::nng_msg_free(message);
    }

private:
    std::size_t bytes_;
    nng_socket socket_{};
};

}  // namespace

int main(int argc, char* argv[]) {
    return peer_main<Endpoint>("nng", argc, argv);
}
