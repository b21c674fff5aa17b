#include "control/acceptor.hpp"

#include <poll.h>

#include <algorithm>
#include <numeric>

#include "base/text.hpp"
#include "control/agreement.hpp"

namespace tacholog {
namespace {

/// A subscriber of this run sends its hello frame as soon as it is connected. If more than this number of connections
/// have sent nothing, the oldest is closed.
constexpr std::size_t most_pending = 64;

constexpr Patience look_around{100};

}  // namespace

void RejectedConnections::add(const Error& reason) {
    ++count_;
    last_ = shown(reason.text, longest_reason);
}

std::string RejectedConnections::summary() const {
    if (count_ == 0) return "";
    return std::to_string(count_) +
           (count_ == 1 ? " connection was no subscriber's, and was let go: "
                        : " connections were no subscriber's, and were let go; of the last: ") +
           last_;
}

void RejectedConnections::tell(Log& log) const {
    if (count_ > 0) log.write(Note{"control port: " + summary()});
}

std::string name_of_subscriber(const Options& options, std::size_t number) {
    return options.audience.subscribers > 1 ? "sub" + std::to_string(number) : "";
}

SubscriberAcceptor::SubscriberAcceptor(const Options& options, const Listener& listener, const Stop& stop,
                                       std::uint64_t secret, std::function<bool()> cannot_complete)
    : options_(options),
      listener_(listener),
      stop_(stop),
      secret_(secret),
      cannot_complete_(std::move(cannot_complete)),
      agreement_(agreement(options)),
      free_numbers_(options.audience.subscribers) {
    std::iota(free_numbers_.begin(), free_numbers_.end(), std::size_t{1});
}

Result<void> SubscriberAcceptor::accept_all(std::vector<Control>& joined) {
    auto done = wait_for_all();
    for (std::size_t count = 0; count < pending_.size(); ++count) {
        rejected_.add(Error{"it had said nothing of use by the time that the run began"});
    }
    pending_.clear();
    const auto before = [](const Accepted& left, const Accepted& right) { return left.number < right.number; };
    std::sort(accepted_.begin(), accepted_.end(), before);
    for (Accepted& subscriber : accepted_) joined.push_back(std::move(subscriber.control));
    return done;
}

Result<void> SubscriberAcceptor::wait_for_all() {
    const Deadline deadline{limit_of(options_)};
    while (!free_numbers_.empty()) {
        std::vector<pollfd> watched{{stop_.descriptor(), POLLIN, 0},
                                    {has_room_ ? listener_.descriptor() : -1, POLLIN, 0}};
        for (const Control& connection : pending_) watched.push_back({connection.descriptor(), POLLIN, 0});
        const Patience patience = std::min(deadline.left(), look_around);
        ::poll(watched.data(), watched.size(), static_cast<int>(patience.count()));
        if (stop_.requested()) return Stop::error();
        std::vector<Control> silent;
        for (std::size_t at = 0; at < pending_.size(); ++at) {
            if (watched[at + 2].revents == 0 || !is_decided(pending_[at])) silent.push_back(std::move(pending_[at]));
        }
        pending_ = std::move(silent);
        if (auto done = accept_new(); !done) return done;
        if (free_numbers_.empty()) break;
        if (cannot_complete_()) return Error{"a subscriber of this run ended before it had joined"};
        if (deadline.passed()) return nobody_came();
    }
    return {};
}

Error SubscriberAcceptor::nobody_came() const {
    std::string text = "no subscriber has connected to " + listener_.name() + " within the time limit";
    if (!accepted_.empty()) {
        text +=
            " (" + std::to_string(accepted_.size()) + " of " + std::to_string(options_.audience.subscribers) + " have)";
    }
    const std::string others = rejected_.summary();
    return Error{text + (others.empty() ? "" : "; " + others), Code::control_port};
}

Result<void> SubscriberAcceptor::accept_new() {
    has_room_ = true;
    for (std::size_t count = 0; count < most_pending; ++count) {
        auto connection = listener_.accept_now(stop_);
        if (!connection) return connection.error();
        if (!*connection) {
            // Without free descriptors or memory, no connection can be accepted although one is waiting. It is accepted
            // later.
            pollfd waiting{listener_.descriptor(), POLLIN, 0};
            has_room_ = ::poll(&waiting, 1, 0) <= 0;
            return {};
        }
        pending_.push_back(std::move(**connection));
        if (pending_.size() <= most_pending) continue;
        rejected_.add(Error{"it said nothing of use while " + std::to_string(most_pending) + " others came"});
        pending_.erase(pending_.begin());
    }
    return {};
}

bool SubscriberAcceptor::is_decided(Control& connection) {
    const auto frame = connection.poll();
    if (frame && !*frame) return false;
    if (!frame) {
        rejected_.add(frame.error());
    } else if ((*frame)->kind != FrameKind::hello) {
        rejected_.add(Error{"control channel: it did not say hello"});
    } else {
        answer(connection, **frame);
    }
    return true;
}

void SubscriberAcceptor::answer(Control& connection, const Frame& hello) {
    const auto number = answer_hello(connection, hello, agreement_, free_numbers_, secret_);
    if (!number) return rejected_.add(number.error());
    if (options_.audience.subscribers > 1) connection.call_peer(name_of_subscriber(options_, *number));
    std::erase(free_numbers_, *number);
    accepted_.push_back({*number, std::move(connection)});
}

}  // namespace tacholog
