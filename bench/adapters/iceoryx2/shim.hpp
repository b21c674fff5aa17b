// What shim.rs gives of iceoryx2, which is written in Rust. A null pointer or -1 says that something failed: the text
// is then in `error`.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// A channel, described in the same way by both of its ends.
struct tacholog_iox2_topic {
    const char* root;    ///< the folder of the library's files, which it makes
    const char* prefix;  ///< with which its files in shared memory begin
    const char* name;
    std::size_t max_bytes;
    std::size_t subscribers;  ///< at most
    std::size_t queue;        ///< messages that wait for each subscriber
    std::size_t history;      ///< messages that the publisher keeps for those who come late
    bool discards;            ///< a full queue loses its oldest message; else the publisher waits
    bool sleeps;              ///< each message wakes the subscribers
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
/// How many there are now.
std::size_t tacholog_iox2_subscribers(const tacholog_iox2_publisher* end);
std::byte* tacholog_iox2_loan(tacholog_iox2_publisher* end, std::size_t bytes, const tacholog_iox2_error* error);
void tacholog_iox2_abandon(tacholog_iox2_publisher* end);
/// Returns how many subscribers have it in their queues.
std::int64_t tacholog_iox2_publish(tacholog_iox2_publisher* end, const tacholog_iox2_error* error);

tacholog_iox2_subscriber* tacholog_iox2_subscribe(const tacholog_iox2_topic* topic, const tacholog_iox2_error* error);
void tacholog_iox2_subscriber_close(tacholog_iox2_subscriber* end);
/// How many there are now.
std::size_t tacholog_iox2_publishers(const tacholog_iox2_subscriber* end);
/// Opens the queues of all publishers: what one has published is lost if it leaves before that.
bool tacholog_iox2_connect(const tacholog_iox2_subscriber* end, const tacholog_iox2_error* error);
/// 1: there is a message, valid until it is released. 0: there is none.
std::int32_t tacholog_iox2_take(tacholog_iox2_subscriber* end, const std::byte** bytes, std::size_t* length,
                                const tacholog_iox2_error* error);
void tacholog_iox2_release(tacholog_iox2_subscriber* end);
/// Sleeps until a message has been published, or the time is over.
bool tacholog_iox2_wait(const tacholog_iox2_subscriber* end, std::uint64_t nanoseconds,
                        const tacholog_iox2_error* error);
}
