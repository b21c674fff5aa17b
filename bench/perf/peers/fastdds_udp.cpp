// Fast DDS over UDP.
#include "perf/peers/fastdds.hpp"

int main(int argc, char* argv[]) {
    using namespace tacholog::perf;
    return peer_main<fastdds::Endpoint<fastdds::Over::udp>>("fastdds-udp", argc, argv);
}
