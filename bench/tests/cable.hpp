// Two hosts with an Ethernet cable between them, for tests: a veth pair between two namespaces.
#pragma once

#include "tests/network.hpp"

namespace tacholog {

class Cable : public Network {
public:
    static constexpr const char* publishers_address = "10.99.0.1";
    static constexpr const char* subscribers_address = "10.99.0.2";
    static constexpr const char* publishers_v6_address = "fd00:99::1";
    static constexpr const char* publishers_link_address = "fe80::99:1";
    static constexpr const char* publishers_interface = "one";
    static constexpr const char* subscribers_interface = "two";

    Cable() : Network({"pub", "sub"}, {"ip"}) {
        step("ip link add one netns " + space("pub") + " type veth peer name two netns " + space("sub"));
        step("ip -n " + space("pub") + " addr add " + publishers_address + "/24 dev one");
        step("ip -n " + space("sub") + " addr add " + subscribers_address + "/24 dev two");
        // Without detection of duplicate addresses, because that takes a second.
        step("ip -n " + space("pub") + " -6 addr add " + publishers_v6_address + "/64 dev one nodad");
        step("ip -n " + space("sub") + " -6 addr add fd00:99::2/64 dev two nodad");
        step("ip -n " + space("pub") + " -6 addr add " + publishers_link_address + "/64 dev one nodad");
        step("ip -n " + space("sub") + " -6 addr add fe80::99:2/64 dev two nodad");
        step("ip -n " + space("pub") + " link set one up");
        step("ip -n " + space("sub") + " link set two up");
    }

    /// Whether an XDP program is still attached to an end of the cable.
    static bool watched() {
        return run("ip -n " + space("pub") + " -d link show one | grep -q prog/xdp") ||
               run("ip -n " + space("sub") + " -d link show two | grep -q prog/xdp");
    }
};

}  // namespace tacholog
