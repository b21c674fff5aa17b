// A home and the world with a NAT between them, as network namespaces, for tests. Nothing outside is touched.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "core/fd.hpp"

namespace tacholog {

class Nat {
public:
    static constexpr const char* inside_address = "192.168.77.2";
    static constexpr const char* outside_address = "10.77.0.2";

    Nat() {
        if (::geteuid() != 0) {
            missing_ = "root";
        } else if (!run("nft --version") || !run("ip -V")) {
            missing_ = "nft and ip";
        } else if (!build()) {
            missing_ = "the right to make network namespaces";
        }
    }
    Nat(const Nat&) = delete;
    Nat& operator=(const Nat&) = delete;
    ~Nat() {
        for (const char* side : {"in", "nat", "out"}) run("ip netns del " + space(side));
    }

    /// What this machine lacks for it; empty if it stands.
    const std::string& missing() const { return missing_; }

    /// The sockets that `work` opens live there for good, whoever uses them.
    template <typename Work>
    void inside(Work&& work) const {
        within("in", work);
    }
    template <typename Work>
    void outside(Work&& work) const {
        within("out", work);
    }

    /// As when a home router starts again: every connection gets another port.
    bool rebind() const {
        return run("ip -n " + space("nat") + " link set wan down") && run("ip -n " + space("nat") + " link set wan up");
    }

private:
    static bool run(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

    std::string space(const char* side) const { return "tacholog-" + std::to_string(::getpid()) + "-" + side; }

    bool build() const {
        const std::string in = space("in");
        const std::string nat = space("nat");
        const std::string out = space("out");
        const std::string rules =
            "table ip nat { chain postrouting { type nat hook postrouting priority srcnat; policy accept; "
            "oifname wan masquerade fully-random; }; }; "
            "table ip filt { chain forward { type filter hook forward priority 0; policy drop; "
            "ct state established,related accept; iifname lan accept; }; };";
        for (const std::string& step : {
                 "ip netns add " + in,
                 "ip netns add " + nat,
                 "ip netns add " + out,
                 "ip link add home netns " + in + " type veth peer name lan netns " + nat,
                 "ip link add world netns " + out + " type veth peer name wan netns " + nat,
                 "ip -n " + in + " addr add " + inside_address + "/24 dev home",
                 "ip -n " + nat + " addr add 192.168.77.1/24 dev lan",
                 "ip -n " + nat + " addr add 10.77.0.1/24 dev wan",
                 "ip -n " + out + " addr add " + outside_address + "/24 dev world",
                 "ip -n " + in + " link set home up",
                 "ip -n " + nat + " link set lan up",
                 "ip -n " + nat + " link set wan up",
                 "ip -n " + out + " link set world up",
                 "ip -n " + in + " route add default via 192.168.77.1",
                 "ip netns exec " + nat + " sysctl -qw net.ipv4.ip_forward=1",
                 "ip netns exec " + nat + " nft '" + rules + "'",
             }) {
            if (!run(step)) return false;
        }
        return true;
    }

    template <typename Work>
    void within(const char* side, Work& work) const {
        std::thread{[&] {
            const Fd where{::open(("/var/run/netns/" + space(side)).c_str(), O_RDONLY | O_CLOEXEC)};
            if (::setns(where.get(), CLONE_NEWNET) == 0) work();
        }}.join();
    }

    std::string missing_;
};

}  // namespace tacholog
