// Another library between two processes: its round trips and rates, measured as those of the bare loops are, with
// payloads written and read as perftest does by default.
//
//   peer-NAME SECONDS latency|rate BYTES    prints a line: NAME BYTES VALUE, in the words of `floor`
//
// One cell a process: a library may not be started again behind a fork.
#pragma once

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "core/message.hpp"
#include "perf/two_processes.hpp"

namespace tacholog::perf {

enum class End { near, far };

inline void insist(bool holds, std::string_view operation) {
    if (holds) return;
    std::cerr << "peer: " << operation << " failed\n";
    std::_Exit(1);
}

/// Endpoint(topic, End, bytes) meets the other one; send(write) has a payload written and sends it, receive(read) waits
/// for the next and has it read.
template <typename Endpoint>
class PeerMeasurement {
public:
    explicit PeerMeasurement(std::size_t bytes)
        : bytes_(bytes), topic_("tacholog-" + std::to_string(::getpid())), received_(cache_line) {}

    double half_round_trip_ns(double seconds) {
        const Peer peer{[this, number = std::uint64_t{0}]() mutable {
            meet(End::far);
            receive();
            send(number++);
        }};
        meet(End::near);
        return perf::half_round_trip_ns(seconds, [this, number = std::uint64_t{0}]() mutable {
            send(number++);
            receive();
        });
    }

    double rate_per_s(double seconds) {
        std::atomic<std::uint64_t>& count = received_.word(0);
        const Peer peer{[&] {
            meet(End::far);
            receive();
            count.fetch_add(1, std::memory_order_relaxed);
        }};
        meet(End::near);
        return perf::rate_per_s(seconds, count, [this, number = std::uint64_t{0}]() mutable { send(number++); });
    }

private:
    void meet(End end) {
        if (endpoint_ == nullptr) endpoint_ = std::make_unique<Endpoint>(topic_, end, bytes_);
    }
    void send(std::uint64_t number) {
        endpoint_->send([&](std::span<std::byte> payload) { write_message(payload, number, Handling{}); });
    }
    void receive() {
        endpoint_->receive([&](std::span<const std::byte> payload) {
            insist(payload.size() == bytes_, "receive the whole message");
            read_message(payload, Handling{});
        });
    }

    std::size_t bytes_;
    std::string topic_;
    Shared received_;
    std::unique_ptr<Endpoint> endpoint_;
};

template <typename Endpoint>
int peer_main(std::string_view name, int argc, char* argv[]) {
    const double seconds = argc == 4 ? std::atof(argv[1]) : 0;
    const std::string_view what = argc == 4 ? argv[2] : "";
    const auto bytes = argc == 4 ? std::strtoull(argv[3], nullptr, 10) : 0;
    if (seconds <= 0 || bytes < message_header_bytes || (what != "latency" && what != "rate")) {
        std::cerr << "usage: peer-" << name << " SECONDS latency|rate BYTES\n";
        return 2;
    }
    pin(0);
    PeerMeasurement<Endpoint> measurement{bytes};
    const bool is_rate = what == "rate";
    const double value = is_rate ? measurement.rate_per_s(seconds) : measurement.half_round_trip_ns(seconds);
    std::cout << name << (is_rate ? "-rate " : " ") << bytes << ' ' << value << std::endl;
    std::_Exit(0);  // not through the library's farewell to a peer that was killed
}

}  // namespace tacholog::perf
