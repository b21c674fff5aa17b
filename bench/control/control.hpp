// The control channel: how the two sides of a run agree, out of band, over TCP. The publisher listens, the subscriber
// connects. Every wait has a limit, every length is bounded, and a peer that speaks anything else is refused.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/address.hpp"
#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "base/stop.hpp"
#include "base/text.hpp"

namespace tacholog {

/// Frames with several numbers have a struct in frames.hpp, which names them.
enum class FrameKind : std::uint16_t {
    hello,       ///< HelloFrame
    refused,     ///< text: why
    affinity,    ///< the subscriber's; text: CPUs asked for, a blank, and its SideCpus. The answer is a PlacementFrame
    run,         ///< RunFrame, the publisher's
    facts,       ///< text: what the subscriber's transport states about itself, see facts.hpp
    open,        ///< OpenFrame
    ready,       ///< everything of this size is set up
    phase_end,   ///< PhaseEndFrame
    alive,       ///< the publisher is at work, should none of its messages arrive, or waits for another subscriber
    interval,    ///< IntervalFrame
    phase_done,  ///< PhaseDoneFrame
    size_end,    ///< the publisher is done with this case
    histogram,   ///< HistogramFrame
    clock,       ///< text: which clock the subscriber reads
    resources,   ///< ResourcesFrame
    bye,         ///< the run is over
    abort,       ///< text: why the sender gives up
};

struct Frame {
    FrameKind kind = FrameKind::bye;
    std::vector<std::uint64_t> numbers = {};
    std::string text = {};

    /// The number at this index, or 0 if the peer sent fewer.
    std::uint64_t number(std::size_t index) const { return index < numbers.size() ? numbers[index] : 0; }
};

inline constexpr std::uint64_t protocol_version = 9;
inline constexpr std::size_t most_numbers = 16;
/// An agreement names every size and demand.
inline constexpr std::size_t longest_text = std::size_t{256} * 1024;

/// How many frames are taken at once before a side looks at its time limit, at signals, and at other peers.
inline constexpr int frames_a_look = 64;

/// Reads one frame off the front of `bytes`: nothing if it is not all there yet, an error if it is no frame of ours.
Result<std::optional<Frame>> parse_frame(std::string& bytes);

class Control {
public:
    Control(Fd socket, const Stop& stop) : socket_(std::move(socket)), stop_(&stop), open_since_ns_(now_ns()) {}

    /// For how long the peer may say nothing but that it is at work. Whoever heard it say so for ever would wait for
    /// ever.
    void limit_work(Nanoseconds longest_ns) { longest_work_ns_ = longest_ns; }

    /// What the peer is called in messages, where there are several.
    const std::string& peer() const { return peer_; }
    void call_peer(std::string name) { peer_ = std::move(name); }

    /// An error if the peer does not read enough for the frame to go within `patience`, or within a second if that is
    /// longer.
    Result<void> send(const Frame& frame, Patience patience = Patience{0});

    /// The next frame, within `limit`.
    Result<Frame> receive(Patience limit);

    /// The next frame, which must be of this kind. A peer that gives up is an error with the peer's reason.
    Result<Frame> expect(FrameKind kind, Patience limit);

    /// What has come so far, without waiting. An error if the peer is gone, gave up, or we are asked to stop.
    Result<std::optional<Frame>> poll();

    /// Why the run is over, if the peer or a signal has said so: a broken transport is often only the consequence.
    std::optional<Error> reason(Patience limit);

    /// An error of this channel. `text` names the peer.
    Error error(const std::string& text) const { return {"control channel: " + text, Code::peer, descriptor()}; }

    /// Whether the error is about this channel.
    bool concerns(const Error& error) const { return error.channel == descriptor(); }

    /// Whether it says why this peer gave up or refused.
    bool has_explained(const Error& error) const { return concerns(error) && error.code == Code::peer_gave_up; }

    /// The error of a peer that sent a frame of the kind abort.
    Error gave_up(const Frame& frame) const { return explained_by("gave up", frame); }

    int descriptor() const { return socket_.get(); }

    const Stop& stop() const { return *stop_; }

    /// The peer's address, as it is seen from here.
    Address remote_address() const;
    /// What becomes readable when there is something to poll for.
    std::array<int, 2> descriptors() const { return {socket_.get(), stop_->descriptor()}; }

    /// This side's address, as the peer can reach it.
    std::string local_host() const;

private:
    Error explained_by(const char* what, const Frame& frame) const {
        return {peer_ + " " + what + ": " + shown(frame.text, longest_reason), Code::peer_gave_up, descriptor()};
    }
    Result<std::optional<Frame>> next_frame();
    Result<Done> fill(Patience patience);
    Result<void> send_all(std::string_view bytes, Patience patience);

    Fd socket_;
    const Stop* stop_;
    std::string peer_ = "the peer";
    std::string received_;
    Nanoseconds open_since_ns_;
    std::int64_t alive_frames_ = 0;  ///< that have come
    std::optional<Nanoseconds> longest_work_ns_;
    std::optional<Nanoseconds> at_work_since_ns_;  ///< unless it has said something else
};

/// Of a frame that is not due.
inline Error out_of_step(const Control& peer) {
    return peer.error(peer.peer() + " is out of step with this side");
}

class Listener {
public:
    static Result<Listener> open(const std::string& address, int port);

    int port() const;
    std::string name() const;
    int descriptor() const { return socket_.get(); }
    Result<Control> accept(Patience limit, const Stop& stop) const;

    /// A new connection, if there is one.
    Result<std::optional<Control>> accept_now(const Stop& stop) const;

private:
    explicit Listener(Fd socket) : socket_(std::move(socket)) {}
    Fd socket_;
};

/// Connects to a publisher, which may be started a little later than this side.
Result<Control> connect_control(const std::string& address, int port, Patience limit, const Stop& stop);

/// The handshake: version first, then the agreement, "key=value key=value ...". Returns which of the subscribers it is
/// (1, 2, ...): of the numbers that are free the one that it wishes for (0: none), else the first.
Result<std::size_t> greet_subscriber(Control& control, const std::string& agreement, Patience limit,
                                     const std::vector<std::size_t>& free_numbers = {1});
/// The same, once it has said hello. `secret` is what those that this run has started know; 0: anybody may come.
Result<std::size_t> answer_hello(Control& control, const Frame& hello, const std::string& agreement,
                                 const std::vector<std::size_t>& free_numbers, std::uint64_t secret = 0);
Result<std::size_t> greet_publisher(Control& control, const std::string& agreement, Patience limit,
                                    std::size_t wish = 0, std::uint64_t secret = 0);

}  // namespace tacholog
