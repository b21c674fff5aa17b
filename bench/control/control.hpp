// The control channel: a TCP connection over which the two sides of a run agree, separate from the measured data. The
// publisher listens, the subscriber connects. Every wait has a time limit, every length has a limit, and a peer that
// does not speak this protocol is refused.
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

/// Frames with several numbers have a struct in frames.hpp that names the numbers.
enum class FrameKind : std::uint16_t {
    hello,       ///< HelloFrame
    refused,     ///< text: the reason
    affinity,    ///< from the subscriber; text: the requested CPUs, a blank, its SideCpus; the answer: PlacementFrame
    run,         ///< RunFrame, from the publisher
    facts,       ///< text: the facts that the subscriber's transport reports about itself, see facts.hpp
    open,        ///< OpenFrame
    ready,       ///< the sender is ready to measure this payload size
    phase_end,   ///< PhaseEndFrame
    alive,       ///< a sign of life: the publisher is still working, although no message may arrive
    interval,    ///< IntervalFrame
    phase_done,  ///< PhaseDoneFrame
    size_end,    ///< the publisher has finished this case
    histogram,   ///< HistogramFrame
    clock,       ///< text: the identity of the clock that the subscriber reads
    resources,   ///< ResourcesFrame
    bye,         ///< the run is over
    abort,       ///< text: the reason why the sender gives up
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
/// Large, because an agreement lists every size and demand.
inline constexpr std::size_t longest_text = std::size_t{256} * 1024;

/// After this many frames, a side checks its time limit, the signals and the other peers.
inline constexpr int frames_a_look = 64;

/// Removes the frame from the front of `bytes`. Returns nothing if it is incomplete, an error if it is not a frame of
/// this protocol.
Result<std::optional<Frame>> parse_frame(std::string& bytes);

class Control {
public:
    Control(Fd socket, const Stop& stop) : socket_(std::move(socket)), stop_(&stop), open_since_ns_(now_ns()) {}

    /// Limits the time in which the peer sends nothing but `alive` frames. Without this limit, a peer could make this
    /// side wait for ever.
    void limit_work(Nanoseconds longest_ns) { longest_work_ns_ = longest_ns; }

    /// The name is used in messages if there are several peers.
    const std::string& peer() const { return peer_; }
    void call_peer(std::string name) { peer_ = std::move(name); }

    /// Fails if the peer does not read, so that the frame cannot be sent within `patience` (at least one second).
    Result<void> send(const Frame& frame, Patience patience = Patience{0});

    Result<Frame> receive(Patience limit);

    /// The next frame must be of this kind. If the peer gives up instead, the error holds the peer's reason.
    Result<Frame> expect(FrameKind kind, Patience limit);

    /// Does not wait. Returns an error if the peer has disconnected or given up, or if this process is asked to stop.
    Result<std::optional<Frame>> poll();

    /// Returns the reason why the run ends, if the peer has sent one or a signal has arrived. Call this when the
    /// transport fails, because the failure is often only a consequence.
    std::optional<Error> reason(Patience limit);

    /// `text` must name the peer.
    Error error(const std::string& text) const { return {"control channel: " + text, Code::peer, descriptor()}; }

    bool concerns(const Error& error) const { return error.channel == descriptor(); }

    /// Returns true if the error holds the reason why this peer gave up or refused.
    bool has_explained(const Error& error) const { return concerns(error) && error.code == Code::peer_gave_up; }

    Error gave_up(const Frame& frame) const { return explained_by("gave up", frame); }

    int descriptor() const { return socket_.get(); }

    const Stop& stop() const { return *stop_; }

    Address remote_address() const;
    /// The descriptors become readable when poll() has something to return.
    std::array<int, 2> descriptors() const { return {socket_.get(), stop_->descriptor()}; }

    /// The peer can reach this side at this address.
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
    std::int64_t alive_frames_ = 0;
    std::optional<Nanoseconds> longest_work_ns_;
    std::optional<Nanoseconds> at_work_since_ns_;  ///< when the first `alive` frame since the last other frame arrived
};

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

    /// Accepts a waiting connection. Returns nothing if there is none, or if it cannot be accepted at the moment.
    Result<std::optional<Control>> accept_now(const Stop& stop) const;

private:
    explicit Listener(Fd socket) : socket_(std::move(socket)) {}
    Fd socket_;
};

/// The publisher may be started a little later than this side.
Result<Control> connect_control(const std::string& address, int port, Patience limit, const Stop& stop);

/// The publisher's handshake: compares the protocol version, then the agreement ("key=value key=value ..."). Returns
/// the number of the subscriber (1, 2, ...). A subscriber may ask for a number; it gets that number if it is free,
/// otherwise the first free one. 0 asks for any number.
Result<std::size_t> greet_subscriber(Control& control, const std::string& agreement, Patience limit,
                                     const std::vector<std::size_t>& free_numbers = {1});
/// The publisher's handshake, after it has received the hello frame. Only the subscribers that this run has started
/// know `secret`; 0: any subscriber may join.
Result<std::size_t> answer_hello(Control& control, const Frame& hello, const std::string& agreement,
                                 const std::vector<std::size_t>& free_numbers, std::uint64_t secret = 0);
Result<std::size_t> greet_publisher(Control& control, const std::string& agreement, Patience limit,
                                    std::size_t wish = 0, std::uint64_t secret = 0);

}  // namespace tacholog
