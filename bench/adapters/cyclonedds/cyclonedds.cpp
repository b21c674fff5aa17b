// Cyclone DDS over UDP (IPv4), with a topic of octets. The publisher's thread serialises and sends messages. On the
// subscriber's side, a thread of the library receives them. Within a process, the number of a domain is local, and each
// end uses a different one. On the network, all ends of a channel are in the same domain.
//
// The setting `reliability` decides what is guaranteed. Messages that arrive are always complete and in order.
// - `reliable`: RELIABLE and KEEP_ALL. The reader keeps up to `max-samples` messages that were not taken, and the
//   writer up to `writer-bytes`. If there are more, the writer waits. This is the default here, as for the library's
//   writers and for ROS 2.
// - `best-effort`: the library's defaults for readers and histories, which are BEST_EFFORT and KEEP_LAST of `depth`.
// The payload is copied: it is serialised from a sample of the application, and deserialised into another one.
#include <dds/dds.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "adapters/cyclonedds/ends.hpp"

namespace tacholog::transports {
namespace {

using namespace cyclonedds;

/// Accepts the words "reliable" and "best-effort". The setting does not list these words as its values, because the
/// tests over all transports would then also use best effort, which loses some of the messages that they send at once.
Result<void> reliability_word(std::string_view value) {
    if (value == "reliable" || value == "best-effort") return {};
    return Error{"neither reliable nor best-effort"};
}

constexpr std::array settings{
    Setting{.name = "reliability",
            .values = "WORD",
            .default_value = "reliable",
            .meaning = "reliable is RELIABLE and KEEP_ALL: nothing is overwritten, and the publisher waits; "
                       "best-effort is BEST_EFFORT and KEEP_LAST, the library's defaults for readers and histories",
            .check = reliability_word},
    Setting{.name = "depth",
            .values = "N",
            .default_value = "1",
            .meaning = "how many messages of each instance KEEP_LAST keeps; 1 is the library's default",
            .check = whole_number<1, 10'000>},
    Setting{.name = "max-samples",
            .values = "N",
            .default_value = "400",
            .meaning = "how many messages a KEEP_ALL reader holds until they are taken; if they are large, as many as "
                       "fit into 32 MiB, but at least 4; by default, the library has no limit",
            .check = whole_number<1, 100'000>},
    // The authors advise 65500B, and 500kB for WhcHigh:
    // https://github.com/eclipse-cyclonedds/cyclonedds/blob/0.10.2/README.md, "Configuration".
    Setting{.name = "datagram-bytes",
            .values = "N",
            .default_value = "14720",
            .meaning = "the largest datagram (MaxMessageSize); 14720 is the library's default, its README has 65500",
            .check = whole_number<1500, 65'500>},
    Setting{.name = "writer-bytes",
            .values = "N",
            .default_value = "512000",
            .meaning = "how many bytes a writer holds that are not acknowledged, before it waits (WhcHigh); 512000 is "
                       "the library's default",
            .check = whole_number<1000, 1'000'000'000>},
};

bool is_reliable(const Settings& given) {
    return value_of(given, "reliability") == "reliable";
}

struct Octets {
    std::uint64_t instance;  ///< the key; only the type of keyed topics has this field
    dds_sequence_t bytes;
};

constexpr std::array<std::uint32_t, 3> plain_operations{operation(DDS_OP_ADR, DDS_OP_TYPE_SEQ, DDS_OP_SUBTYPE_1BY),
                                                        offsetof(Octets, bytes), DDS_OP_RTS};
constexpr std::array<std::uint32_t, 7> keyed_operations{
    operation(DDS_OP_ADR, DDS_OP_FLAG_KEY, DDS_OP_FLAG_MU, DDS_OP_TYPE_8BY),
    offsetof(Octets, instance),
    operation(DDS_OP_ADR, DDS_OP_TYPE_SEQ, DDS_OP_SUBTYPE_1BY),
    offsetof(Octets, bytes),
    DDS_OP_RTS,
    operation(DDS_OP_KOF, 1),
    0};
constexpr std::array<dds_key_descriptor_t, 1> keys{{{"instance", 5, 0}}};
constexpr dds_topic_descriptor_t plain_type{.m_size = sizeof(Octets),
                                            .m_align = alignof(Octets),
                                            .m_flagset = 0,
                                            .m_nkeys = 0,
                                            .m_typename = "tacholog::Octets",
                                            .m_keys = nullptr,
                                            .m_nops = 2,
                                            .m_ops = plain_operations.data(),
                                            .m_meta = "",
                                            .type_information = {nullptr, 0},
                                            .type_mapping = {nullptr, 0},
                                            .restrict_data_representation = 0};
constexpr dds_topic_descriptor_t keyed_type{.m_size = sizeof(Octets),
                                            .m_align = alignof(Octets),
                                            .m_flagset = DDS_TOPIC_FIXED_KEY | DDS_TOPIC_FIXED_KEY_XCDR2,
                                            .m_nkeys = 1,
                                            .m_typename = "tacholog::KeyedOctets",
                                            .m_keys = keys.data(),
                                            .m_nops = 3,
                                            .m_ops = keyed_operations.data(),
                                            .m_meta = "",
                                            .type_information = {nullptr, 0},
                                            .type_mapping = {nullptr, 0},
                                            .restrict_data_representation = 0};

Qos qos_of(const Topic& topic, bool writes) {
    constexpr std::size_t most_bytes = std::size_t{32} * 1024 * 1024;
    constexpr std::size_t least = 4;
    constexpr dds_duration_t longest_block = DDS_MSECS(1);  // the publisher calls again if it must wait longer
    Qos qos{::dds_create_qos(), &::dds_delete_qos};
    if (!is_reliable(topic.settings)) {
        ::dds_qset_reliability(qos.get(), DDS_RELIABILITY_BEST_EFFORT, 0);
        ::dds_qset_history(qos.get(), DDS_HISTORY_KEEP_LAST,
                           static_cast<std::int32_t>(number_of(topic.settings, "depth")));
        return qos;
    }
    ::dds_qset_reliability(qos.get(), DDS_RELIABILITY_RELIABLE, longest_block);
    ::dds_qset_history(qos.get(), DDS_HISTORY_KEEP_ALL, DDS_LENGTH_UNLIMITED);
    const std::size_t fit = std::max(least, most_bytes / topic.max_bytes);
    const std::size_t samples = std::min<std::size_t>(number_of(topic.settings, "max-samples"), fit);
    if (!writes)
        ::dds_qset_resource_limits(qos.get(), static_cast<std::int32_t>(samples), DDS_LENGTH_UNLIMITED,
                                   DDS_LENGTH_UNLIMITED);
    return qos;
}

const dds_topic_descriptor_t& type_of(const Topic& topic) {
    return topic.instances ? keyed_type : plain_type;
}

std::string limits_of(const Topic& topic) {
    return "<General><MaxMessageSize>" + value_of(topic.settings, "datagram-bytes") +
           "B</MaxMessageSize></General><Internal><Watermarks><WhcHigh>" + value_of(topic.settings, "writer-bytes") +
           "B</WhcHigh></Watermarks></Internal>";
}

class UdpPublisher final : public Publisher {
public:
    UdpPublisher(const Topic& topic, std::size_t subscribers)
        : Publisher(topic.max_bytes),
          channel_(topic.channel),
          is_keyed_(topic.instances.has_value()),
          is_reliable_(is_reliable(topic.settings)),
          writer_(subscribers) {}
    ~UdpPublisher() override {
        // Without this wait, messages that are still on their way would be lost when the writer is deleted. If a reader
        // has left, waiting is useless.
        if (writer_.get() > 0 && is_reliable_ && !writer_.left()) ::dds_wait_for_acks(writer_.get(), DDS_SECS(1));
    }

    Result<void> open(const Topic& topic) {
        return writer_.open(topic, type_of(topic), limits_of(topic), qos_of(topic, true));
    }

    Result<Done> match(Patience patience) override { return writer_.match(patience); }
    Facts facts() const override { return library_facts(); }

private:
    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        buffer_.resize(bytes);
        return std::span{buffer_};
    }

    Result<Done> commit(Patience patience) override {
        const Error gone{"publish on " + channel_ + ": the subscriber is gone"};
        if (writer_.left_now_and_then()) return gone;
        const auto length = static_cast<std::uint32_t>(buffer_.size());
        const Octets sample{is_keyed_ ? instance_of(buffer_) : 0,
                            {length, length, reinterpret_cast<std::uint8_t*>(buffer_.data()), false}};
        const Deadline deadline{patience};
        while (true) {
            const dds_return_t code = ::dds_write(writer_.get(), &sample);
            if (code == DDS_RETCODE_OK) return Done::yes;
            if (code != DDS_RETCODE_TIMEOUT) return failed("publish on " + channel_, code);
            if (writer_.left()) return gone;
            if (deadline.passed()) return Done::not_yet;
        }
    }

    void abandon() noexcept override {}

    std::string channel_;
    bool is_keyed_;
    bool is_reliable_;
    Writer writer_;
    std::vector<std::byte> buffer_;
};

class UdpSubscriber final : public Reader {
public:
    explicit UdpSubscriber(const Topic& topic) : Reader(topic, is_reliable(topic.settings)) {}
    ~UdpSubscriber() override { ::dds_free(sample_.bytes._buffer); }

private:
    void* sample_memory() override { return &sample_; }
    std::span<const std::byte> bytes() const override {
        return std::span{reinterpret_cast<const std::byte*>(sample_.bytes._buffer), sample_.bytes._length};
    }

    Octets sample_{};
};

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    auto subscriber = std::make_unique<UdpSubscriber>(topic);
    auto done = subscriber->open(topic, type_of(topic), limits_of(topic), qos_of(topic, false));
    if (!done) return done.error();
    return std::unique_ptr<Subscriber>{std::move(subscriber)};
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, const Endpoints& endpoints) {
    if (auto known = of_this_run(topic, endpoints); !known) return known.error();
    auto publisher = std::make_unique<UdpPublisher>(topic, endpoints.size());
    if (auto done = publisher->open(topic); !done) return done.error();
    return std::unique_ptr<Publisher>{std::move(publisher)};
}

void adjust(Transport& promised, const Settings& given) {
    if (!is_reliable(given)) promised.reliability = Reliability::best_effort;
}

}  // namespace

extern const Transport cyclonedds_udp{
    .name = "cyclonedds-udp",
    .summary = "Cyclone DDS over UDP, IPv4; reliable unless set otherwise",
    .data_path = "copy",
    .reliability = Reliability::reliable,
    .reach = Reach::network,
    .subscribe = subscribe,
    .advertise = advertise,
    .reaches_several = true,
    .settings = settings,
    .adjust = adjust,
    .way = Way::udp,
};

}  // namespace tacholog::transports
