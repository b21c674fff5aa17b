// Cyclone DDS over shared memory. iceoryx transfers the samples; UDP (IPv4) is used only for discovery. The run starts
// and ends RouDi, the daemon of iceoryx; see adapters/roudi.hpp.
//
// This transport is best effort, although the writer is RELIABLE. Over shared memory, the library supports only
// KEEP_LAST: it silently overwrites samples that are not taken in time. At full rate, this happens to most samples.
// With KEEP_ALL, the library would silently use UDP. Messages that arrive are complete and in order. Keys are
// instances.
// The payload is written in place, in a sample that the library loans. The library loans only samples of fixed size, so
// our type has the size of the largest message. The payload is copied once, when it is taken, because the C interface
// cannot lend a received sample.
#include <dds/dds.h>
#include <dds/ddsc/dds_loan_api.h>

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "adapters/cyclonedds/ends.hpp"
#include "adapters/roudi.hpp"

namespace tacholog::transports {
namespace {

using namespace cyclonedds;

constexpr std::array settings{
    Setting{.name = "depth",
            .values = "N",
            .default_value = "1",
            .meaning = "how many messages of each instance KEEP_LAST keeps; if they are large, as many as fit into 8 "
                       "MiB, but at least 4; 1 is the library's default",
            .check = whole_number<1, 100>},
};

/// The header before the bytes of each message. It states the length of the message, because each sample has the size
/// of the topic's largest message.
struct Head {
    std::uint64_t instance;  ///< the key of a sample; used only for keyed topics
    std::uint64_t length;
};

class FixedType {
public:
    explicit FixedType(const Topic& topic)
        : keyed_(topic.instances.has_value()),
          operations_{operation(DDS_OP_ADR, DDS_OP_TYPE_8BY),
                      offsetof(Head, instance),
                      operation(DDS_OP_ADR, DDS_OP_TYPE_8BY),
                      offsetof(Head, length),
                      operation(DDS_OP_ADR, DDS_OP_TYPE_ARR, DDS_OP_SUBTYPE_1BY),
                      sizeof(Head),
                      static_cast<std::uint32_t>(topic.max_bytes),
                      DDS_OP_RTS,
                      operation(DDS_OP_KOF, 1),
                      0} {
        if (keyed_) operations_[0] |= operation(DDS_OP_FLAG_KEY, DDS_OP_FLAG_MU);
    }

    /// The descriptor is valid as long as this object exists.
    dds_topic_descriptor_t get() const {
        const std::uint32_t flags = keyed_ ? DDS_TOPIC_FIXED_KEY | DDS_TOPIC_FIXED_KEY_XCDR2 : 0;
        return {.m_size = static_cast<std::uint32_t>(sizeof(Head)) + operations_[6],
                .m_align = alignof(Head),
                .m_flagset = DDS_TOPIC_FIXED_SIZE | flags,
                .m_nkeys = keyed_ ? 1U : 0U,
                .m_typename = keyed_ ? "tacholog::KeyedBlock" : "tacholog::Block",
                .m_keys = keyed_ ? keys_.data() : nullptr,
                .m_nops = keyed_ ? 4U : 3U,
                .m_ops = operations_.data(),
                .m_meta = "",
                .type_information = {nullptr, 0},
                .type_mapping = {nullptr, 0},
                .restrict_data_representation = 0};
    }

private:
    static constexpr std::array<dds_key_descriptor_t, 1> keys_{{{"instance", 8, 0}}};
    bool keyed_;
    std::array<std::uint32_t, 10> operations_;
};

const std::string over_shared_memory = "<SharedMemory><Enable>true</Enable><LogLevel>off</LogLevel></SharedMemory>";

Qos qos_of(const Topic& topic) {
    Qos qos{::dds_create_qos(), &::dds_delete_qos};
    ::dds_qset_reliability(qos.get(), DDS_RELIABILITY_RELIABLE, DDS_MSECS(100));
    const std::size_t depth = queue_of(topic.max_bytes, number_of(topic.settings, "depth"));
    ::dds_qset_history(qos.get(), DDS_HISTORY_KEEP_LAST, static_cast<std::int32_t>(depth));
    return qos;
}

Result<void> goes_by_shared_memory(dds_entity_t end) {
    if (::dds_is_loan_available(end)) return {};
    return Error{"Cyclone DDS would take UDP: no shared memory (is it built with iceoryx, and does RouDi have room?)"};
}

class LoaningPublisher final : public Publisher {
public:
    LoaningPublisher(const Topic& topic, std::size_t subscribers)
        : Publisher(topic.max_bytes),
          channel_(topic.channel),
          is_keyed_(topic.instances.has_value()),
          writer_(subscribers) {}
    ~LoaningPublisher() override {
        // The writer must not leave before the reader's side has fetched the last samples. That side would no longer
        // know the writer, and would discard its samples. Nothing acknowledges the samples, so the writer waits for a
        // fixed time, which is long enough for a thread of the reader's side.
        constexpr Nanoseconds enough_ns = 200'000'000;
        if (published_ && !writer_.left()) sleep_until(now_ns() + enough_ns);
    }

    Result<void> open(const Topic& topic) {
        auto done = writer_.open(topic, FixedType{topic}.get(), over_shared_memory, qos_of(topic));
        return done ? goes_by_shared_memory(writer_.get()) : done;
    }

    Result<Done> match(Patience patience) override { return writer_.match(patience); }
    Facts facts() const override { return library_facts(); }

private:
    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        const dds_return_t code = ::dds_loan_sample(writer_.get(), &loaned_);
        if (code != DDS_RETCODE_OK) return failed("loan a sample of " + channel_, code);
        *static_cast<Head*>(loaned_) = {0, bytes};
        return std::span{static_cast<std::byte*>(loaned_) + sizeof(Head), bytes};
    }

    Result<Done> commit(Patience) override {
        if (writer_.left_now_and_then()) return Error{"publish on " + channel_ + ": the subscriber is gone"};
        auto* head = static_cast<Head*>(loaned_);
        if (is_keyed_) head->instance = instance_of({static_cast<std::byte*>(loaned_) + sizeof(Head), head->length});
        const dds_return_t code = ::dds_write(writer_.get(), loaned_);
        if (code != DDS_RETCODE_OK) return failed("publish on " + channel_, code);
        published_ = true;
        return Done::yes;
    }

    void abandon() noexcept override { ::dds_return_loan(writer_.get(), &loaned_, 1); }

    std::string channel_;
    bool is_keyed_;
    Writer writer_;
    bool published_ = false;
    void* loaned_ = nullptr;
};

class BlockSubscriber final : public Reader {
public:
    explicit BlockSubscriber(const Topic& topic)
        : Reader(topic, false), block_((sizeof(Head) + topic.max_bytes + sizeof(Head) - 1) / sizeof(Head)) {}

    Result<void> open(const Topic& topic) {
        auto done = Reader::open(topic, FixedType{topic}.get(), over_shared_memory, qos_of(topic));
        return done && !::dds_is_shared_memory_available(reader()) ? goes_by_shared_memory(reader()) : done;
    }

private:
    void* sample_memory() override { return block_.data(); }
    std::span<const std::byte> bytes() const override {
        return std::as_bytes(std::span{block_}).subspan(sizeof(Head), block_.front().length);
    }

    std::vector<Head> block_;  ///< the buffer for one sample; it consists of heads, because it needs their alignment
};

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    if (!RouDi::is_running()) return RouDi::not_running();
    auto subscriber = std::make_unique<BlockSubscriber>(topic);
    if (auto done = subscriber->open(topic); !done) return done.error();
    RouDi::end_without_farewell();
    return std::unique_ptr<Subscriber>{std::move(subscriber)};
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, const Endpoints& endpoints) {
    if (auto known = of_this_run(topic, endpoints); !known) return known.error();
    if (!RouDi::is_running()) return RouDi::not_running();
    auto publisher = std::make_unique<LoaningPublisher>(topic, endpoints.size());
    if (auto done = publisher->open(topic); !done) return done.error();
    RouDi::end_without_farewell();
    return std::unique_ptr<Publisher>{std::move(publisher)};
}

Result<std::unique_ptr<Companion>> start_companion(const RunPlan& plan) {
    // A sample may wait in two places, the queue of iceoryx and the history of the reader, hence the factor 2. The
    // library puts a header of its own before each sample.
    return RouDi::start(plan, {.queued = 2 * number_of(plan.settings, "depth"), .overhead_bytes = 256});
}

}  // namespace

extern const Transport cyclonedds_shm{
    .name = "cyclonedds-shm",
    .summary = "Cyclone DDS over shared memory of iceoryx, loaned to write, copied when taken; best effort",
    .data_path = "copy",
    .reliability = Reliability::best_effort,
    .reach = Reach::host,
    .subscribe = subscribe,
    .advertise = advertise,
    .reaches_several = true,
    .settings = settings,
    .way = Way::local,
    .start_companion = start_companion,
    .may_wait_for_the_dead = true,
};

}  // namespace tacholog::transports
