#include "rig/objections.hpp"

#include <algorithm>

#include "cli/choices.hpp"
#include "control/agreement.hpp"
#include "control/control.hpp"
#include "machine/environment.hpp"

namespace tacholog {
namespace {

std::string names_of_those(bool (*can)(const Transport&)) {
    std::string names;
    for (const Transport* transport : all_transports()) {
        if (can(*transport)) names += (names.empty() ? "" : ", ") + std::string{transport->name};
    }
    return names;
}

std::optional<std::string> objection_to_audience(const Options& options, const Transport& transport) {
    if (options.audience.subscribers > 1 && !transport.reaches_several) {
        return "--subscribers " + std::to_string(options.audience.subscribers) + ": " + options.transport +
               " reaches only one subscriber; transports that reach several are " +
               names_of_those([](const Transport& one) { return one.reaches_several; });
    }
    if (options.audience.slow == SlowSubscriber::drop && !transport.drops_for_slow) {
        return "--slow-subscriber drop: " + options.transport +
               " cannot drop messages for one subscriber; transports that can are " +
               names_of_those([](const Transport& one) { return one.drops_for_slow; });
    }
    return std::nullopt;
}

std::optional<std::string> objection_to_publishers(const Options& options, const Transport& transport) {
    if (options.publishers == 1) return std::nullopt;
    if (options.test == Test::latency || options.test == Test::sustain) {
        return "--publishers is for --test throughput and demand: a round trip has one publisher and one subscriber";
    }
    if (options.audience.subscribers > 1) {
        return "--publishers with --subscribers: a run can have several of only one of them";
    }
    if (options.waiting != Waiting::busy_poll) {
        return "--publishers needs --wait busy-poll: a subscriber that sleeps waits for only one publisher";
    }
    if (transport.parties == Parties::hosts) {
        return "--publishers: over " + options.transport + " each publisher needs a network interface of its own";
    }
    return std::nullopt;
}

std::optional<std::string> objection_to_sending(const Options& options, const Transport& transport) {
    if (options.batch_bytes > 0 && transport.most_batch_bytes == 0) {
        return "--batch-bytes: " + options.transport + " has no batches; transports that have them are " +
               names_of_those([](const Transport& one) { return one.most_batch_bytes > 0; });
    }
    if (options.batch_bytes > transport.most_batch_bytes) {
        return "--batch-bytes: " + options.transport + " takes up to " +
               std::to_string(transport.most_batch_bytes / 1024) + "KiB";
    }
    return std::nullopt;
}

std::optional<std::string> objection_to_probes(const Options& options) {
    if (options.probe_every == 0) return std::nullopt;
    if (options.test != Test::throughput)
        return "--probe-every is for --test throughput: it measures latency under the load of that test";
    if (options.publishers > 1 || options.audience.subscribers > 1 || options.batch_bytes > 0) {
        return "--probe-every cannot be combined with --publishers, --subscribers or --batch-bytes: a probe has one "
               "publisher and one subscriber, and is sent at once";
    }
    return std::nullopt;
}

std::optional<std::string> objection_to_fresh_processes(const Options& options, const Transport& transport) {
    if (!transport.fresh_process_for_each_size) return std::nullopt;
    if (options.publishers > 1)
        return "--publishers: " + options.transport +
               " can be started only once in a process, so that there can be only one publisher";
    return std::nullopt;
}

std::optional<std::string> objection_to_sizes(const Options& options, const Transport& transport) {
    const std::size_t largest = *std::max_element(options.sizes.begin(), options.sizes.end());
    if (transport.most_bytes == 0 || largest <= transport.most_bytes) return std::nullopt;
    return "--sizes " + std::to_string(largest) + ": " + options.transport + " carries messages of up to " +
           std::to_string(transport.most_bytes) + " bytes with these settings";
}

/// Without this refusal, the kernel would kill a run that needs more memory than is available.
std::optional<std::string> objection_to_memory(const Options& options, const Transport& transport) {
    const std::uint64_t largest = *std::max_element(options.sizes.begin(), options.sizes.end());
    constexpr std::uint64_t always_there = std::uint64_t{16} << 20;
    if (largest < always_there) return std::nullopt;
    const bool answers = has_round_trips(options) || options.probe_every > 0;
    const std::uint64_t channels = options.publishers + (answers ? 1 : 0);
    const std::uint64_t sides = options.role == Role::both ? 2 : 1;
    const std::uint64_t needed = largest * transport.messages_in_memory * channels * sides / 2;
    const auto available = available_memory_bytes();
    if (!available || needed <= *available) return std::nullopt;
    const auto in_mib = [](std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
    return "--sizes " + std::to_string(largest) + ": " + options.transport + " needs at least " + in_mib(needed) +
           " of memory for this size, and only " + in_mib(*available) + " are available";
}

/// If a library was left out, such as zeromq, all its transports are missing, such as zeromq-tcp.
std::string why_missing(const std::string& name) {
    for (const LeftOut& left_out : transports_left_out()) {
        if (name == left_out.name || name.starts_with(std::string{left_out.name} + "-"))
            return "left out of this build: " + std::string{left_out.remedy};
    }
    return "no such transport; --list-transports shows what there is";
}

}  // namespace

std::optional<std::string> objection(const Options& options, const Transport* transport) {
    if (transport == nullptr) {
        return "--transport " + options.transport + ": " + why_missing(options.transport);
    }
    if (transport->parties == Parties::threads && options.role != Role::both) {
        return "--transport " + options.transport + " connects threads of one process, so it needs --role both";
    }
    if (transport->reaches_nobody && (options.test != Test::latency || options.basis == Basis::one_way)) {
        return "--transport " + options.transport +
               " reaches no subscriber: it is for round trips of --test latency, which then show what the rig itself "
               "costs";
    }
    if (transport->parties == Parties::hosts && options.role == Role::both) {
        return "--transport " + options.transport +
               ": each side needs a network interface of its own: start them with --role pub and --role sub";
    }
    if (const std::size_t bytes = agreement(options).size(); bytes > longest_text) {
        return "--sizes and --demands: the list of options that both sides must agree on is " + std::to_string(bytes) +
               " bytes long, and the control channel takes at most " + std::to_string(longest_text) +
               ": measure them in several runs";
    }
    if (auto wrong = objection_to_sizes(options, *transport)) return wrong;
    if (auto wrong = objection_to_memory(options, *transport)) return wrong;
    if (auto wrong = objection_to_fresh_processes(options, *transport)) return wrong;
    if (auto wrong = objection_to_sending(options, *transport)) return wrong;
    if (auto wrong = objection_to_probes(options)) return wrong;
    if (auto wrong = objection_to_publishers(options, *transport)) return wrong;
    return objection_to_audience(options, *transport);
}

}  // namespace tacholog
