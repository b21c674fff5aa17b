// Fast DDS: a reliable topic of plain bytes over what it takes by default between processes of one host (shared
// memory), or over UDP alone. The reader sleeps until something has come.
#pragma once

#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>

#include <cstring>
#include <functional>

#include "perf/peers/peer.hpp"
#include "perf/spin.hpp"

namespace tacholog::perf::fastdds {

namespace dds = eprosima::fastdds::dds;
using eprosima::fastrtps::rtps::InstanceHandle_t;
using eprosima::fastrtps::rtps::SerializedPayload_t;

using Bytes = std::vector<std::byte>;

/// Bytes as they are, behind no header.
class BytesType final : public dds::TopicDataType {
public:
    explicit BytesType(std::size_t bytes) : bytes_(bytes) {
        setName("Bytes");
        m_typeSize = static_cast<std::uint32_t>(bytes);
    }

private:
    bool serialize(void* data, SerializedPayload_t* payload) override {
        const Bytes& bytes = *static_cast<Bytes*>(data);
        payload->length = static_cast<std::uint32_t>(bytes.size());
        std::memcpy(payload->data, bytes.data(), bytes.size());
        return true;
    }
    bool deserialize(SerializedPayload_t* payload, void* data) override {
        Bytes& bytes = *static_cast<Bytes*>(data);
        bytes.resize(payload->length);
        std::memcpy(bytes.data(), payload->data, payload->length);
        return true;
    }
    std::function<std::uint32_t()> getSerializedSizeProvider(void* data) override {
        return [data] { return static_cast<std::uint32_t>(static_cast<Bytes*>(data)->size()); };
    }
    void* createData() override { return new Bytes(bytes_); }
    void deleteData(void* data) override { delete static_cast<Bytes*>(data); }
    bool getKey(void*, InstanceHandle_t*, bool) override { return false; }

    std::size_t bytes_;
};

enum class Over { default_transports, udp };

template <Over over>
class Endpoint {
public:
    Endpoint(const std::string& topic, End end, std::size_t bytes) : bytes_(bytes) {
        auto* participant = dds::DomainParticipantFactory::get_instance()->create_participant(0, participant_qos());
        insist(participant != nullptr, "create_participant");
        const dds::TypeSupport type{new BytesType{bytes}};
        type.register_type(participant);
        const auto named = [&](const char* way) {
            return participant->create_topic(topic + way, type.get_type_name(), dds::TOPIC_QOS_DEFAULT);
        };
        auto* there = named("/there");
        auto* back = named("/back");
        writer_ = participant->create_publisher(dds::PUBLISHER_QOS_DEFAULT)
                      ->create_datawriter(end == End::near ? there : back, all_are_kept<dds::DataWriterQos>());
        reader_ = participant->create_subscriber(dds::SUBSCRIBER_QOS_DEFAULT)
                      ->create_datareader(end == End::near ? back : there, all_are_kept<dds::DataReaderQos>());
        insist(writer_ != nullptr && reader_ != nullptr, "create_datawriter or create_datareader");
        for (Spin spin; !matched(); spin.wait()) continue;
    }

    template <typename Write>
    void send(Write&& write) {
        write(std::span{bytes_});
        while (!writer_->write(&bytes_)) continue;  // it gives up when its history has been full for 0.1 s
    }

    template <typename Read>
    void receive(Read&& read) {
        dds::SampleInfo info;
        while (reader_->take_next_sample(&bytes_, &info) != ReturnCode_t::RETCODE_OK) {
            reader_->wait_for_unread_message({1, 0});
        }
        read(std::span<const std::byte>{bytes_});
    }

private:
    static dds::DomainParticipantQos participant_qos() {
        dds::DomainParticipantQos qos;
        if (over == Over::default_transports) return qos;
        qos.transport().use_builtin_transports = false;
        qos.transport().user_transports.push_back(
            std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>());
        return qos;
    }

    template <typename Qos>
    static Qos all_are_kept() {
        Qos qos;
        if (over == Over::udp) qos.data_sharing().off();
        qos.reliability().kind = dds::RELIABLE_RELIABILITY_QOS;
        qos.history().kind = dds::KEEP_ALL_HISTORY_QOS;
        qos.resource_limits().max_samples = 100;
        qos.resource_limits().max_samples_per_instance = 100;
        qos.resource_limits().allocated_samples = 10;
        return qos;
    }

    bool matched() {
        dds::PublicationMatchedStatus written;
        dds::SubscriptionMatchedStatus read;
        writer_->get_publication_matched_status(written);
        reader_->get_subscription_matched_status(read);
        return written.current_count > 0 && read.current_count > 0;
    }

    Bytes bytes_;
    dds::DataWriter* writer_ = nullptr;
    dds::DataReader* reader_ = nullptr;
};

}  // namespace tacholog::perf::fastdds
