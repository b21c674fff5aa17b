#include "control/explained.hpp"

#include <algorithm>
#include <ctime>
#include <optional>
#include <vector>

namespace tacholog {
namespace {

constexpr Patience last_words{200};

/// Reads the frames of several peers to find out why the run has failed. This is done before this side tells the peers
/// that it has failed.
class LastWords {
public:
    explicit LastWords(std::span<Control> others) {
        for (Control& other : others) silent_.push_back(&other);
    }

    /// Finds out what has happened if several peers seem to fail at the same time. If a peer has died, only its control
    /// channel shows this. The control channel closes a little before or after the transport. The other peers give up
    /// too when they see that this side has closed the transport. They are reported as the cause only if no peer has
    /// died.
    void listen() {
        const Deadline deadline{last_words};
        while (!death && !stopped_ && !silent_.empty()) {
            std::erase_if(silent_, [this](Control* other) { return !death && has_ended(*other); });
            if (deadline.passed()) return;
            const timespec pause{0, 1'000'000};
            ::nanosleep(&pause, nullptr);
        }
    }

    std::optional<Error> death;   ///< a peer has closed its channel without sending a reason
    std::optional<Error> reason;  ///< a peer has given up, or the user has stopped the run

private:
    bool has_ended(Control& other) {
        auto frame = other.poll();
        for (int count = 0; count < frames_a_look && frame && *frame; ++count) frame = other.poll();
        if (frame) return false;
        stopped_ = other.stop().requested();
        auto& kept = stopped_ || other.has_explained(frame.error()) ? reason : death;
        if (!kept) kept = frame.error();
        return true;
    }

    std::vector<Control*> silent_;
    bool stopped_ = false;
};

Error told_by_several(const Error& seen, std::span<Control> others) {
    LastWords words{others};
    words.listen();
    if (words.death) return Error{words.death->text + " (" + seen.text + ")"};
    return words.reason.value_or(seen);
}

/// Returns the peer that may have caused the error `seen`. Returns nullptr if this may be any of several peers.
Control* whom_to_ask(const Error& seen, std::span<Control> others) {
    const auto found =
        std::find_if(others.begin(), others.end(), [&](const Control& other) { return other.concerns(seen); });
    if (found != others.end()) return &*found;
    return others.size() == 1 ? &others.front() : nullptr;
}

}  // namespace

Result<void> explained(Result<void> done, std::span<Control> others) {
    if (done) return done;
    const Error& seen = done.error();
    const auto has_told = [&](const Control& other) { return other.has_explained(seen); };
    const bool is_told = std::any_of(others.begin(), others.end(), has_told);
    Control* const asked = whom_to_ask(seen, others);
    const Error why = is_told || asked != nullptr ? seen : told_by_several(seen, others);
    // Sending to a peer that has disconnected has no effect. The peer that gave up first gets nothing, because it would
    // only receive its own reason.
    for (Control& other : others) {
        if (!has_told(other)) static_cast<void>(other.send({FrameKind::abort, {}, why.text}).has_value());
    }
    if (is_told || asked == nullptr) return why;
    return asked->reason(last_words).value_or(why);
}

}  // namespace tacholog
