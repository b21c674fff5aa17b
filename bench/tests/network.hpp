// Network namespaces that a test creates and removes. Nothing outside of them is changed.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "tests/depth.hpp"

namespace tacholog {

class Network {
public:
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;
    ~Network() {
        for (const auto& space : spaces_) run("ip netns del " + space);
    }

    /// What this machine lacks to build the network; empty if the network exists.
    const std::string& missing() const { return missing_; }

    /// Calls `work` in a thread that is in one namespace of the network. Sockets that `work` opens stay in this
    /// namespace, and so do programs that `work` starts.
    template <typename Work>
    void within(const char* name, Work&& work) const {
        std::thread{[&] {
            const Fd where{::open(("/var/run/netns/" + space(name)).c_str(), O_RDONLY | O_CLOEXEC)};
            if (::setns(where.get(), CLONE_NEWNET) == 0) work();
        }}.join();
    }

    static bool run(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

protected:
    /// Creates the namespaces only if this process has the rights and these programs are installed.
    Network(std::initializer_list<const char*> names, std::initializer_list<const char*> programs) {
        if (::geteuid() != 0) missing_ = "root";
        for (const char* program : programs) {
            if (!run(std::string{"command -v "} + program)) missing_ = program;
        }
        if (!missing_.empty()) return;
        for (const char* name : names) {
            spaces_.push_back(space(name));
            step("ip netns add " + space(name));
        }
    }

    static std::string space(const char* name) { return "tacholog-" + std::to_string(::getpid()) + "-" + name; }

    /// Does nothing if an earlier command has failed.
    void step(const std::string& command) {
        if (missing_.empty() && !run(command)) missing_ = "the right to make network namespaces (" + command + ")";
    }

private:
    std::vector<std::string> spaces_;
    std::string missing_;
};

}  // namespace tacholog
