// Aeron sends messages as streams through ring buffers in shared memory. The buffers belong to a third process, the
// media driver, which the run starts and ends. With `aeron-ipc`, the subscriber reads from the memory that the
// publisher writes to. With `aeron-udp`, the driver sends the data over UDP to one of its own ports, and from there
// into another buffer.
//
// Both transports are reliable: each message arrives complete and in order. `aeron-ipc` reaches several subscribers,
// `aeron-udp` only one. A publisher that is too far ahead of the slowest subscriber waits for room. Lost UDP datagrams
// are sent again.
// By default, the publisher copies each message into the ring with `offer`. With `--set send=claim`, it writes a
// message of one fragment directly into the ring. The subscriber copies each message out of the ring, because a side
// may still need it when the ring has been overwritten. The library reassembles a message that is larger than a
// datagram in its own buffer, and this message is read there. Aeron has no keys, so the messages of all instances share
// one stream.
// Aeron can wait only by its idle strategies: a side that blocks takes naps of 1 us to 1 ms, like the library's
// `backoff` strategy.
#include <cinttypes>

#include <array>
#include <fstream>
#include <memory>
#include <utility>

extern "C" {
#include <aeron_agent.h>
#include <aeron_alloc.h>
#include <aeronc.h>
#include <protocol/aeron_udp_protocol.h>
}

#include "adapters/aeron/client.hpp"
#include "adapters/aeron/media_driver.hpp"
#include "adapters/aeron/settings.hpp"
#include "adapters/name_hash.hpp"
#include "adapters/sides.hpp"
#include "base/waiting.hpp"
#include "transports/ip_endpoint.hpp"
#include "transports/transport.hpp"

namespace tacholog::transports {
namespace {

using namespace tacholog::aeron;

Facts library_facts() {
    return facts_of_library("Aeron", ::aeron_version_text());
}

/// Within one run, each stream needs a number of its own. Two runs may use the same number, because each run has a
/// driver of its own.
std::int32_t stream_of(const Topic& topic) {
    constexpr std::uint64_t positive = 0x7fffffff;
    return static_cast<std::int32_t>(name_hash(topic.channel) & positive);
}

/// An idle strategy for sides that may sleep. It first spins a few times, then yields the CPU a few times, and then
/// sleeps. The sleeps become longer, up to 1 ms.
class Backoff {
public:
    Backoff() {
        ::aeron_idle_strategy_backoff_state_init(
            &state_, AERON_IDLE_STRATEGY_BACKOFF_MAX_SPINS, AERON_IDLE_STRATEGY_BACKOFF_MAX_YIELDS,
            AERON_IDLE_STRATEGY_BACKOFF_MIN_PARK_PERIOD_NS, AERON_IDLE_STRATEGY_BACKOFF_MAX_PARK_PERIOD_NS);
    }
    Backoff(const Backoff&) = delete;
    Backoff& operator=(const Backoff&) = delete;
    ~Backoff() { ::aeron_free(state_); }

    void idle() { ::aeron_idle_strategy_backoff_idle(state_, 0); }
    void reset() { ::aeron_idle_strategy_backoff_idle(state_, 1); }

private:
    void* state_ = nullptr;
};

template <class Attempt>
auto attempt_until(Patience patience, Waiting waiting, Backoff& backoff, Attempt&& attempt) -> decltype(attempt()) {
    auto made = attempt();
    for (BusyPoll poll{patience, waiting}; is_not_yet_done(made) && poll.wait();) made = attempt();
    if (!is_not_yet_done(made) || !sleeps(waiting) || patience.count() <= 0) return made;
    for (const Deadline deadline{patience}; is_not_yet_done(made) && !deadline.passed(); made = attempt())
        backoff.idle();
    backoff.reset();
    return made;
}

class AeronPublisher final : public Publisher {
public:
    AeronPublisher(const Topic& topic, std::shared_ptr<Client> client)
        : Publisher(topic.max_bytes),
          channel_(topic.channel),
          waiting_(topic.waiting),
          claims_(value_of(topic.settings, "send") == "claim"),
          client_(std::move(client)) {
        message_.reserve(topic.max_bytes);
    }
    /// An empty message tells the subscriber that this publisher leaves. The driver would report it only seconds later.
    ~AeronPublisher() override {
        if (publication_ == nullptr) return;
        constexpr Patience longest{200};
        message_.clear();
        if (::aeron_exclusive_publication_is_connected(publication_)) static_cast<void>(commit(longest));
        ::aeron_exclusive_publication_close(publication_, nullptr, nullptr);
    }

    Result<void> join(const std::string& uri, std::int32_t stream) {
        aeron_async_add_exclusive_publication_t* adding = nullptr;
        if (::aeron_async_add_exclusive_publication(&adding, client_->get(), uri.c_str(), stream) != 0)
            return aeron_error("advertise on " + uri);
        return until_done("advertise on " + uri,
                          [&] { return ::aeron_async_add_exclusive_publication_poll(&publication_, adding); });
    }

    Result<Done> match(Patience patience) override {
        constexpr Nanoseconds nap_ns = 200'000;
        for (const Deadline deadline{patience}; !::aeron_exclusive_publication_is_connected(publication_);
             sleep_until(now_ns() + nap_ns))
            if (deadline.passed()) return Done::not_yet;
        aeron_publication_constants_t constants{};
        ::aeron_exclusive_publication_constants(publication_, &constants);
        most_claimed_ = constants.max_payload_length;
        return Done::yes;
    }

    Facts facts() const override { return library_facts(); }

private:
    /// Loans a place in the ring, or a separate buffer if the ring is full or if the message has several fragments.
    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        if (claims_ && bytes <= most_claimed_ &&
            ::aeron_exclusive_publication_try_claim(publication_, bytes, &claim_) >= 0) {
            is_claimed_ = true;
            return std::span{reinterpret_cast<std::byte*>(claim_.data), claim_.length};
        }
        message_.resize(bytes);
        return std::span{message_};
    }

    Result<Done> commit(Patience patience) override {
        if (std::exchange(is_claimed_, false)) {
            if (::aeron_buffer_claim_commit(&claim_) != 0) return aeron_error("publish on " + channel_);
            return Done::yes;
        }
        return attempt_until(patience, waiting_, backoff_, [this] { return offer(); });
    }

    Result<Done> offer() {
        const std::int64_t position = ::aeron_exclusive_publication_offer(
            publication_, reinterpret_cast<const std::uint8_t*>(message_.data()), message_.size(), nullptr, nullptr);
        if (position >= 0) return Done::yes;
        // The ring is full, or the driver is preparing the next third of the ring. The next attempt can succeed.
        if (position == AERON_PUBLICATION_BACK_PRESSURED || position == AERON_PUBLICATION_ADMIN_ACTION)
            return Done::not_yet;
        if (position == AERON_PUBLICATION_NOT_CONNECTED || position == AERON_PUBLICATION_CLOSED)
            return Error{"publish on " + channel_ + ": the subscriber is gone"};
        return aeron_error("publish on " + channel_);
    }

    void abandon() noexcept override {
        if (std::exchange(is_claimed_, false)) ::aeron_buffer_claim_abort(&claim_);
    }

    std::string channel_;
    Waiting waiting_;
    bool claims_;
    std::shared_ptr<Client> client_;
    aeron_exclusive_publication_t* publication_ = nullptr;
    std::size_t most_claimed_ = 0;  ///< the largest message that fits into one fragment
    aeron_buffer_claim_t claim_{};
    bool is_claimed_ = false;
    Backoff backoff_;
    std::vector<std::byte> message_;
};

class AeronSubscriber final : public Subscriber {
public:
    AeronSubscriber(const Topic& topic, std::shared_ptr<Client> client)
        : channel_(topic.channel), endpoint_(topic.channel), waiting_(topic.waiting), client_(std::move(client)) {
        message_.reserve(topic.max_bytes);
    }
    ~AeronSubscriber() override {
        if (subscription_ != nullptr) ::aeron_subscription_close(subscription_, nullptr, nullptr);
        if (assembler_ != nullptr) ::aeron_controlled_fragment_assembler_delete(assembler_);
    }

    Result<void> join(const std::string& uri, std::int32_t stream) {
        if (::aeron_controlled_fragment_assembler_create(&assembler_, keep, this) != 0)
            return aeron_error("subscribe to " + uri);
        aeron_async_add_subscription_t* adding = nullptr;
        if (::aeron_async_add_subscription(&adding, client_->get(), uri.c_str(), stream, nullptr, nullptr, nullptr,
                                           nullptr) != 0)
            return aeron_error("subscribe to " + uri);
        return until_done("subscribe to " + uri,
                          [&] { return ::aeron_async_add_subscription_poll(&subscription_, adding); });
    }

    /// The kernel has chosen the port of the endpoint.
    Result<void> learn_endpoint() {
        std::array<char, 128> text{};
        const auto done = until_done("learn the port of " + channel_, [&] {
            return ::aeron_subscription_resolved_endpoint(subscription_, text.data(), text.size());
        });
        endpoint_ = text.data();
        return done;
    }

    std::string endpoint() const override { return endpoint_; }

    Result<Done> match(Patience patience) override {
        constexpr Nanoseconds nap_ns = 200'000;
        for (const Deadline deadline{patience}; ::aeron_subscription_image_count(subscription_) == 0;
             sleep_until(now_ns() + nap_ns))
            if (deadline.passed()) return Done::not_yet;
        if (aeron_image_t* image = ::aeron_subscription_image_at_index(subscription_, 0)) {
            aeron_image_constants_t constants{};
            ::aeron_image_constants(image, &constants);
            ::aeron_subscription_image_release(subscription_, image);
            mtu_bytes_ = constants.mtu_length;
        }
        return Done::yes;
    }

    Facts facts() const override { return library_facts(); }

private:
    Result<std::span<const std::byte>> receive(Patience patience) override {
        const auto came =
            attempt_until(patience, waiting_, backoff_, [this] { return left_ ? Result<Done>{Done::yes} : poll(); });
        if (!came.has_value()) return came.error();
        left_ = left_ || (*came == Done::yes && taken_.empty());
        if (left_) return Error{"take from " + channel_ + ": the publisher is gone"};
        if (*came == Done::yes) return taken_;
        if (!has_ended()) return std::span<const std::byte>{};
        const auto last = poll();
        if (!last.has_value()) return last.error();
        if (*last == Done::not_yet || taken_.empty()) return Error{"take from " + channel_ + ": the publisher is gone"};
        return taken_;
    }

    Result<Done> poll() {
        constexpr std::size_t most_fragments = 64;
        taken_ = {};
        const int fragments = ::aeron_subscription_controlled_poll(
            subscription_, ::aeron_controlled_fragment_assembler_handler, assembler_, most_fragments);
        if (fragments < 0) return aeron_error("take from " + channel_);
        return done_if(taken_.data() != nullptr);
    }

    bool has_ended() const {
        aeron_image_t* image = ::aeron_subscription_image_at_index(subscription_, 0);
        if (image == nullptr) return true;
        const bool ended = ::aeron_image_is_end_of_stream(image);
        ::aeron_subscription_image_release(subscription_, image);
        return ended;
    }

    /// Called when a message is complete. A message of one fragment is copied, because it is still in the ring and may
    /// be overwritten after this call. A message of several fragments stays in the assembler's buffer until the next
    /// poll.
    static aeron_controlled_fragment_handler_action_t keep(void* self, const std::uint8_t* bytes, std::size_t length,
                                                           aeron_header_t*) {
        auto& subscriber = *static_cast<AeronSubscriber*>(self);
        const std::span message{reinterpret_cast<const std::byte*>(bytes), length};
        subscriber.taken_ = message;
        if (length + sizeof(aeron_data_header_t) <= subscriber.mtu_bytes_) {
            subscriber.message_.assign(message.begin(), message.end());
            subscriber.taken_ = subscriber.message_;
        }
        return AERON_ACTION_BREAK;
    }

    void release() noexcept override { taken_ = {}; }

    std::string channel_;
    std::string endpoint_;
    Waiting waiting_;
    std::shared_ptr<Client> client_;
    aeron_controlled_fragment_assembler_t* assembler_ = nullptr;
    aeron_subscription_t* subscription_ = nullptr;
    Backoff backoff_;
    std::size_t mtu_bytes_ = 0;
    bool left_ = false;  ///< the publisher has announced that it leaves
    std::vector<std::byte> message_;
    std::span<const std::byte> taken_;
};

Result<std::unique_ptr<Subscriber>> subscribe_ipc(const Topic& topic) {
    auto client = Client::of(topic.companion);
    if (!client) return client.error();
    auto subscriber = std::make_unique<AeronSubscriber>(topic, *client);
    if (auto joined = subscriber->join("aeron:ipc", stream_of(topic)); !joined) return joined.error();
    return std::unique_ptr<Subscriber>{std::move(subscriber)};
}

Result<std::unique_ptr<Publisher>> advertise_ipc(const Topic& topic, const Endpoints& endpoints) {
    if (auto fine = check_endpoints(topic, endpoints); !fine) return fine.error();
    auto client = Client::of(topic.companion);
    if (!client) return client.error();
    auto publisher = std::make_unique<AeronPublisher>(topic, *client);
    const std::string parameters = publisher_parameters(topic.settings);
    const std::string uri = parameters.empty() ? "aeron:ipc" : "aeron:ipc?" + parameters.substr(1);
    if (auto joined = publisher->join(uri, stream_of(topic)); !joined) return joined.error();
    return std::unique_ptr<Publisher>{std::move(publisher)};
}

Result<std::unique_ptr<Subscriber>> subscribe_udp(const Topic& topic) {
    const auto own = parse_address(topic.local_address, 0);
    if (!own) return Error{"subscribe at " + topic.local_address + ": not an IP address"};
    auto client = Client::of(topic.companion);
    if (!client) return client.error();
    auto subscriber = std::make_unique<AeronSubscriber>(topic, *client);
    const std::string uri = "aeron:udp?endpoint=" + to_text(*own) + socket_parameters(topic.settings);
    if (auto joined = subscriber->join(uri, stream_of(topic)); !joined) return joined.error();
    if (auto learnt = subscriber->learn_endpoint(); !learnt) return learnt.error();
    return std::unique_ptr<Subscriber>{std::move(subscriber)};
}

Result<std::unique_ptr<Publisher>> advertise_udp(const Topic& topic, const Endpoints& endpoints) {
    const std::string& endpoint = endpoints.front();
    const auto place = endpoint.rfind(':');
    const auto port =
        place == std::string_view::npos ? std::nullopt : to_number<std::uint16_t>(endpoint.substr(place + 1));
    const auto address = parse_address(topic.local_address, port.value_or(0));
    if (!port || !address || to_text(*address) != endpoint)
        return Error{"advertise to '" + endpoint + "': not an Aeron endpoint of this host"};
    auto client = Client::of(topic.companion);
    if (!client) return client.error();
    const std::string parameters = publisher_parameters(topic.settings) + socket_parameters(topic.settings);
    auto publisher = std::make_unique<AeronPublisher>(topic, *client);
    const std::string uri = "aeron:udp?endpoint=" + endpoint + parameters;
    if (auto joined = publisher->join(uri, stream_of(topic)); !joined) return joined.error();
    return std::unique_ptr<Publisher>{std::move(publisher)};
}

Result<std::unique_ptr<Companion>> start_companion(const RunPlan& plan) {
    if (!plan.publishes) return std::unique_ptr<Companion>{};
    return MediaDriver::start(TACHOLOG_AERON_DRIVER, driver_options(plan.settings));
}

/// Returns an error if the window is larger than the largest socket buffer that the kernel allows. With such a window,
/// the driver would get smaller socket buffers than it requests, and would therefore reject the window.
Result<void> ready_udp(const RunPlan& plan) {
    for (const std::string limit : {"rmem_max", "wmem_max"}) {
        std::ifstream file{"/proc/sys/net/core/" + limit};
        std::uint64_t most = 0;
        if (file >> most && number_or(plan.settings, "window", 0) > most)
            return Error{"aeron-udp: window is above net.core." + limit + ", which is " + std::to_string(most) +
                         ": as root, sysctl -w net.core." + limit + "=" + value_of(plan.settings, "window")};
    }
    return {};
}

template <std::uint64_t default_term_bytes>
void adjust(Transport& promised, const Settings& given) {
    promised.most_bytes = most_bytes_of(number_or(given, "term-length", default_term_bytes));
}

}  // namespace

extern const Transport aeron_ipc{
    .name = "aeron-ipc",
    .summary =
        "Aeron between processes of one host, by rings in shared memory and a media driver, which the run "
        "starts; reliable; a side that blocks takes naps",
    .data_path = "copy",
    .reliability = Reliability::reliable,
    .reach = Reach::host,
    .subscribe = subscribe_ipc,
    .advertise = advertise_ipc,
    .reaches_several = true,
    .settings = ipc_settings,
    .adjust = adjust<ipc_term_bytes>,
    .way = Way::local,
    .start_companion = start_companion,
    .most_bytes = most_bytes_of(ipc_term_bytes),
};

extern const Transport aeron_udp{
    .name = "aeron-udp",
    .summary =
        "Aeron over UDP between processes of one host, by a media driver, which the run starts; reliable; a "
        "side that blocks takes naps",
    .data_path = "copy",
    .reliability = Reliability::reliable,
    .reach = Reach::host,
    .subscribe = subscribe_udp,
    .advertise = advertise_udp,
    .settings = udp_settings,
    .adjust = adjust<udp_term_bytes>,
    .way = Way::udp,
    .ready = ready_udp,
    .start_companion = start_companion,
    .most_bytes = most_bytes_of(udp_term_bytes),
};

}  // namespace tacholog::transports
