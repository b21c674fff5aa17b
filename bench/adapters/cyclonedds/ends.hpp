// The common part of the Cyclone DDS transports: a participant in its own domain, and the two ends on it.
#pragma once

#include <dds/dds.h>
#include <dds/version.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <string>

#include "adapters/name_hash.hpp"
#include "adapters/sides.hpp"
#include "base/waiting.hpp"
#include "transports/transport.hpp"

namespace tacholog::cyclonedds {

/// One word of a type description. The adapter describes its types itself: they are small, and the generator of the
/// library (idlc) needs a C compiler.
constexpr std::uint32_t operation(auto... parts) {
    return (static_cast<std::uint32_t>(parts) | ...);
}

inline Error failed(const std::string& operation, dds_return_t code) {
    return Error{operation + ": " + ::dds_strretcode(code)};
}

inline Facts library_facts() {
    return facts_of_library("Cyclone DDS", DDS_VERSION);
}

/// Multicast is not used, because the loopback usually does not support it. Instead, the subscriber contacts the host
/// of the publisher, whose address is given by --address. Runs are separated by their domain and by the names of their
/// topics.
inline std::string configuration(const Topic& topic, const std::string& more) {
    constexpr std::uint64_t domains = 200;  // with more domains, discovery would need ports above 65535
    std::string text = "<CycloneDDS><Domain id=\"any\"><General><Interfaces><NetworkInterface address=\"" +
                       topic.local_address + "\"/></Interfaces><AllowMulticast>false</AllowMulticast></General>" +
                       "<Discovery><ExternalDomainId>" + std::to_string(1 + name_hash(topic.channel) % domains) +
                       "</ExternalDomainId>" +
                       "<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>30</MaxAutoParticipantIndex>"
                       "<Peers><Peer address=\"" +
                       topic.peer_address + "\"/>";
    if (topic.peer_address != topic.local_address) text += "<Peer address=\"" + topic.local_address + "\"/>";
    return text + "</Peers></Discovery>" + more + "</Domain></CycloneDDS>";
}

/// A participant with a topic, in a domain of its own.
class Participant {
public:
    Participant() = default;
    Participant(const Participant&) = delete;
    Participant& operator=(const Participant&) = delete;
    ~Participant() {
        if (domain_ > 0) ::dds_delete(domain_);
    }

    /// Creates the domain, the participant and the topic. The text `more` is added to the configuration of the domain.
    Result<void> open(const Topic& topic, const dds_topic_descriptor_t& type, const std::string& more) {
        static std::atomic<dds_domainid_t> opened{0};
        constexpr dds_domainid_t domains = 230;
        for (const std::string& host : {topic.local_address, topic.peer_address}) {
            const auto address = parse_address(host, 0);
            if (!address || address->family() != AF_INET)
                return Error{"meet at " + host + ": this adapter to Cyclone DDS takes IPv4 alone"};
        }
        ::dds_set_log_mask(DDS_LC_FATAL);
        const dds_domainid_t id = opened++ % domains;
        domain_ = ::dds_create_domain(id, configuration(topic, more).c_str());
        if (domain_ < 0) return failed("create a domain of Cyclone DDS", domain_);
        participant_ = ::dds_create_participant(id, nullptr, nullptr);
        if (participant_ < 0) return failed("create a participant of Cyclone DDS", participant_);
        std::string name = topic.channel;  // names with '-' are not allowed
        std::ranges::replace(name, '-', '_');
        topic_ = ::dds_create_topic(participant_, &type, name.c_str(), nullptr, nullptr);
        if (topic_ < 0) return failed("create the topic " + topic.channel, topic_);
        return {};
    }

    dds_entity_t get() const { return participant_; }
    dds_entity_t topic() const { return topic_; }

private:
    dds_entity_t domain_ = 0;
    dds_entity_t participant_ = 0;
    dds_entity_t topic_ = 0;
};

using Qos = std::unique_ptr<dds_qos_t, decltype(&::dds_delete_qos)>;

/// A writer that knows the number of its matched readers.
class Writer {
public:
    explicit Writer(std::size_t subscribers) : expected_(static_cast<std::uint32_t>(subscribers)) {}

    Result<void> open(const Topic& topic, const dds_topic_descriptor_t& type, const std::string& more, const Qos& qos) {
        if (auto done = participant_.open(topic, type, more); !done) return done;
        ::dds_qset_writer_data_lifecycle(qos.get(), false);
        writer_ = ::dds_create_writer(participant_.get(), participant_.topic(), qos.get(), nullptr);
        if (writer_ < 0) return failed("create a writer of Cyclone DDS", writer_);
        return {};
    }

    Done match(Patience patience) const {
        constexpr Nanoseconds nap_ns = 200'000;
        for (const Deadline deadline{patience}; left(); sleep_until(now_ns() + nap_ns))
            if (deadline.passed()) return Done::not_yet;
        return Done::yes;
    }

    /// Returns true if a subscriber is missing.
    bool left() const {
        dds_publication_matched_status_t status{};
        ::dds_get_publication_matched_status(writer_, &status);
        return status.current_count < expected_;
    }

    /// Checks only at every 64th call, because a check takes time.
    bool left_now_and_then() {
        constexpr int sends_a_look = 64;
        return ++sends_ % sends_a_look == 0 && left();
    }

    dds_entity_t get() const { return writer_; }

private:
    std::uint32_t expected_;
    Participant participant_;
    dds_entity_t writer_ = 0;
    int sends_ = 0;
};

/// The subscriber's end. Derived classes define the format of a sample.
class Reader : public Subscriber {
public:
    /// If `notices` is true, a wait for a message ends with an error when the publisher has left.
    Reader(const Topic& topic, bool notices) : channel_(topic.channel), waiting_(topic.waiting), notices_(notices) {}

    Result<void> open(const Topic& topic, const dds_topic_descriptor_t& type, const std::string& more, const Qos& qos) {
        if (auto done = participant_.open(topic, type, more); !done) return done;
        reader_ = ::dds_create_reader(participant_.get(), participant_.topic(), qos.get(), nullptr);
        if (reader_ < 0) return failed("create a reader of Cyclone DDS", reader_);
        ::dds_set_status_mask(reader_, DDS_DATA_AVAILABLE_STATUS | DDS_SUBSCRIPTION_MATCHED_STATUS);
        waitset_ = ::dds_create_waitset(participant_.get());
        ::dds_waitset_attach(waitset_, reader_, 0);
        return {};
    }

    std::string endpoint() const override { return channel_; }

    Result<Done> match(Patience patience) override {
        const Deadline deadline{patience};
        while (!has_publisher()) {
            if (deadline.passed()) return Done::not_yet;
            wait(to_nanoseconds(deadline.left()));
        }
        return Done::yes;
    }

    Facts facts() const override { return library_facts(); }

protected:
    dds_entity_t reader() const { return reader_; }

private:
    /// `sample_memory` returns the memory for the next message. `bytes` returns the bytes of the message that was
    /// received there.
    virtual void* sample_memory() = 0;
    virtual std::span<const std::byte> bytes() const = 0;

    bool has_publisher() const {
        dds_subscription_matched_status_t status{};
        ::dds_get_subscription_matched_status(reader_, &status);
        return status.current_count > 0;
    }

    void wait(Nanoseconds time_ns) const {
        dds_attach_t triggered = 0;
        ::dds_waitset_wait(waitset_, &triggered, 1, time_ns);
    }

    Result<std::span<const std::byte>> receive(Patience patience) override {
        auto came = take();
        for (BusyPoll poll{patience, waiting_}; is_not_yet_done(came) && poll.wait();) came = take();
        const Nanoseconds deadline = now_ns() + to_nanoseconds(patience);
        bool is_gone = false;
        while (is_not_yet_done(came)) {
            if (is_gone) return Error{"take from " + channel_ + ": the publisher is gone"};
            is_gone = notices_ && !has_publisher();
            const Nanoseconds left = deadline - now_ns();
            if (!is_gone) {
                if (!sleeps(waiting_) || left <= 0) break;
                wait(left);
            }
            came = take();
        }
        if (!came.has_value()) return came.error();
        if (*came == Done::not_yet) return std::span<const std::byte>{};
        return bytes();
    }

    Result<Done> take() {
        void* sample = sample_memory();
        dds_sample_info_t info{};
        const dds_return_t code = ::dds_take(reader_, &sample, &info, 1, 1);
        if (code < 0) return failed("take from " + channel_, code);
        return done_if(code == 1 && info.valid_data);  // an invalid sample only reports that the writer has left
    }

    void release() noexcept override {}

    std::string channel_;
    Waiting waiting_;
    bool notices_;
    Participant participant_;
    dds_entity_t reader_ = 0;
    dds_entity_t waitset_ = 0;
};

inline Result<void> of_this_run(const Topic& topic, std::span<const std::string> endpoints) {
    if (auto fine = check_endpoints(topic, endpoints); !fine) return fine.error();
    return {};
}

}  // namespace tacholog::cyclonedds
