// How the two sides of a run set up the transport for one case. First the subscribers open their endpoints, and send
// the addresses over the control channel. Then the publishers connect to them.
#include <unistd.h>

#include <random>
#include <sstream>

#include "base/memory_facts.hpp"
#include "machine/environment.hpp"
#include "rig/side.hpp"

namespace tacholog {
namespace {

/// The name is the same on all sides of a run, and differs from the names of other runs.
std::string channel_name(const Side& side, Direction direction, std::size_t publisher) {
    std::ostringstream name;
    name << "tacholog-" << std::hex << side.run_number << '-' << std::dec << side.case_number
         << (direction == Direction::messages ? "-ping" : "-pong");
    if (publisher > 0) name << '-' << publisher;
    return name.str();
}

/// The name contains the process and 64 random bits, so that no other topic on this host has the same name. The answers
/// have a topic of their own.
Topic new_topic(const Side& side, std::size_t payload_bytes, Direction direction, std::size_t publisher = 0) {
    std::random_device random;
    const std::uint64_t salt = std::uint64_t{random()} << 32 | random();
    Topic topic{"tacholog-" + std::to_string(::getpid()) + "-" + std::to_string(salt) +
                    (direction == Direction::messages ? "-ping" : "-pong"),
                payload_bytes, side.control.local_host(), side.options.address};
    topic.channel = channel_name(side, direction, publisher);
    topic.waiting = side.options.waiting;
    topic.direction = direction;
    topic.publisher = publisher;
    topic.settings = side.options.settings;
    topic.instances = side.options.instances;
    topic.companion = side.companion;
    if (direction == Direction::messages) {
        topic.audience = side.options.audience;
        topic.batch_messages = messages_a_batch(side.options, payload_bytes);
    }
    return topic;
}

Result<void> join(const Side& side, Channels& channels, Direction direction, const Endpoints& endpoints,
                  std::size_t payload_bytes) {
    const Topic topic = new_topic(side, payload_bytes, direction);
    auto publisher = side.transport.advertise(topic, endpoints);
    if (!publisher) return publisher.error();
    channels.publisher = std::move(*publisher);
    return {};
}

/// Without this check, any program that can reach the control port could make this side send to other hosts.
Result<std::string> vetted(const Side& side, const Control& peer, const std::string& endpoint) {
    if (side.transport.endpoint_at == nullptr || side.options.any_endpoint) return endpoint;
    const Address host = peer.remote_address();
    const auto found = side.transport.endpoint_at(endpoint, host);
    if (found) return *found;
    return Error{"advertise to '" + endpoint + "': " + peer.peer() + " is at " + host_of(host) +
                 ", and may name no other address (unless --any-endpoint is given here)"};
}

/// The text has the endpoints of one subscriber for several publishers, one per line.
std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream{text};
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

Result<void> join_all(const Side& side, Channels& channels, const std::string& endpoints, std::size_t payload_bytes) {
    auto lines = lines_of(endpoints);
    if (lines.size() != side.options.publishers)
        return Error{"control channel: the peer is out of step with this side"};
    for (std::string& line : lines) {
        auto endpoint = vetted(side, side.control, line);
        if (!endpoint) return endpoint.error();
        line = std::move(*endpoint);
    }
    if (auto joined = join(side, channels, Direction::messages, {lines.front()}, payload_bytes); !joined) return joined;
    for (std::size_t at = 1; at < lines.size(); ++at) {
        auto publisher = side.transport.advertise(new_topic(side, payload_bytes, Direction::messages, at), {lines[at]});
        if (!publisher) return publisher.error();
        channels.more_publishers.push_back(std::move(*publisher));
    }
    return {};
}

Result<void> join_those(const Side& side, Channels& channels, const std::vector<Frame>& replies,
                        std::size_t payload_bytes) {
    if (side.options.publishers > 1)
        return join_all(side, channels, read_frame<OpenFrame>(replies.front()).endpoint, payload_bytes);
    std::vector<std::string> endpoints;
    for (std::size_t at = 0; at < replies.size(); ++at) {
        auto endpoint = vetted(side, side.subscribers[at], read_frame<OpenFrame>(replies[at]).endpoint);
        if (!endpoint) return endpoint.error();
        endpoints.push_back(std::move(*endpoint));
    }
    return join(side, channels, Direction::messages, endpoints, payload_bytes);
}

Error not_matched(std::string_view who) {
    return Error{"join: " + std::string{who} + " has not come within the time limit"};
}

template <typename Function>
Result<void> for_each_publisher(const Channels& channels, Function&& function) {
    if (!channels.publisher) return {};
    if (auto done = function(*channels.publisher); !done) return done;
    for (const auto& publisher : channels.more_publishers) {
        if (auto done = function(*publisher); !done) return done;
    }
    return {};
}

/// Waits until each publisher of this side is matched with the subscriber of the other side. During this wait, the
/// function also tries to match the subscriber of this side. Otherwise both sides could wait for ever, because the
/// publisher of each side waits for the subscriber of the other side.
Result<void> match_publishers(const Side& side, const Channels& channels) {
    constexpr Patience turn{10};
    const Deadline deadline{side.limit()};
    bool subscriber_matched = channels.subscriber == nullptr;
    return for_each_publisher(channels, [&](Publisher& publisher) -> Result<void> {
        auto matched = publisher.match(Patience{0});
        while (is_not_yet_done(matched)) {
            if (deadline.passed()) return not_matched("the peer's subscriber");
            if (!subscriber_matched) {
                const auto met = channels.subscriber->match(turn);
                if (!met.has_value()) return met.error();
                subscriber_matched = *met == Done::yes;
            }
            matched = publisher.match(turn);
        }
        return matched.has_value() ? Result<void>{} : matched.error();
    });
}

Result<void> match(const Side& side, Subscriber& subscriber) {
    const auto matched = subscriber.match(side.limit());
    if (!matched.has_value()) return matched.error();
    if (*matched == Done::not_yet) return not_matched("the peer's publisher");
    return {};
}

Result<void> match(const Side& side, const Channels& channels) {
    if (auto matched = match_publishers(side, channels); !matched) return matched;
    if (!channels.subscriber) return {};
    if (auto matched = match(side, *channels.subscriber); !matched) return matched;
    for (const auto& subscriber : channels.more_subscribers) {
        if (auto matched = match(side, *subscriber); !matched) return matched;
    }
    return {};
}

Result<std::string> subscribe_to_all(const Side& side, Channels& channels, std::size_t payload_bytes) {
    std::string endpoints;
    for (std::size_t count = 0; count < side.options.publishers; ++count) {
        auto pings = side.transport.subscribe(new_topic(side, payload_bytes, Direction::messages, count));
        if (!pings) return pings.error();
        if (count > 0) endpoints += '\n';
        endpoints += (*pings)->endpoint();
        if (count == 0) {
            channels.subscriber = std::move(*pings);
        } else {
            channels.more_subscribers.push_back(std::move(*pings));
        }
    }
    return endpoints;
}

Result<void> exchange_ready(const Side& side) {
    if (const auto sent = side.control.send({FrameKind::ready}); !sent) return sent.error();
    const auto ready = side.control.expect(FrameKind::ready, side.limit());
    return ready ? Result<void>{} : ready.error();
}

/// The facts that the transport reports, and the facts that the kernel reports about the shared memory.
Facts facts_of(const Channels& channels, std::size_t payload_bytes) {
    Facts facts;
    if (channels.subscriber) add_missing(facts, channels.subscriber->facts());
    if (channels.publisher) add_missing(facts, channels.publisher->facts());
    if (const auto shared = shared_memory_in_use()) {
        add_fact(facts, memory_size_key, std::to_string(payload_bytes));
        add_fact(facts, shared_memory_key, std::to_string(shared->bytes));
        add_fact(facts, shared_huge_pages_key, std::to_string(shared->huge_page_bytes));
    }
    return facts;
}

/// Facts about the whole run are sent with the first case, facts about memory with each case.
void tell_facts(const Side& side, const Case& measured, const std::string& role, const std::string& participant,
                Facts facts) {
    if (measured != cases(side.options).front())
        std::erase_if(facts, [](const Fact& fact) { return !is_of_memory(fact.key); });
    if (!facts.empty()) side.tell(TransportFacts{role, participant, std::move(facts)});
}

}  // namespace

Result<Channels> open_channels_as_publisher(const Side& side, const Case& measured) {
    Channels channels;
    const std::size_t payload_bytes = measured.payload_bytes;
    std::string answers_at;
    if (has_round_trips(side.options) || side.options.probe_every > 0) {
        auto answers = side.transport.subscribe(new_topic(side, payload_bytes, Direction::answers));
        if (!answers) return answers.error();
        channels.subscriber = std::move(*answers);
        answers_at = channels.subscriber->endpoint();
    }
    if (const auto sent = side.tell_all(frame_of(OpenFrame{measured, answers_at})); !sent) return sent.error();
    const auto replies = side.expect_all(FrameKind::open);
    if (!replies) return replies.error();
    const auto joined = join_those(side, channels, *replies, payload_bytes);
    if (!joined) return joined.error();
    if (const auto matched = match(side, channels); !matched) return matched.error();
    if (const auto sent = side.tell_all({FrameKind::ready}); !sent) return sent.error();
    if (const auto ready = side.expect_all(FrameKind::ready); !ready) return ready.error();
    const auto theirs = side.expect_all(FrameKind::facts);
    if (!theirs) return theirs.error();
    tell_facts(side, measured, "pub", "", facts_of(channels, payload_bytes));
    for (std::size_t at = 0; at < theirs->size(); ++at) {
        auto facts = parse_facts((*theirs)[at].text);
        if (!facts) return facts.error();
        tell_facts(side, measured, "sub", side.participant(at), std::move(*facts));
    }
    return channels;
}

Result<Channels> open_channels_as_subscriber(const Side& side, const Frame& frame) {
    Channels channels;
    const auto [measured, answers_at] = read_frame<OpenFrame>(frame);
    const std::size_t payload_bytes = measured.payload_bytes;
    const auto endpoints = subscribe_to_all(side, channels, payload_bytes);
    if (!endpoints) return endpoints.error();
    const auto reply = side.control.send(frame_of(OpenFrame{measured, *endpoints}));
    if (!reply) return reply.error();
    if (!answers_at.empty()) {
        const auto endpoint = vetted(side, side.control, answers_at);
        if (!endpoint) return endpoint.error();
        const auto joined = join(side, channels, Direction::answers, {*endpoint}, payload_bytes);
        if (!joined) return joined.error();
    }
    if (const auto matched = match(side, channels); !matched) return matched.error();
    if (const auto ready = exchange_ready(side); !ready) return ready.error();
    Facts facts = facts_of(channels, payload_bytes);
    if (const auto sent = side.control.send({FrameKind::facts, {}, to_text(facts)}); !sent) return sent.error();
    tell_facts(side, measured, "sub", side.name, std::move(facts));
    return channels;
}

}  // namespace tacholog
