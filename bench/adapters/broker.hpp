// The common part of adapters with a broker. The run starts the broker in the publisher's process, on a free TCP port.
// Both sides get its address over the control channel.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "adapters/sides.hpp"
#include "machine/helper_program.hpp"
#include "transports/ip_endpoint.hpp"

namespace tacholog {

struct BrokerAddress {
    std::string host;  ///< an IP address
    int port;
};

/// The program of a broker, and the arguments that it needs.
struct BrokerKind {
    std::string name;
    std::string package;                         ///< the Debian package to install if it is missing
    std::vector<std::string> version_arguments;  ///< the arguments that print its version
    std::vector<std::string> arguments;          ///< the arguments before the path of its configuration file
    std::string (*configuration)(const RunPlan&, const BrokerAddress&);
};

class Broker final : public Companion {
public:
    static Result<std::unique_ptr<Companion>> start(const BrokerKind& kind, const RunPlan& plan) {
        if (!plan.publishes) return std::unique_ptr<Companion>{};
        const auto program = find_program(kind.name, kind.package);
        if (!program) return program.error();
        // Another program may take the port before the broker does. The broker then ends, and is started again with
        // another port.
        constexpr int most_attempts = 5;
        for (int attempt = 1;; ++attempt) {
            auto started = start_once(kind, *program, plan);
            const bool killed = !started && started.error().code == Code::killed;
            if (started || killed || attempt == most_attempts) return started;
        }
    }

    std::string address() const override { return address_; }
    Facts facts() const override { return facts_; }
    pid_t pid() const override { return program_->pid(); }
    std::optional<std::string> trouble() const override { return program_->trouble(); }

private:
    Broker(std::unique_ptr<HelperProgram> program, std::string address, Facts facts)
        : program_(std::move(program)), address_(std::move(address)), facts_(std::move(facts)) {}

    static std::string in_one_line(std::string text) {
        for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n', at))
            text.replace(at, 1, at + 1 == text.size() ? "" : "; ");
        return text;
    }

    static Result<std::unique_ptr<Companion>> start_once(const BrokerKind& kind, const std::string& path,
                                                         const RunPlan& plan) {
        const auto port = free_port(plan.address);
        if (!port) return port.error();
        const std::string text = kind.configuration(plan, {plan.address, *port});
        const auto configuration = MemoryFile::make(text);
        if (!configuration) return configuration.error();
        std::vector<std::string> words{path};
        words.insert(words.end(), kind.arguments.begin(), kind.arguments.end());
        words.push_back(configuration->path());
        auto program = HelperProgram::start({words}, [&](const HelperProgram& started) {
            return accepts_connections(plan.address, *port) && !started.trouble();
        });
        if (!program) return program.error();
        std::vector<std::string> version{path};
        version.insert(version.end(), kind.version_arguments.begin(), kind.version_arguments.end());
        Facts facts{{"name", kind.name},
                    {"version", first_line_of(version)},
                    {"command", (*program)->command()},
                    {"configuration", in_one_line(text)}};
        const auto address = parse_address(plan.address, *port);
        return std::unique_ptr<Companion>{
            new Broker{std::move(*program), IpEndpoint{*address, 0}.text(), std::move(facts)}};
    }

    std::unique_ptr<HelperProgram> program_;
    std::string address_;
    Facts facts_;
};

inline Result<BrokerAddress> broker_of(const Topic& topic) {
    const auto endpoint = parse_endpoint(topic.companion, topic.local_address);
    if (!endpoint) return Error{"join the broker at '" + topic.companion + "': not an address"};
    return BrokerAddress{host_of(endpoint->address), endpoint->address.port()};
}

/// The names at the broker. Messages are published under the name of the channel. If the data is keyed, each instance
/// has its own name instead, and the subscriber subscribes to the names of all instances.
struct BrokerNames {
    /// `between` separates the parts of a name, and `any` is the wildcard for the last part.
    BrokerNames(const Topic& topic, const std::string& between, const std::string& any)
        : heard(topic.instances ? topic.channel + between + any : topic.channel),
          left("left" + between + topic.channel) {
        if (!topic.instances) each.push_back(topic.channel);
        for (std::size_t instance = 0; topic.instances && instance < *topic.instances; ++instance)
            each.push_back(topic.channel + between + std::to_string(instance));
    }

    /// The name of the message's instance if the topic has keys, otherwise the name of the channel.
    const std::string& of(std::span<const std::byte> message) const {
        const bool is_one = each.size() == 1 || message.size() < message_header_bytes;
        return is_one ? each.front() : each[instance_of(message) % each.size()];
    }

    std::string heard;
    std::vector<std::string> each;
    std::string left;  ///< the name under which subscribers announce that they leave
};

}  // namespace tacholog
