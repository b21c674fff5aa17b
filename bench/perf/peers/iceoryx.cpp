// iceoryx: loaned, written and read in place; both ends poll. Needs a RouDi (`iox-roudi --monitoring-mode off`), which
// has no chunks above 4 MiB unless told otherwise.
#include <iceoryx_posh/popo/untyped_publisher.hpp>
#include <iceoryx_posh/popo/untyped_subscriber.hpp>
#include <iceoryx_posh/runtime/posh_runtime.hpp>

#include "perf/peers/peer.hpp"
#include "perf/spin.hpp"

namespace {

using namespace tacholog::perf;

iox::capro::ServiceDescription service(const std::string& topic, const std::string& way) {
    using Id = iox::capro::IdString_t;
    return {"tacholog", Id{iox::cxx::TruncateToCapacity, topic}, Id{iox::cxx::TruncateToCapacity, way}};
}

class Endpoint {
public:
    Endpoint(const std::string& topic, End end, std::size_t bytes)
        : bytes_(bytes),
          runtime_(iox::runtime::PoshRuntime::initRuntime(
              iox::RuntimeName_t{iox::cxx::TruncateToCapacity, topic + (end == End::near ? "-near" : "-far")})),
          publisher_(service(topic, end == End::near ? "there" : "back"), waited_for()),
          subscriber_(service(topic, end == End::near ? "back" : "there"), waits()) {
        for (Spin spin;
             !publisher_.hasSubscribers() || subscriber_.getSubscriptionState() != iox::SubscribeState::SUBSCRIBED;)
            spin.wait();
    }

    template <typename Write>
    void send(Write&& write) {
        auto loan = publisher_.loan(static_cast<std::uint32_t>(bytes_));
        insist(!loan.has_error(), "loan of iceoryx");
        write(std::span{static_cast<std::byte*>(loan.value()), bytes_});
        publisher_.publish(loan.value());
    }

    template <typename Read>
    void receive(Read&& read) {
        for (Spin spin;; spin.wait()) {
            auto taken = subscriber_.take();
            if (taken.has_error()) continue;
            read(std::span{static_cast<const std::byte*>(taken.value()), bytes_});
            subscriber_.release(taken.value());
            return;
        }
    }

private:
    static iox::popo::PublisherOptions waited_for() {
        iox::popo::PublisherOptions options;
        options.subscriberTooSlowPolicy = iox::popo::ConsumerTooSlowPolicy::WAIT_FOR_CONSUMER;
        return options;
    }
    static iox::popo::SubscriberOptions waits() {
        iox::popo::SubscriberOptions options;
        options.queueCapacity = 4;
        options.queueFullPolicy = iox::popo::QueueFullPolicy::BLOCK_PRODUCER;
        return options;
    }

    std::size_t bytes_;
    iox::runtime::PoshRuntime& runtime_;
    iox::popo::UntypedPublisher publisher_;
    iox::popo::UntypedSubscriber subscriber_;
};

}  // namespace

int main(int argc, char* argv[]) {
    return peer_main<Endpoint>("iceoryx", argc, argv);
}
