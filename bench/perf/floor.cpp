// Measures the speed of the machine itself, for `nox -s perf`: simple loops between two processes, each on its own
// core, without perftest. The results of perftest are compared with these in the same run, because absolute figures
// depend on the machine.
//
//   floor SECONDS [NAME[:BYTES]...]    prints a line for each measured value: NAME BYTES VALUE
//
// A latency is half of the median round-trip time in nanoseconds, or half of its 99th percentile if the name says so. A
// rate is the number of received messages per second.
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/futex.h>

#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "perf/bare_ring.hpp"
#include "perf/bare_socket.hpp"
#include "perf/spin.hpp"
#include "perf/two_processes.hpp"
#include "transports/broadcast_ring.hpp"

namespace {

using namespace tacholog;
using namespace tacholog::perf;

/// Measures figure L: each side sends one cache line to the other, and both sides spin.
double cache_line_hand_over(double seconds, std::size_t) {
    const Shared shared{2 * cache_line};
    std::uint64_t turn = 0;
    const auto wait = [](const std::atomic<std::uint64_t>& word, std::uint64_t wanted) {
        for (Spin spin; word.load(std::memory_order_acquire) != wanted;) spin.wait();
    };
    const Peer peer{[&] {
        wait(shared.word(0), ++turn);
        shared.word(1).store(turn, std::memory_order_release);
    }};
    return half_round_trip_ns(seconds, [&] {
        shared.word(0).store(++turn, std::memory_order_release);
        wait(shared.word(1), turn);
    });
}

void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
    ::syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

/// Measures figure F: each side wakes the other with one call of futex.
double futex_wake(double seconds, std::size_t) {
    const Shared shared{2 * cache_line};
    std::uint32_t turn = 0;
    const auto word = [&](std::size_t line) -> std::atomic<std::uint32_t>& {
        return *std::launder(reinterpret_cast<std::atomic<std::uint32_t>*>(shared.at(line * cache_line)));
    };
    const auto wake = [&](std::size_t line) {
        word(line).store(turn);
        futex(word(line), FUTEX_WAKE, INT_MAX);
    };
    const auto wait = [&](std::size_t line) {
        while (word(line).load() != turn) futex(word(line), FUTEX_WAIT, turn - 1);
    };
    const Peer peer{[&] {
        ++turn;
        wait(0);
        wake(1);
    }};
    return half_round_trip_ns(seconds, [&] {
        ++turn;
        wake(0);
        wait(1);
    });
}

/// A hand-written ring in each direction, with `slots` used in order. The payload is read in place.
double ring_latency(double seconds, std::size_t bytes, std::size_t slots, Written written, double share) {
    const Shared shared{2 * BareRing::memory_bytes(bytes, slots)};
    BareRing there{shared.at(0), bytes, slots, written};
    BareRing back{shared.at(BareRing::memory_bytes(bytes, slots)), bytes, slots, written};
    const Peer peer{[&] {
        there.read();
        back.write();
    }};
    const auto round_trip = [&] {
        there.write();
        back.read();
    };
    return half_round_trip_ns(seconds, round_trip, share);
}

/// Measures the latency over one buffer that both sides write to in turn. Two separate topics cannot share a buffer in
/// this way. No other way moves less data.
double one_buffer_latency(double seconds, std::size_t bytes) {
    const Shared shared{BareRing::memory_bytes(bytes, 1)};
    BareRing both{shared.at(0), bytes, 1};
    const Peer peer{[&] {
        both.read();
        both.write();
    }};
    return half_round_trip_ns(seconds, [&] {
        both.write();
        both.read();
    });
}

double ring_rate(double seconds, std::size_t bytes, Written written) {
    const std::size_t slots = BareRing::slots_in_cache(bytes);
    const Shared shared{cache_line + BareRing::memory_bytes(bytes, slots)};
    BareRing ring{shared.at(cache_line), bytes, slots, written};
    std::atomic<std::uint64_t>& released = shared.word(0);
    std::uint64_t count = 0;
    const Peer peer{[&] {
        ring.read();
        released.store(++count, std::memory_order_release);
    }};
    return rate_per_s(seconds, released, [&] {
        ring.wait_for_room(released);
        ring.write();
    });
}

double socket_latency(double seconds, std::size_t bytes, int kind, bool busy) {
    auto [near, far] = connected_sockets(kind);
    BareSocket ours{near.get(), bytes, kind, busy};
    BareSocket theirs{far.get(), bytes, kind, busy};
    const Peer peer{[&] {
        theirs.receive();
        theirs.send();
    }};
    return half_round_trip_ns(seconds, [&] {
        ours.send();
        ours.receive();
    });
}

double socket_rate(double seconds, std::size_t bytes, int kind, bool busy, Joined joined) {
    const Shared shared{cache_line};
    auto [near, far] = connected_sockets(kind, joined);
    BareSocket ours{near.get(), bytes, kind, busy};
    BareSocket theirs{far.get(), bytes, kind, busy};
    const Peer peer{[&] {
        theirs.receive();
        shared.word(0).fetch_add(1, std::memory_order_relaxed);
    }};
    return rate_per_s(seconds, shared.word(0), [&] { ours.send(); });
}

double segmented_rate(double seconds, std::size_t bytes) {
    const Shared shared{cache_line};
    SegmentedSockets sockets{bytes};
    const Peer peer{[&] { shared.word(0).fetch_add(sockets.receive(), std::memory_order_relaxed); }};
    return rate_per_s(seconds, shared.word(0), [&] { sockets.send(); });
}

struct Floor {
    std::string name;
    std::vector<std::size_t> sizes;
    std::function<double(double seconds, std::size_t bytes)> measure;
};

std::vector<Floor> floors() {
    const std::vector<std::size_t> shared{64, 1024, 16384, 65536, 1048576, 4194304};
    const std::vector<std::size_t> streamed{64, 1024, 65536, 1048576};
    const std::vector<std::size_t> datagrams{32, 1024, 8192, 63000};
    const auto socket = [](int kind, bool busy) {
        return [kind, busy](double seconds, std::size_t bytes) { return socket_latency(seconds, bytes, kind, busy); };
    };
    const auto ring = [](std::size_t slots, Written written, double share = 0.5) {
        return [=](double seconds, std::size_t bytes) { return ring_latency(seconds, bytes, slots, written, share); };
    };
    const auto stream = [](Written written) {
        return [written](double seconds, std::size_t bytes) { return ring_rate(seconds, bytes, written); };
    };
    const auto rate = [](int kind, bool busy, Joined joined = Joined::no) {
        return [=](double seconds, std::size_t bytes) { return socket_rate(seconds, bytes, kind, busy, joined); };
    };
    return {
        {"line", {8}, cache_line_hand_over},
        {"futex", {4}, futex_wake},
        {"ring-1", shared, ring(1, Written::in_place)},
        {"ring-8", shared, ring(8, Written::in_place)},
        {"copying-ring-1", shared, ring(1, Written::elsewhere)},
        {"copying-ring-8", shared, ring(8, Written::elsewhere)},
        {"ring-8-p99", shared, ring(8, Written::in_place, 0.99)},
        {"copying-ring-8-p99", shared, ring(8, Written::elsewhere, 0.99)},
        {"one-buffer", shared, one_buffer_latency},
        {"ring-rate", streamed, stream(Written::in_place)},
        {"copying-ring-rate", streamed, stream(Written::elsewhere)},
        {"udp-busy", datagrams, socket(SOCK_DGRAM, true)},
        {"udp-blocking", datagrams, socket(SOCK_DGRAM, false)},
        {"tcp-busy", datagrams, socket(SOCK_STREAM, true)},
        {"tcp-blocking", datagrams, socket(SOCK_STREAM, false)},
        {"udp-blocking-rate", {64, 1024, 63000}, rate(SOCK_DGRAM, false)},
        {"udp-busy-rate", {64, 1024, 63000}, rate(SOCK_DGRAM, true)},
        {"udp-segmented-rate", {64, 1024}, segmented_rate},
        {"tcp-blocking-rate", {64, 1024, 65536}, rate(SOCK_STREAM, false)},
        {"tcp-busy-rate", {64, 1024, 65536}, rate(SOCK_STREAM, true)},
        {"tcp-joined-blocking-rate", {64, 1024, 65536}, rate(SOCK_STREAM, false, Joined::yes)},
        {"tcp-joined-busy-rate", {64, 1024, 65536}, rate(SOCK_STREAM, true, Joined::yes)},
    };
}

bool wanted(const std::string& name, std::size_t bytes, int argc, char* argv[]) {
    const auto named = [&](const std::string& word) {
        return word == name || word == name + ":" + std::to_string(bytes);
    };
    return argc == 2 || std::any_of(argv + 2, argv + argc, named);
}

}  // namespace

int main(int argc, char* argv[]) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 0;
    if (seconds <= 0) {
        std::cerr << "usage: floor SECONDS [NAME[:BYTES]...]\n";
        return 2;
    }
    pin(0);
    for (const Floor& floor : floors()) {
        for (const std::size_t bytes : floor.sizes) {
            if (!wanted(floor.name, bytes, argc, argv)) continue;
            std::cout << floor.name << ' ' << bytes << ' ' << floor.measure(seconds, bytes) << std::endl;
        }
    }
    return 0;
}
