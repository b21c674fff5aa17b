// Fast DDS, with a topic of octets. Each end has its own participant, which threads of the library serve. There are two
// transports: shared memory, and UDP over IPv4.
//
// The settings decide what is guaranteed. Messages that arrive are complete and in order, except with data sharing.
// - `reliability=reliable`: RELIABLE and KEEP_ALL. The history is a queue of `max-samples`. If it is full, the
//   publisher waits. This is the default here, as for the library's writers and for ROS 2.
// - `reliability=best-effort`: the library's defaults for readers and histories, which are BEST_EFFORT and KEEP_LAST of
//   `depth`.
// - `data-sharing=on` (shared memory only): the reader reads from the writer's history. The settings are RELIABLE and
//   KEEP_ALL, but the result is best effort: version 2.9.1 acknowledges samples that the reader has not taken, so a
//   writer at full speed overtakes the reader (https://github.com/eProsima/Fast-DDS/issues/4715). Loaned samples may
//   change while they are read. If the writer ends, samples that were not taken are lost.
// With `buffers=copy`, the payload is serialised into the history and deserialised from it. With `buffers=loan`, it is
// written and read in place. Without data sharing, it is also copied into the shared memory segment of the transport
// and out of it.
// A side that is killed leaves files of the library in /dev/shm; `fastdds shm clean` removes them.
#include "adapters/fastdds/participant.hpp"

namespace tacholog::transports {
namespace {

using namespace fastdds;

class FastddsPublisher final : public Publisher {
public:
    FastddsPublisher(const Topic& topic, std::size_t subscribers)
        : Publisher(topic.max_bytes),
          channel_(topic.channel),
          expected_(static_cast<std::int32_t>(subscribers)),
          loans_(value_of(topic.settings, buffers.name) == "loan"),
          reliable_(is_reliable(topic.settings)) {}
    ~FastddsPublisher() override {
        if (!loans_) copied_.clear();
        // Without this wait, messages that are still on their way would be lost when the history is deleted. If a
        // reader has left, waiting is useless.
        if (writer_ != nullptr && reliable_ && !left()) writer_->wait_for_acknowledgments(duration(Patience{1000}));
        if (writer_ != nullptr) participant_->stay_if_a_peer_was_killed(matched() > 0);
    }

    Result<void> open(const Topic& topic, const Meeting& meeting) {
        auto participant = Participant::create(topic, meeting);
        if (!participant) return participant.error();
        participant_ = std::move(*participant);
        dds::DataWriterQos qos;
        set_history(qos, topic);
        qos.reliable_writer_qos().times.heartbeatPeriod =
            duration(Patience{static_cast<double>(number_of(topic.settings, heartbeat.name))});
        auto* publisher = (*participant_)->create_publisher(dds::PUBLISHER_QOS_DEFAULT);
        if (publisher != nullptr) writer_ = publisher->create_datawriter(participant_->topic(), qos);
        if (writer_ == nullptr) return Error{"create a writer of Fast DDS for " + channel_};
        return {};
    }

    Result<Done> match(Patience patience) override {
        const Deadline deadline{patience};
        while (matched() < expected_) {
            if (deadline.passed()) return Done::not_yet;
            sleep_until(now_ns() + nap_ns);
        }
        return Done::yes;
    }

    Facts facts() const override { return library_facts(); }

private:
    static constexpr int sends_a_look = 64;
    static constexpr Nanoseconds nap_ns = 200'000;

    std::int32_t matched() const {
        dds::PublicationMatchedStatus status;
        writer_->get_publication_matched_status(status);
        return status.current_count;
    }
    bool left() const { return matched() < expected_; }

    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        if (!loans_) {
            copied_.resize(bytes);
            return std::span{copied_};
        }
        const auto code = writer_->loan_sample(loaned_);
        if (code != ReturnCode_t::RETCODE_OK) return failed("loan " + std::to_string(bytes) + " bytes", code);
        Slot& slot = *static_cast<Slot*>(loaned_);
        slot.bytes = static_cast<std::uint32_t>(bytes);
        return std::span{slot.data(), bytes};
    }

    Result<Done> commit(Patience patience) override {
        if (++sends_ % sends_a_look == 0 && left()) return gone();
        const Deadline deadline{patience};
        while (true) {
            const auto code = writer_->write(loans_ ? loaned_ : &copied_, rtps::c_InstanceHandle_Unknown);
            if (code == ReturnCode_t::RETCODE_OK) return Done::yes;
            // The call above has waited for room, for at most max_blocking_time (0.1 s).
            if (code != ReturnCode_t::RETCODE_TIMEOUT && code != ReturnCode_t::RETCODE_OUT_OF_RESOURCES)
                return failed("publish on " + channel_, code);
            if (left()) return gone();
            if (deadline.passed()) return Done::not_yet;
        }
    }

    void abandon() noexcept override {
        if (loans_) writer_->discard_loan(loaned_);
    }

    Error gone() const { return Error{"publish on " + channel_ + ": the subscriber is gone"}; }

    std::string channel_;
    std::int32_t expected_;
    bool loans_;
    bool reliable_;
    std::unique_ptr<Participant> participant_;
    dds::DataWriter* writer_ = nullptr;
    Copied copied_;
    void* loaned_ = nullptr;
    int sends_ = 0;
};

class FastddsSubscriber final : public Subscriber {
public:
    explicit FastddsSubscriber(const Topic& topic)
        : channel_(topic.channel),
          waiting_(topic.waiting),
          loans_(value_of(topic.settings, buffers.name) == "loan"),
          max_bytes_(topic.max_bytes) {}
    ~FastddsSubscriber() override {
        if (reader_ == nullptr) return;
        set_.detach_condition(reader_->get_statuscondition());
        participant_->stay_if_a_peer_was_killed(matched() > 0);
    }

    Result<void> open(const Topic& topic, const Meeting& meeting, std::string endpoint) {
        auto participant = Participant::create(topic, meeting);
        if (!participant) return participant.error();
        participant_ = std::move(*participant);
        endpoint_ = std::move(endpoint);
        is_reliable_ = is_reliable(topic.settings);
        dds::DataReaderQos qos;
        set_history(qos, topic);
        auto* subscriber = (*participant_)->create_subscriber(dds::SUBSCRIBER_QOS_DEFAULT);
        if (subscriber != nullptr) reader_ = subscriber->create_datareader(participant_->topic(), qos);
        if (reader_ == nullptr) return Error{"create a reader of Fast DDS for " + channel_};
        dds::StatusMask awaited = dds::StatusMask::data_available();
        awaited << dds::StatusMask::subscription_matched();
        reader_->get_statuscondition().set_enabled_statuses(awaited);
        set_.attach_condition(reader_->get_statuscondition());
        return {};
    }

    std::string endpoint() const override { return endpoint_; }

    Result<Done> match(Patience patience) override {
        const Deadline deadline{patience};
        while (matched() == 0) {
            if (deadline.passed()) return Done::not_yet;
            wait(deadline.left());
        }
        return Done::yes;
    }

    Facts facts() const override { return library_facts(); }

private:
    std::int32_t matched() const {
        dds::SubscriptionMatchedStatus status;
        reader_->get_subscription_matched_status(status);
        return status.current_count;
    }

    void wait(Patience patience) {
        dds::ConditionSeq active;
        set_.wait(active, duration(patience));
    }

    Result<std::span<const std::byte>> receive(Patience patience) override {
        auto came = take();
        for (BusyPoll poll{patience, waiting_}; is_not_yet_done(came) && poll.wait();) came = take();
        const Nanoseconds deadline = now_ns() + to_nanoseconds(patience);
        bool is_gone = false;
        while (is_not_yet_done(came)) {
            if (is_gone) return Error{"take from " + channel_ + ": the publisher is gone"};
            is_gone = is_reliable_ && matched() == 0;
            const Nanoseconds left = deadline - now_ns();
            if (!is_gone) {
                if (!sleeps(waiting_) || left <= 0) break;
                wait(Patience{static_cast<double>(left) / 1e6});
            }
            came = take();
        }
        if (!came.has_value()) return came.error();
        if (*came == Done::not_yet) return std::span<const std::byte>{};
        return bytes_;
    }

    Result<Done> take() {
        const auto code = loans_ ? take_loaned() : reader_->take_next_sample(&copied_, &info_);
        if (code == ReturnCode_t::RETCODE_NO_DATA) return Done::not_yet;
        if (code != ReturnCode_t::RETCODE_OK) return failed("take from " + channel_, code);
        const bool is_valid = loans_ ? infos_[0].valid_data : info_.valid_data;
        if (!is_valid) {  // an invalid sample only reports that the writer has left
            release();
            return Done::not_yet;
        }
        if (!loans_) {
            bytes_ = copied_;
            return Done::yes;
        }
        Slot& slot = *static_cast<Slot*>(const_cast<void*>(slots_.buffer()[0]));
        if (slot.bytes > max_bytes_) {
            release();
            return Error{"take from " + channel_ + ": a message of " + std::to_string(slot.bytes) + " bytes"};
        }
        bytes_ = {slot.data(), static_cast<std::size_t>(slot.bytes)};
        return Done::yes;
    }

    ReturnCode_t take_loaned() { return reader_->take(slots_, infos_, 1); }

    void release() noexcept override {
        if (loans_) reader_->return_loan(slots_, infos_);
    }

    std::string channel_;
    Waiting waiting_;
    bool loans_;
    std::size_t max_bytes_;
    bool is_reliable_ = false;
    std::unique_ptr<Participant> participant_;
    dds::DataReader* reader_ = nullptr;
    dds::WaitSet set_;
    std::string endpoint_;
    Copied copied_;
    dds::SampleInfo info_;
    dds::LoanableSequence<Slot> slots_;
    dds::SampleInfoSeq infos_;
    std::span<const std::byte> bytes_;
};

Result<std::unique_ptr<Subscriber>> subscribe_shm(const Topic& topic) {
    auto subscriber = std::make_unique<FastddsSubscriber>(topic);
    if (auto done = subscriber->open(topic, {Over::shm}, topic.channel); !done) return done.error();
    return std::unique_ptr<Subscriber>{std::move(subscriber)};
}

Result<std::unique_ptr<Publisher>> advertise_shm(const Topic& topic, const Endpoints& endpoints) {
    if (auto fine = check_endpoints(topic, endpoints); !fine) return fine.error();
    auto publisher = std::make_unique<FastddsPublisher>(topic, endpoints.size());
    if (auto done = publisher->open(topic, {Over::shm}); !done) return done.error();
    return std::unique_ptr<Publisher>{std::move(publisher)};
}

Result<Address> free_udp_port(const std::string& host) {
    const auto where = parse_address(host, 0);
    if (!where || where->family() != AF_INET)
        return Error{"meet at " + host + ": this adapter to Fast DDS takes IPv4 alone"};
    const Fd socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    if (!socket || ::bind(socket.get(), where->get(), where->length()) != 0) return os_error("bind UDP to " + host);
    return local_address(socket);
}

Result<std::unique_ptr<Subscriber>> subscribe_udp(const Topic& topic) {
    const auto own = free_udp_port(topic.local_address);
    if (!own) return own.error();
    auto subscriber = std::make_unique<FastddsSubscriber>(topic);
    if (auto done = subscriber->open(topic, {Over::udp, *own}, IpEndpoint{*own, 0}.text()); !done) return done.error();
    return std::unique_ptr<Subscriber>{std::move(subscriber)};
}

Result<std::unique_ptr<Publisher>> advertise_udp(const Topic& topic, const Endpoints& endpoints) {
    Meeting meeting{Over::udp};
    for (const std::string& endpoint : endpoints) {
        const auto found = subscriber_at(endpoint, topic, "Fast DDS");
        if (!found) return found.error();
        meeting.subscribers.push_back(found->address);
    }
    auto publisher = std::make_unique<FastddsPublisher>(topic, endpoints.size());
    if (auto done = publisher->open(topic, meeting); !done) return done.error();
    return std::unique_ptr<Publisher>{std::move(publisher)};
}

void adjust(Transport& promised, const Settings& given) {
    if (!is_reliable(given) || shares_data(given)) promised.reliability = Reliability::best_effort;
    if (shares_data(given) && value_of(given, buffers.name) == "loan") promised.data_path = "zero-copy";
}

Result<void> ready_shm(const RunPlan& plan) {
    if (!plan.instances || !shares_data(plan.settings)) return {};
    return Error{"--instances: data sharing of Fast DDS takes no topics with keys: leave out --set data-sharing=on"};
}

}  // namespace

extern const Transport fastdds_shm{
    .name = "fastdds-shm",
    .summary = "Fast DDS between processes of one host, over shared memory; reliable unless set otherwise",
    .data_path = "copy",
    .reliability = Reliability::reliable,
    .reach = Reach::host,
    .subscribe = subscribe_shm,
    .advertise = advertise_shm,
    .reaches_several = true,
    .settings = shm_settings,
    .adjust = adjust,
    .way = Way::local,
    .ready = ready_shm,
    .may_wait_for_the_dead = true,
};

extern const Transport fastdds_udp{
    .name = "fastdds-udp",
    .summary = "Fast DDS over UDP, IPv4; reliable unless set otherwise",
    .data_path = "copy",
    .reliability = Reliability::reliable,
    .reach = Reach::network,
    .subscribe = subscribe_udp,
    .advertise = advertise_udp,
    .reaches_several = true,
    .settings = udp_settings,
    .adjust = adjust,
    .way = Way::udp,
    .endpoint_at = ip_endpoint_at,
};

}  // namespace tacholog::transports
