// Arbitrary answers of a subscriber to a publisher of reliable UDP (udp-reliable, udp-wan): acknowledgements of packets
// that were never sent, ranges without end, windows of any size. The publisher must not read beyond its memory or hang.
#include "transports/reliable_publisher.hpp"

#include "fuzz/reliable.hpp"

namespace {

using namespace tacholog;
using reliable::Kind;

constexpr std::size_t piece_bytes = 16;

struct Compact {
    std::uint8_t form;
    std::uint8_t next_packet;
    std::uint8_t released;
    std::uint8_t window;
    std::uint8_t range_count;
    std::array<std::array<std::uint8_t, 2>, 4> missing;
};

reliable::Answer answer_of(fuzz::Input& input) {
    const auto from = input.take<Compact>();
    reliable::Answer answer{};
    if ((from.form & 1U) != 0) {
        answer = input.take<reliable::Answer>();
    } else {
        answer.kind = Kind::answer;
        answer.stamp_us = from.form;
        answer.window = from.window;
        answer.next_packet = from.next_packet;
        answer.released = from.released;
        answer.range_count = from.range_count % 5U;
        for (std::size_t at = 0; at < from.missing.size(); ++at) {
            answer.missing[at] = {from.missing[at][0], from.missing[at][1]};
        }
    }
    if ((from.form & 2U) == 0) answer.stream = fuzz::stream;
    return answer;
}

void say(const Fd& subscriber, const reliable::Answer& answer, std::uint8_t cut) {
    const std::size_t bytes = answer.range_count <= reliable::most_ranges ? answer.bytes() : sizeof answer;
    fuzz::say(subscriber, answer, bytes - std::min<std::size_t>(bytes, cut));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input{data, size};
    auto [ours, subscriber] = fuzz::datagram_sockets();
    {
        reliable::Link link{std::move(ours), true, {}, fuzz::stream, "fuzz"};
        reliable::ReliablePublisher publisher{std::move(link), fuzz::topic(), piece_bytes};
        while (!input.empty()) {
            auto loan = publisher.loan(1 + input.take<std::uint8_t>() % fuzz::max_bytes);
            fuzz::require(loan.has_value());
            static_cast<void>(loan->publish(Patience{0}).has_value());
            say(subscriber, answer_of(input), input.take<std::uint8_t>());
            fuzz::drain(subscriber);
        }
        reliable::Answer last{};  // otherwise the publisher waits for a subscriber that no longer answers
        last.stream = fuzz::stream;
        last.kind = Kind::left;
        say(subscriber, last, 0);
    }
    return 0;
}
