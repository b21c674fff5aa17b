// Messages that are identified by number and checksum: functions that send them, and that check them at the other end.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/message.hpp"
#include "tests/patience.hpp"
#include "transports/transport.hpp"

namespace tacholog {

inline constexpr Handling verified{Touch::write_read, true};

inline Result<Done> try_to_send(Publisher& publisher, std::uint64_t number, std::size_t bytes, Patience patience) {
    auto loan = publisher.loan(bytes);
    if (!loan) return loan.error();
    write_message(loan->bytes(), number, verified);
    return loan->publish(patience);
}

inline void send(Publisher& publisher, std::uint64_t number, std::size_t bytes) {
    const auto sent = try_to_send(publisher, number, bytes, plenty);
    ASSERT_TRUE(sent.has_value()) << sent.error().text;
    ASSERT_EQ(*sent, Done::yes) << "no room for message " << number;
}

inline void expect(Subscriber& subscriber, std::uint64_t number, std::size_t bytes) {
    const auto sample = subscriber.take(plenty);
    ASSERT_TRUE(sample) << sample.error().text;
    ASSERT_TRUE(*sample) << "message " << number << " did not come";
    ASSERT_EQ((*sample)->bytes().size(), bytes);
    const auto message = read_message((*sample)->bytes(), verified);
    ASSERT_EQ(message.number, number);
    ASSERT_TRUE(message.intact);
}

inline void expect_match(Subscriber& subscriber) {
    const auto matched = subscriber.match(plenty);
    ASSERT_TRUE(matched.has_value()) << matched.error().text;
    ASSERT_EQ(*matched, Done::yes) << "no publisher joined";
}

/// Connects both ends in turn, because each may wait for the others.
inline void expect_match(Publisher& publisher, const std::vector<Subscriber*>& subscribers) {
    const Deadline deadline{plenty};
    std::vector<bool> met(subscribers.size(), false);
    bool joined = false;
    while (!joined || std::find(met.begin(), met.end(), false) != met.end()) {
        ASSERT_FALSE(deadline.passed()) << "the two sides did not meet";
        if (!joined) {
            const auto matched = publisher.match(Patience{10});
            ASSERT_TRUE(matched.has_value()) << matched.error().text;
            joined = *matched == Done::yes;
        }
        for (std::size_t at = 0; at < subscribers.size(); ++at) {
            if (met[at]) continue;
            const auto matched = subscribers[at]->match(joined ? plenty : Patience{10});
            ASSERT_TRUE(matched.has_value()) << matched.error().text;
            met[at] = *matched == Done::yes;
        }
    }
}

inline void expect_match(Publisher& publisher, Subscriber& subscriber) {
    expect_match(publisher, std::vector{&subscriber});
}

inline void expect_nothing_more(Subscriber& subscriber) {
    const auto more = subscriber.take(Patience{50});
    ASSERT_TRUE(more) << more.error().text;
    EXPECT_FALSE(*more);
}

inline void send_all(Publisher& publisher, std::uint64_t count, std::size_t bytes, std::uint64_t first = 0) {
    for (std::uint64_t number = first; number < first + count && !testing::Test::HasFatalFailure(); ++number)
        send(publisher, number, bytes);
}

inline void expect_all(Subscriber& subscriber, std::uint64_t count, std::size_t bytes, std::uint64_t first = 0) {
    for (std::uint64_t number = first; number < first + count && !testing::Test::HasFatalFailure(); ++number)
        expect(subscriber, number, bytes);
}

/// Sends until the transport is full, and then checks that nothing is lost: every sent message can be taken, and so can
/// the message that did not fit at first. With batches, the messages of an incomplete batch arrive only after that
/// message.
inline void expect_full_without_loss(Publisher& publisher, Subscriber& subscriber, std::size_t bytes,
                                     std::uint64_t batch_messages = 1) {
    std::uint64_t sent_count = 0;
    std::optional<Loan> loan;
    while (true) {
        auto next = publisher.loan(bytes);
        ASSERT_TRUE(next) << next.error().text;
        loan.emplace(std::move(*next));
        write_message(loan->bytes(), sent_count, verified);
        const auto sent = loan->publish(Patience{1});
        ASSERT_TRUE(sent.has_value()) << sent.error().text;
        if (*sent == Done::not_yet) break;
        ++sent_count;
    }
    const std::uint64_t on_the_way = sent_count / batch_messages * batch_messages;
    expect_all(subscriber, on_the_way, bytes);
    const auto sent = loan->publish(plenty);
    ASSERT_TRUE(is_done(sent));
    expect_all(subscriber, sent_count + 1 - on_the_way, bytes, on_the_way);
}

/// Sends and takes at the same time, because a message may not fit into the transport. Checks that every subscriber
/// gets every message exactly once, in order and intact.
inline void carry(Publisher& publisher, const std::vector<std::unique_ptr<Subscriber>>& subscribers,
                  std::uint64_t count, std::size_t bytes, std::uint64_t first = 0) {
    std::vector<std::thread> takers;
    for (const auto& subscriber : subscribers) {
        takers.emplace_back([&one = *subscriber, count, bytes, first] { expect_all(one, count, bytes, first); });
    }
    send_all(publisher, count, bytes, first);
    for (auto& taker : takers) taker.join();
}

/// Counts messages until all were sent and nothing has arrived for `silence`. Checks that they are in order and intact;
/// some may be missing.
template <typename AfterEach>
std::uint64_t count_in_order(Subscriber& subscriber, const std::atomic<bool>& all_sent, Patience silence,
                             AfterEach after_each, std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    std::uint64_t count = 0;
    std::uint64_t next = 0;
    while (count < most) {
        const bool last_look = all_sent;
        const auto sample = subscriber.take(silence);
        EXPECT_TRUE(sample) << sample.error().text;
        if (!sample || (!*sample && last_look)) return count;
        if (!*sample) continue;
        const auto message = read_message((*sample)->bytes(), verified);
        EXPECT_GE(message.number, next);
        EXPECT_TRUE(message.intact);
        next = message.number + 1;
        after_each(++count);
    }
    return count;
}

}  // namespace tacholog
