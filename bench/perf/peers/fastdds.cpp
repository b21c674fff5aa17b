// Fast DDS over shared memory, as it takes it by itself.
#include "perf/peers/fastdds.hpp"

int main(int argc, char* argv[]) {
    using namespace tacholog::perf;
    return peer_main<fastdds::Endpoint<fastdds::Over::default_transports>>("fastdds", argc, argv);
}
