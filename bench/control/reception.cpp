#include "control/reception.hpp"

#include <poll.h>

#include <algorithm>
#include <numeric>

#include "base/text.hpp"
#include "control/agreement.hpp"

namespace tacholog {
namespace {

/// A true subscriber says hello as soon as it is connected. If more connections than this say nothing, the oldest are
/// closed.
constexpr std::size_t most_guests = 64;

/// How often is asked whether all can still come.
constexpr Patience look_around{100};

}  // namespace

void Strangers::let_go(const Error& reason) {
    ++count_;
    last_ = shown(reason.text, longest_reason);
}

std::string Strangers::summary() const {
    if (count_ == 0) return "";
    return std::to_string(count_) +
           (count_ == 1 ? " connection was no subscriber's, and was let go: "
                        : " connections were no subscriber's, and were let go; of the last: ") +
           last_;
}

void Strangers::tell(Log& log) const {
    if (count_ > 0) log.write(Note{"control port: " + summary()});
}

std::string name_of_subscriber(const Options& options, std::size_t place) {
    return options.audience.subscribers > 1 ? "sub" + std::to_string(place) : "";
}

Reception::Reception(const Options& options, const Listener& listener, const Stop& stop, std::uint64_t secret,
                     std::function<bool()> hopeless)
    : options_(options),
      listener_(listener),
      stop_(stop),
      secret_(secret),
      hopeless_(std::move(hopeless)),
      agreement_(agreement(options)),
      places_(options.audience.subscribers) {
    std::iota(places_.begin(), places_.end(), std::size_t{1});
}

Result<void> Reception::gather(std::vector<Control>& joined) {
    auto done = wait_for_all();
    for (std::size_t count = 0; count < guests_.size(); ++count) {
        strangers_.let_go(Error{"it had said nothing of use by the time that the run began"});
    }
    guests_.clear();
    const auto before = [](const Member& one, const Member& other) { return one.place < other.place; };
    std::sort(members_.begin(), members_.end(), before);
    for (Member& member : members_) joined.push_back(std::move(member.control));
    return done;
}

Result<void> Reception::wait_for_all() {
    const Deadline deadline{limit_of(options_)};
    while (!places_.empty()) {
        std::vector<pollfd> watched{{stop_.descriptor(), POLLIN, 0},
                                    {accepts_ ? listener_.descriptor() : -1, POLLIN, 0}};
        for (const Control& guest : guests_) watched.push_back({guest.descriptor(), POLLIN, 0});
        const Patience patience = std::min(deadline.left(), look_around);
        ::poll(watched.data(), watched.size(), static_cast<int>(patience.count()));
        if (stop_.requested()) return Stop::error();
        std::vector<Control> silent;
        for (std::size_t at = 0; at < guests_.size(); ++at) {
            if (watched[at + 2].revents == 0 || !heard(guests_[at])) silent.push_back(std::move(guests_[at]));
        }
        guests_ = std::move(silent);
        if (auto done = accept_new(); !done) return done;
        if (places_.empty()) break;
        if (hopeless_()) return Error{"a subscriber of this run ended before it had joined"};
        if (deadline.passed()) return nobody_came();
    }
    return {};
}

Error Reception::nobody_came() const {
    std::string text = "no subscriber has connected to " + listener_.name() + " within the time limit";
    if (!members_.empty()) {
        text +=
            " (" + std::to_string(members_.size()) + " of " + std::to_string(options_.audience.subscribers) + " have)";
    }
    const std::string others = strangers_.summary();
    return Error{text + (others.empty() ? "" : "; " + others)};
}

Result<void> Reception::accept_new() {
    accepts_ = true;
    for (std::size_t count = 0; count < most_guests; ++count) {
        auto guest = listener_.accept_now(stop_);
        if (!guest) return guest.error();
        if (!*guest) {
            // Without descriptors or memory nobody can be let in, however long he has been waiting: it is tried again
            // later.
            pollfd waiting{listener_.descriptor(), POLLIN, 0};
            accepts_ = ::poll(&waiting, 1, 0) <= 0;
            return {};
        }
        guests_.push_back(std::move(**guest));
        if (guests_.size() <= most_guests) continue;
        strangers_.let_go(Error{"it said nothing of use while " + std::to_string(most_guests) + " others came"});
        guests_.erase(guests_.begin());
    }
    return {};
}

bool Reception::heard(Control& guest) {
    const auto frame = guest.poll();
    if (frame && !*frame) return false;
    if (!frame) {
        strangers_.let_go(frame.error());
    } else if ((*frame)->kind != FrameKind::hello) {
        strangers_.let_go(Error{"control channel: it did not say hello"});
    } else {
        answer(guest, **frame);
    }
    return true;
}

void Reception::answer(Control& guest, const Frame& hello) {
    const auto place = answer_hello(guest, hello, agreement_, places_, secret_);
    if (!place) return strangers_.let_go(place.error());
    if (options_.audience.subscribers > 1) guest.call_peer(name_of_subscriber(options_, *place));
    std::erase(places_, *place);
    members_.push_back({*place, std::move(guest)});
}

}  // namespace tacholog
