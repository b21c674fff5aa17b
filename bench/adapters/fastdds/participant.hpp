// The library's objects: the type of a topic, the quality of service according to our settings, and a participant with
// its topic.
#pragma once

#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastdds/rtps/transport/shared_mem/SharedMemTransportDescriptor.h>
#include <fastrtps/config.h>
#include <fastrtps/utils/IPLocator.h>
#include <fastrtps/xmlparser/XMLProfileManager.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <fastdds/dds/core/condition/WaitSet.hpp>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/log/Log.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fstream>
#include <functional>
#include <memory>
#include <utility>

#include "adapters/farewell.hpp"
#include "adapters/sides.hpp"
#include "base/fd.hpp"
#include "base/waiting.hpp"
#include "control/peer_watch.hpp"
#include "transports/ip_endpoint.hpp"
#include "transports/transport.hpp"

namespace tacholog::fastdds {

namespace dds = eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;
using eprosima::fastrtps::Duration_t;
using eprosima::fastrtps::types::ReturnCode_t;

enum class Over { shm, udp };

/// Returns an error if the value is neither of the two words. The setting does not list the words in `values`, because
/// the tests over all transports use each listed value. These tests need more than the second word guarantees.
template <const char* first, const char* second>
Result<void> one_of_two(std::string_view value) {
    if (value == first || value == second) return {};
    return Error{std::string{"neither "} + first + " nor " + second};
}

inline constexpr char reliable[] = "reliable";
inline constexpr char best_effort[] = "best-effort";
inline constexpr char off[] = "off";
inline constexpr char on[] = "on";

inline constexpr Setting reliability{
    .name = "reliability",
    .values = "WORD",
    .default_value = reliable,
    .meaning =
        "reliable is RELIABLE and KEEP_ALL: nothing is overwritten, and a full history blocks the publisher; "
        "best-effort is BEST_EFFORT and KEEP_LAST, the library's defaults for readers and histories",
    .check = one_of_two<reliable, best_effort>};
inline constexpr Setting data_sharing{
    .name = "data-sharing",
    .values = "WORD",
    .default_value = off,
    .meaning =
        "on: the reader reads from the writer's history, and messages do not pass through the transport; best effort "
        "in effect, because a writer at full speed overtakes its reader; not for topics with keys. off: messages pass "
        "through the transport",
    .check = one_of_two<off, on>};
inline constexpr Setting buffers{.name = "buffers",
                                 .values = "copy|loan",
                                 .default_value = "copy",
                                 .meaning =
                                     "copy: payloads are serialised into the histories, and deserialised from them; "
                                     "loan: payloads are written and read there in place (loan_sample, take)"};
inline constexpr Setting depth{
    .name = "depth",
    .values = "N",
    .default_value = "1",
    .meaning = "how many messages of each instance KEEP_LAST keeps; 1 is the library's default",
    .check = whole_number<1, 10'000>};
inline constexpr Setting max_samples{
    .name = "max-samples",
    .values = "N",
    .default_value = "400",
    .meaning =
        "how many messages of each instance KEEP_ALL keeps (max_samples_per_instance, 400 by default); if they are "
        "large, as many as fit into 32 MiB, but at least 4",
    .check = whole_number<1, 10'000>};
// https://fast-dds.docs.eprosima.com/en/v2.9.1/fastdds/use_cases/large_data/large_data.html, "Tuning Heartbeat Period",
// advises a period below the default at high rates.
inline constexpr Setting heartbeat{.name = "heartbeat-ms",
                                   .values = "N",
                                   .default_value = "100",
                                   .meaning =
                                       "the period of the writer's heartbeats, which repair losses; the library's "
                                       "default is 3000, with which a lost datagram stops a run for seconds",
                                   .check = whole_number<1, 60'000>};
inline constexpr Setting segment{
    .name = "segment-bytes",
    .values = "N",
    .default_value = "524288",
    .meaning = "the shared memory of each participant (segment_size); 524288 is the library's default",
    .check = whole_number<65'536, std::uint64_t{1} << 30>};

inline constexpr std::array shm_settings{reliability, data_sharing, buffers, depth, max_samples, heartbeat, segment};
inline constexpr std::array udp_settings{reliability, buffers, depth, max_samples, heartbeat};

inline bool shares_data(const Settings& given) {
    return value_of(given, data_sharing.name) == on;
}

inline bool is_reliable(const Settings& given) {
    return shares_data(given) || value_of(given, reliability.name) == reliable;
}

/// A loaned message in the history, where all slots have the same size. With data sharing, slots are only aligned to 4
/// bytes.
struct Slot {
    std::uint32_t bytes;
    std::uint32_t unused;
    static constexpr std::size_t head = 2 * sizeof bytes;

    std::byte* data() { return reinterpret_cast<std::byte*>(this) + head; }
};

using Copied = std::vector<std::byte>;

/// A sequence of octets in CDR format. The library pads messages to multiples of 4 bytes, so the exact length must be
/// stored in them.
class Octets final : public dds::TopicDataType {
public:
    explicit Octets(const Topic& topic) : loaned_(value_of(topic.settings, buffers.name) == "loan") {
        setName(loaned_ ? "tacholog::Slot" : "tacholog::Octets");
        m_typeSize = static_cast<std::uint32_t>((loaned_ ? encapsulation_bytes + Slot::head : head) + topic.max_bytes);
        m_isGetKeyDefined = topic.instances.has_value();
        auto_fill_type_object(false);
        auto_fill_type_information(false);
    }

private:
    static constexpr std::size_t encapsulation_bytes = 4;
    static constexpr std::size_t head = encapsulation_bytes + sizeof(std::uint32_t);

    /// Never called for loaned messages.
    bool serialize(void* data, rtps::SerializedPayload_t* payload) override {
        constexpr std::array<unsigned char, encapsulation_bytes> little_endian{0, 1, 0, 0};
        const std::span<const std::byte> bytes = bytes_of(data);
        const auto length = static_cast<std::uint32_t>(bytes.size());
        if (loaned_ || head + length > payload->max_size) return false;
        payload->encapsulation = CDR_LE;
        payload->length = static_cast<std::uint32_t>(head) + length;
        std::memcpy(payload->data, little_endian.data(), encapsulation_bytes);
        std::memcpy(payload->data + encapsulation_bytes, &length, sizeof length);
        std::memcpy(payload->data + head, bytes.data(), length);
        return true;
    }
    bool deserialize(rtps::SerializedPayload_t* payload, void* data) override {
        std::uint32_t length = 0;
        if (loaned_ || payload->length < head) return false;
        std::memcpy(&length, payload->data + encapsulation_bytes, sizeof length);
        if (length > payload->length - head) return false;
        Copied& bytes = *static_cast<Copied*>(data);
        bytes.resize(length);
        std::memcpy(bytes.data(), payload->data + head, length);
        return true;
    }
    std::function<std::uint32_t()> getSerializedSizeProvider(void* data) override {
        const auto bytes = static_cast<std::uint32_t>(head + bytes_of(data).size());
        return [bytes] { return bytes; };
    }
    void* createData() override { return new Copied(m_typeSize); }
    void deleteData(void* data) override { delete static_cast<Copied*>(data); }
    bool getKey(void* data, rtps::InstanceHandle_t* handle, bool) override {
        const auto bytes = bytes_of(data);
        if (bytes.size() < message_header_bytes) return false;
        const std::uint64_t key = instance_of(bytes) + 1;  // a value of zeros means "no key"
        std::array<unsigned char, 16> value{};
        std::memcpy(value.data(), &key, sizeof key);
        for (unsigned at = 0; at < value.size(); ++at) handle->value[at] = value[at];
        return true;
    }
    bool is_bounded() const override { return true; }
    bool is_plain() const override { return loaned_; }

    std::span<const std::byte> bytes_of(void* data) const {
        if (!loaned_) return *static_cast<Copied*>(data);
        Slot& slot = *static_cast<Slot*>(data);
        return {slot.data(), static_cast<std::size_t>(slot.bytes)};
    }

    bool loaned_;
};

inline Error failed(const std::string& operation, const ReturnCode_t& code) {
    return Error{operation + ": Fast DDS returned code " + std::to_string(code())};
}

inline Duration_t duration(Patience patience) {
    const Nanoseconds time = std::max<Nanoseconds>(to_nanoseconds(patience), 0);
    return {static_cast<std::int32_t>(time / nanoseconds_per_second),
            static_cast<std::uint32_t>(time % nanoseconds_per_second)};
}

/// The discovery addresses of an end: its own, and those of its peers. Over UDP, the ends use only the subscriber's
/// port for discovery, so no multicast is needed and other runs are not found.
struct Meeting {
    Over over;
    std::optional<Address> own = {};        ///< the port of a subscriber for discovery
    std::vector<Address> subscribers = {};  ///< the ports that a publisher contacts
};

inline rtps::Locator_t locator_of(const Address& address) {
    rtps::Locator_t locator;
    const std::string text = to_text(address);
    rtps::IPLocator::createLocator(LOCATOR_KIND_UDPv4, text.substr(0, text.rfind(':')), address.port(), locator);
    return locator;
}

inline dds::DomainParticipantQos participant_qos(const Topic& topic, const Meeting& meeting) {
    dds::DomainParticipantQos qos;
    qos.name(topic.name);
    qos.transport().use_builtin_transports = false;
    if (meeting.over == Over::udp) {
        auto udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
        udp->interfaceWhiteList.push_back(topic.local_address);
        qos.transport().user_transports.push_back(udp);
        auto& builtin = qos.wire_protocol().builtin;
        if (meeting.own) builtin.metatrafficUnicastLocatorList.push_back(locator_of(*meeting.own));
        for (const Address& subscriber : meeting.subscribers)
            builtin.initialPeersList.push_back(locator_of(subscriber));
        return qos;
    }
    auto shm = std::make_shared<eprosima::fastdds::rtps::SharedMemTransportDescriptor>();
    shm->segment_size(static_cast<std::uint32_t>(number_of(topic.settings, segment.name)));
    qos.transport().user_transports.push_back(shm);
    return qos;
}

/// The domain is the same on both sides. Other runs rarely use it, so discovery takes little time.
inline std::uint32_t domain_of(const Topic& topic) {
    constexpr std::uint32_t domains = 200;  // with more domains, discovery would need ports above 65535
    std::uint32_t sum = 2166136261U;
    for (const char letter : topic.channel) sum = (sum ^ static_cast<unsigned char>(letter)) * 16777619U;
    return 1 + sum % domains;
}

template <typename Qos>
void set_history(Qos& qos, const Topic& topic) {
    constexpr std::size_t most_bytes = std::size_t{32} * 1024 * 1024;
    constexpr std::size_t least = 4;
    const bool keeps_all = is_reliable(topic.settings);
    const std::size_t fit = std::max(least, most_bytes / topic.max_bytes);
    const std::size_t instances = topic.instances.value_or(1);
    const std::size_t each =
        keeps_all ? std::max<std::size_t>(1, std::min<std::size_t>(number_of(topic.settings, max_samples.name), fit) /
                                                 (topic.instances ? std::min(instances, fit) : 1))
                  : number_of(topic.settings, depth.name);
    const auto whole = [](std::size_t number) { return static_cast<std::int32_t>(number); };
    qos.reliability().kind = keeps_all ? dds::RELIABLE_RELIABILITY_QOS : dds::BEST_EFFORT_RELIABILITY_QOS;
    qos.history().kind = keeps_all ? dds::KEEP_ALL_HISTORY_QOS : dds::KEEP_LAST_HISTORY_QOS;
    if (!keeps_all) qos.history().depth = whole(each);
    qos.resource_limits().max_instances = whole(instances);
    qos.resource_limits().max_samples_per_instance = whole(each);
    qos.resource_limits().max_samples = whole(each * instances);
    qos.resource_limits().allocated_samples = whole(each * instances);
    if (shares_data(topic.settings)) {
        // Fails if data sharing is impossible; the auto mode of the library would silently continue without it.
        qos.data_sharing().on("");
    } else {
        qos.data_sharing().off();
    }
}

class Participant {
public:
    static Result<std::unique_ptr<Participant>> create(const Topic& topic, const Meeting& meeting) {
        quiet();
        std::unique_ptr<Participant> made{new Participant};
        made->over_ = meeting.over;
        auto* factory = dds::DomainParticipantFactory::get_instance();
        made->participant_ = factory->create_participant(domain_of(topic), participant_qos(topic, meeting));
        if (made->participant_ == nullptr) return Error{"create a participant of Fast DDS for " + topic.name};
        const dds::TypeSupport type{new Octets{topic}};
        type.register_type(made->participant_);
        made->topic_ = made->participant_->create_topic(topic.channel, type.get_type_name(), dds::TOPIC_QOS_DEFAULT);
        if (made->topic_ == nullptr) return Error{"create the topic " + topic.channel + " of Fast DDS"};
        return made;
    }
    Participant(const Participant&) = delete;
    Participant& operator=(const Participant&) = delete;
    ~Participant() {
        if (participant_ == nullptr) return;
        participant_->delete_contained_entities();
        dds::DomainParticipantFactory::get_instance()->delete_participant(participant_);
    }

    /// Must be called before destruction. If a peer was killed, version 2.9 sometimes crashes over shared memory: it
    /// closes a port while its own thread reopens this port. So the participant is not destroyed, not even at the exit
    /// of the process. A peer was killed if its process has ended although it still seems to be connected
    /// (`is_matched`).
    void stay_if_a_peer_was_killed(bool is_matched) {
        if (!is_matched || over_ != Over::shm || !PeerWatch::somebody_has_hung_up()) return;
        participant_ = nullptr;
        end_without_farewell();
    }

    dds::DomainParticipant* operator->() const { return participant_; }
    dds::Topic* topic() const { return topic_; }

private:
    Participant() = default;

    /// The library's log would be mixed with our results on standard output. Also disables the shortcut between two
    /// ends in one process (as in tests), so that they use the same path as two processes.
    static void quiet() {
        static const bool done = [] {
            dds::Log::ClearConsumers();
            eprosima::fastrtps::LibrarySettingsAttributes library;
            library.intraprocess_delivery = eprosima::fastrtps::INTRAPROCESS_OFF;
            eprosima::fastrtps::xmlparser::XMLProfileManager::library_settings(library);
            return true;
        }();
        static_cast<void>(done);
    }

    Over over_ = Over::shm;
    dds::DomainParticipant* participant_ = nullptr;
    dds::Topic* topic_ = nullptr;
};

/// Returns true if this process has mapped a segment of data sharing. This is checked in addition to the counters of
/// the kernel.
inline bool maps_histories() {
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);)
        if (line.find("/fast_datasharing_") != std::string::npos) return true;
    return false;
}

inline Facts library_facts() {
    Facts facts = facts_of_library("Fast DDS", FASTRTPS_VERSION_STR);
    add_fact(facts, "data_sharing", maps_histories() ? "yes" : "no");
    return facts;
}

}  // namespace tacholog::fastdds
