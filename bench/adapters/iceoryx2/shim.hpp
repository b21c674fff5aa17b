// The functions of iceoryx2, which is written in Rust. shim.rs exports them. A null pointer or -1 means failure; the
// text is then in `error`.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// The description of a channel, the same for both of its ends.
struct tacholog_iox2_topic {
    const char* root;    ///< the folder of the library's files; the library creates it
    const char* prefix;  ///< the prefix of its files in shared memory
    const char* name;
    std::size_t max_bytes;
    std::size_t subscribers;  ///< the largest number of subscribers
    std::size_t queue;        ///< of each subscriber, in messages
    std::size_t history;      ///< messages that the publisher keeps for late subscribers
    bool discards;            ///< whether a full queue loses its oldest message; if not, the publisher waits
    bool sleeps;              ///< whether each message wakes the subscribers
    std::uint64_t longest_wait_ms;
};

struct tacholog_iox2_error {
    char* text;
    std::size_t capacity;
};

struct tacholog_iox2_publisher;
struct tacholog_iox2_subscriber;

tacholog_iox2_publisher* tacholog_iox2_advertise(const tacholog_iox2_topic* topic, const tacholog_iox2_error* error);
void tacholog_iox2_publisher_close(tacholog_iox2_publisher* end);
std::size_t tacholog_iox2_subscribers(const tacholog_iox2_publisher* end);
std::byte* tacholog_iox2_loan(tacholog_iox2_publisher* end, std::size_t bytes, const tacholog_iox2_error* error);
void tacholog_iox2_abandon(tacholog_iox2_publisher* end);
/// Returns how many subscribers have the message in their queues.
std::int64_t tacholog_iox2_publish(tacholog_iox2_publisher* end, const tacholog_iox2_error* error);

tacholog_iox2_subscriber* tacholog_iox2_subscribe(const tacholog_iox2_topic* topic, const tacholog_iox2_error* error);
void tacholog_iox2_subscriber_close(tacholog_iox2_subscriber* end);
std::size_t tacholog_iox2_publishers(const tacholog_iox2_subscriber* end);
/// Opens the queues of all publishers. Must be called before a publisher leaves, because otherwise its messages are
/// lost.
bool tacholog_iox2_connect(const tacholog_iox2_subscriber* end, const tacholog_iox2_error* error);
/// Returns 1 if there is a message, which is valid until it is released, and 0 if there is none.
std::int32_t tacholog_iox2_take(tacholog_iox2_subscriber* end, const std::byte** bytes, std::size_t* length,
                                const tacholog_iox2_error* error);
void tacholog_iox2_release(tacholog_iox2_subscriber* end);
/// The descriptor is readable while there are wake-ups; -1 if this side polls.
std::int32_t tacholog_iox2_descriptor(const tacholog_iox2_subscriber* end);
bool tacholog_iox2_clear(const tacholog_iox2_subscriber* end, const tacholog_iox2_error* error);
}
