// A home network and an outside network with a NAT between them, for tests.
#pragma once

#include "tests/network.hpp"

namespace tacholog {

class Nat : public Network {
public:
    static constexpr const char* inside_address = "192.168.77.2";
    static constexpr const char* outside_address = "10.77.0.2";

    Nat() : Network({"in", "nat", "out"}, {"ip", "nft"}) {
        const std::string in = space("in");
        const std::string nat = space("nat");
        const std::string out = space("out");
        const std::string rules =
            "table ip nat { chain postrouting { type nat hook postrouting priority srcnat; policy accept; "
            "oifname wan masquerade fully-random; }; }; "
            "table ip filt { chain forward { type filter hook forward priority 0; policy drop; "
            "ct state established,related accept; iifname lan accept; }; };";
        step("ip link add home netns " + in + " type veth peer name lan netns " + nat);
        step("ip link add world netns " + out + " type veth peer name wan netns " + nat);
        step("ip -n " + in + " addr add " + inside_address + "/24 dev home");
        step("ip -n " + nat + " addr add 192.168.77.1/24 dev lan");
        step("ip -n " + nat + " addr add 10.77.0.1/24 dev wan");
        step("ip -n " + out + " addr add " + outside_address + "/24 dev world");
        step("ip -n " + in + " link set home up");
        step("ip -n " + nat + " link set lan up");
        step("ip -n " + nat + " link set wan up");
        step("ip -n " + out + " link set world up");
        step("ip -n " + in + " route add default via 192.168.77.1");
        step("ip netns exec " + nat + " sysctl -qw net.ipv4.ip_forward=1");
        step("ip netns exec " + nat + " nft '" + rules + "'");
    }

    template <typename Work>
    void inside(Work&& work) const {
        within("in", work);
    }
    template <typename Work>
    void outside(Work&& work) const {
        within("out", work);
    }

    /// Acts like a home router that restarts: every connection gets another port.
    bool rebind() const {
        return run("ip -n " + space("nat") + " link set wan down") && run("ip -n " + space("nat") + " link set wan up");
    }
};

}  // namespace tacholog
