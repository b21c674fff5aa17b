// Cyclone DDS: a topic of octets over UDP (IPv4). The publisher's thread serialises and sends; the library's thread at
// the subscriber receives. Each end is a domain of its own in its process, which the network sees as one.
//
// What it guarantees depends on the setting `reliability`; messages stay in order and whole with both.
//   reliable      RELIABLE and KEEP_ALL: the reader holds `max-samples` that were not taken, the writer as many bytes
//   as
//                 `writer-bytes`; a writer beyond that waits. The default of this adapter, as that of the library's
//                 writers and of ROS 2.
//   best-effort   as readers and histories are by themselves: BEST_EFFORT, KEEP_LAST of `depth`.
// The payload is copied: serialised from a sample of the application's, and deserialised into one. Shared memory (by
// iceoryx) is not here: with KEEP_ALL the library goes back to UDP in silence, with KEEP_LAST it loses messages.
#include <dds/dds.h>
#include <dds/version.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

#include "core/waiting.hpp"
#include "transports/transport.hpp"

namespace tacholog::transports {
namespace {

/// Not a list of words: the tests over all transports ask for more than best effort gives at once.
Result<void> reliability_word(std::string_view value) {
    if (value == "reliable" || value == "best-effort") return {};
    return Error{"neither reliable nor best-effort"};
}

constexpr std::array settings{
    Setting{.name = "reliability",
            .values = "WORD",
            .default_value = "reliable",
            .meaning =
                "reliable is RELIABLE and KEEP_ALL: nothing is overwritten, and the publisher waits; best-effort "
                "is BEST_EFFORT and KEEP_LAST, as the library's readers and histories are by themselves",
            .check = reliability_word},
    Setting{.name = "depth",
            .values = "N",
            .default_value = "1",
            .meaning = "how many messages of each instance KEEP_LAST keeps; 1 is the library's default",
            .check = whole_number<1, 10'000>},
    Setting{.name = "max-samples",
            .values = "N",
            .default_value = "400",
            .meaning = "how many messages a KEEP_ALL reader holds that were not taken, of large ones as many as fit "
                       "into 32 MiB, at least 4; the library itself sets no limit",
            .check = whole_number<1, 100'000>},
    // https://github.com/eclipse-cyclonedds/cyclonedds/blob/0.10.2/README.md, "Configuration": 65500B, WhcHigh 500kB.
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

// What idlc, the library's generator, would write: it needs a compiler of C, and these types are small.
struct Octets {
    std::uint64_t instance;  ///< of keyed topics; else not part of the type
    dds_sequence_t bytes;
};

constexpr std::uint32_t operation(auto... parts) {
    return (static_cast<std::uint32_t>(parts) | ...);
}

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

Error failed(const std::string& operation, dds_return_t code) {
    return Error{operation + ": " + ::dds_strretcode(code)};
}

Facts library_facts() {
    Facts facts;
    add_fact(facts, library_key, "Cyclone DDS");
    add_fact(facts, library_version_key, DDS_VERSION);
    return facts;
}

/// Without multicast, which the loopback has only where somebody has set it up: the subscriber calls at the publisher's
/// host, whose address it has from --address. Runs keep apart by a domain each, and by the names of topics.
std::string configuration(const Topic& topic) {
    constexpr std::uint32_t domains = 200;  // with more of them, ports of discovery pass 65535
    std::uint32_t sum = 2166136261U;
    for (const char letter : topic.channel) sum = (sum ^ static_cast<unsigned char>(letter)) * 16777619U;
    std::string text = "<CycloneDDS><Domain id=\"any\"><General><Interfaces><NetworkInterface address=\"" +
                       topic.local_address + "\"/></Interfaces><AllowMulticast>false</AllowMulticast><MaxMessageSize>" +
                       value_of(topic.settings, "datagram-bytes") + "B</MaxMessageSize></General><Discovery>" +
                       "<ExternalDomainId>" + std::to_string(1 + sum % domains) + "</ExternalDomainId>" +
                       "<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>100</MaxAutoParticipantIndex>"
                       "<Peers><Peer address=\"" +
                       topic.peer_address + "\"/>";
    if (topic.peer_address != topic.local_address) text += "<Peer address=\"" + topic.local_address + "\"/>";
    return text + "</Peers></Discovery><Internal><Watermarks><WhcHigh>" + value_of(topic.settings, "writer-bytes") +
           "B</WhcHigh></Watermarks></Internal></Domain></CycloneDDS>";
}

/// A participant with its topic, in a domain of its own.
class Participant {
public:
    Participant() = default;
    Participant(const Participant&) = delete;
    Participant& operator=(const Participant&) = delete;
    ~Participant() {
        if (domain_ > 0) ::dds_delete(domain_);
    }

    Result<void> open(const Topic& topic) {
        static std::atomic<dds_domainid_t> opened{0};
        constexpr dds_domainid_t domains = 230;
        for (const std::string& host : {topic.local_address, topic.peer_address}) {
            const auto address = parse_address(host, 0);
            if (!address || address->family() != AF_INET)
                return Error{"meet at " + host + ": this adapter to Cyclone DDS takes IPv4 alone"};
        }
        ::dds_set_log_mask(DDS_LC_FATAL);
        const dds_domainid_t id = opened++ % domains;
        domain_ = ::dds_create_domain(id, configuration(topic).c_str());
        if (domain_ < 0) return failed("create a domain of Cyclone DDS", domain_);
        participant_ = ::dds_create_participant(id, nullptr, nullptr);
        if (participant_ < 0) return failed("create a participant of Cyclone DDS", participant_);
        std::string name = topic.channel;  // it takes no '-'
        std::ranges::replace(name, '-', '_');
        topic_ = ::dds_create_topic(participant_, topic.instances ? &keyed_type : &plain_type, name.c_str(), nullptr,
                                    nullptr);
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

Qos qos_of(const Topic& topic, bool writes) {
    constexpr std::size_t most_bytes = std::size_t{32} * 1024 * 1024;
    constexpr std::size_t least = 4;
    constexpr dds_duration_t longest_block = DDS_MSECS(1);  // our patience is counted in such pieces
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

class CyclonePublisher final : public Publisher {
public:
    CyclonePublisher(const Topic& topic, std::size_t subscribers)
        : Publisher(topic.max_bytes),
          channel_(topic.channel),
          expected_(static_cast<std::uint32_t>(subscribers)),
          is_keyed_(topic.instances.has_value()),
          is_reliable_(is_reliable(topic.settings)) {}
    ~CyclonePublisher() override {
        // Without it, what is on its way goes with the writer. A reader that is gone takes nothing.
        if (writer_ > 0 && is_reliable_ && !left()) ::dds_wait_for_acks(writer_, DDS_SECS(1));
    }

    Result<void> open(const Topic& topic) {
        if (auto done = participant_.open(topic); !done) return done;
        const Qos qos = qos_of(topic, true);
        ::dds_qset_writer_data_lifecycle(qos.get(), false);
        writer_ = ::dds_create_writer(participant_.get(), participant_.topic(), qos.get(), nullptr);
        if (writer_ < 0) return failed("create a writer of Cyclone DDS", writer_);
        return {};
    }

    Result<bool> match(Patience patience) override {
        constexpr Nanoseconds nap_ns = 200'000;
        for (const Deadline deadline{patience}; left(); sleep_until(now_ns() + nap_ns))
            if (deadline.passed()) return false;
        return true;
    }

    Facts facts() const override { return library_facts(); }

private:
    static constexpr int sends_a_look = 64;

    bool left() const {
        dds_publication_matched_status_t status{};
        ::dds_get_publication_matched_status(writer_, &status);
        return status.current_count < expected_;
    }

    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        buffer_.resize(bytes);
        return std::span{buffer_};
    }

    Result<bool> commit(Patience patience) override {
        const Error gone{"publish on " + channel_ + ": the subscriber is gone"};
        if (++sends_ % sends_a_look == 0 && left()) return gone;
        const auto length = static_cast<std::uint32_t>(buffer_.size());
        const Octets sample{is_keyed_ ? instance_of(buffer_) : 0,
                            {length, length, reinterpret_cast<std::uint8_t*>(buffer_.data()), false}};
        const Deadline deadline{patience};
        while (true) {
            const dds_return_t code = ::dds_write(writer_, &sample);
            if (code == DDS_RETCODE_OK) return true;
            if (code != DDS_RETCODE_TIMEOUT) return failed("publish on " + channel_, code);
            if (left()) return gone;
            if (deadline.passed()) return false;
        }
    }

    void abandon() noexcept override {}

    std::string channel_;
    std::uint32_t expected_;
    bool is_keyed_;
    bool is_reliable_;
    Participant participant_;
    dds_entity_t writer_ = 0;
    std::vector<std::byte> buffer_;
    int sends_ = 0;
};

class CycloneSubscriber final : public Subscriber {
public:
    explicit CycloneSubscriber(const Topic& topic)
        : channel_(topic.channel), waiting_(topic.waiting), is_reliable_(is_reliable(topic.settings)) {}
    ~CycloneSubscriber() override { ::dds_free(sample_.bytes._buffer); }

    Result<void> open(const Topic& topic) {
        if (auto done = participant_.open(topic); !done) return done;
        const Qos qos = qos_of(topic, false);
        reader_ = ::dds_create_reader(participant_.get(), participant_.topic(), qos.get(), nullptr);
        if (reader_ < 0) return failed("create a reader of Cyclone DDS", reader_);
        ::dds_set_status_mask(reader_, DDS_DATA_AVAILABLE_STATUS | DDS_SUBSCRIPTION_MATCHED_STATUS);
        waitset_ = ::dds_create_waitset(participant_.get());
        ::dds_waitset_attach(waitset_, reader_, 0);
        return {};
    }

    std::string endpoint() const override { return channel_; }

    Result<bool> match(Patience patience) override {
        const Deadline deadline{patience};
        while (!has_publisher()) {
            if (deadline.passed()) return false;
            wait(to_nanoseconds(deadline.left()));
        }
        return true;
    }

    Facts facts() const override { return library_facts(); }

private:
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
        for (BusyPoll poll{patience, waiting_}; came && !*came && poll.wait();) came = take();
        const Nanoseconds deadline = now_ns() + to_nanoseconds(patience);
        bool is_gone = false;
        while (came && !*came) {
            if (is_gone) return Error{"take from " + channel_ + ": the publisher is gone"};
            is_gone = is_reliable_ && !has_publisher();
            const Nanoseconds left = deadline - now_ns();
            if (!is_gone) {
                if (!sleeps(waiting_) || left <= 0) break;
                wait(left);
            }
            came = take();
        }
        if (!came) return came.error();
        if (!*came) return std::span<const std::byte>{};
        return std::span{reinterpret_cast<const std::byte*>(sample_.bytes._buffer), sample_.bytes._length};
    }

    Result<bool> take() {
        void* sample = &sample_;
        dds_sample_info_t info{};
        const dds_return_t code = ::dds_take(reader_, &sample, &info, 1, 1);
        if (code < 0) return failed("take from " + channel_, code);
        return code == 1 && info.valid_data;  // else the writer has left
    }

    void release() noexcept override {}

    std::string channel_;
    Waiting waiting_;
    bool is_reliable_;
    Participant participant_;
    dds_entity_t reader_ = 0;
    dds_entity_t waitset_ = 0;
    Octets sample_{};
};

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    auto subscriber = std::make_unique<CycloneSubscriber>(topic);
    if (auto done = subscriber->open(topic); !done) return done.error();
    return std::unique_ptr<Subscriber>{std::move(subscriber)};
}

Result<std::unique_ptr<Publisher>> advertise_to_all(const Topic& topic, std::span<const std::string> endpoints) {
    for (const std::string& endpoint : endpoints)
        if (endpoint != topic.channel) return Error{"advertise to '" + endpoint + "': not a topic of this run"};
    auto publisher = std::make_unique<CyclonePublisher>(topic, endpoints.size());
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
    .advertise = advertise_to_one<advertise_to_all>,
    .advertise_to_all = advertise_to_all,
    .settings = settings,
    .adjust = adjust,
    .way = Way::udp,
};

}  // namespace tacholog::transports
