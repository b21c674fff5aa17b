#include "control/control.hpp"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "control/frames.hpp"

namespace tacholog {
namespace {

// "TLC1" in memory on every machine with our byte order. A peer with another byte order is refused like a foreign
// program.
constexpr std::uint32_t magic = 0x31434C54;

struct FrameHeader {
    std::uint32_t magic;
    std::uint16_t kind;
    std::uint16_t numbers;
    std::uint32_t text_bytes;
    std::uint32_t reserved;
};

Error foreign() {
    return Error{"control channel: the peer is not a perftest of this version"};
}

Error of_control_port(Error error) {
    error.code = Code::control_port;
    return error;
}

enum class Waited { ready, timed_out, stopped };

Waited wait_for(const Fd& socket, short events, const Stop& stop, Patience patience) {
    std::array<pollfd, 2> waiting{pollfd{socket.get(), events, 0}, pollfd{stop.descriptor(), POLLIN, 0}};
    const Deadline deadline{patience};
    while (true) {
        const int ready = ::poll(waiting.data(), waiting.size(), static_cast<int>(deadline.left().count()));
        if (ready > 0) return waiting[1].revents != 0 ? Waited::stopped : Waited::ready;
        if (ready <= 0 && deadline.passed()) return Waited::timed_out;
        if (ready < 0 && errno != EINTR) sleep_until(now_ns() + 1'000'000);  // no memory for the call; try again later
    }
}

}  // namespace

Result<std::optional<Frame>> parse_frame(std::string& bytes) {
    FrameHeader header{};
    if (bytes.size() < sizeof header) {
        // A foreign program may send less than a header. Its first bytes are enough to recognise it.
        const std::size_t known = std::min(bytes.size(), sizeof magic);
        if (std::memcmp(bytes.data(), &magic, known) != 0) return foreign();
        return std::optional<Frame>{};
    }
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.magic != magic || header.kind > static_cast<std::uint16_t>(FrameKind::abort)) return foreign();
    if (header.numbers > most_numbers || header.text_bytes > longest_text) {
        return Error{"control channel: the peer announces a frame that is too large"};
    }
    const std::size_t number_bytes = header.numbers * sizeof(std::uint64_t);
    if (bytes.size() < sizeof header + number_bytes + header.text_bytes) return std::optional<Frame>{};
    Frame frame{static_cast<FrameKind>(header.kind), std::vector<std::uint64_t>(header.numbers),
                bytes.substr(sizeof header + number_bytes, header.text_bytes)};
    if (number_bytes > 0) std::memcpy(frame.numbers.data(), bytes.data() + sizeof header, number_bytes);
    bytes.erase(0, sizeof header + number_bytes + header.text_bytes);
    return std::optional<Frame>{std::move(frame)};
}

Result<void> Control::send(const Frame& frame, Patience patience) {
    // A reason may be truncated, because a reader needs only its beginning. All other texts must be complete: both
    // sides agree on them, or use them later.
    const bool is_reason = frame.kind == FrameKind::abort || frame.kind == FrameKind::refused;
    if (frame.text.size() > longest_text && !is_reason) {
        return Error{"control channel: a text of " + std::to_string(frame.text.size()) +
                     " bytes is too long; it takes " + std::to_string(longest_text)};
    }
    const std::string text = frame.text.substr(0, longest_text);
    const FrameHeader header{magic, static_cast<std::uint16_t>(frame.kind),
                             static_cast<std::uint16_t>(frame.numbers.size()), static_cast<std::uint32_t>(text.size()),
                             0};
    std::string bytes(sizeof header, '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    for (const std::uint64_t number : frame.numbers) {
        std::array<char, sizeof number> raw{};
        std::memcpy(raw.data(), &number, sizeof number);
        bytes.append(raw.data(), raw.size());
    }
    bytes += text;
    return send_all(bytes, patience);
}

// Most frames are far smaller than the buffer of the socket. Only long agreements and the reports at the end of a phase
// may be larger. The time limit applies to the whole frame, not to each write: otherwise a peer that reads one byte per
// second would extend it again and again.
Result<void> Control::send_all(std::string_view bytes, Patience patience) {
    constexpr Patience shortest_limit{1000};
    const Deadline deadline{std::max(patience, shortest_limit)};
    while (!bytes.empty()) {
        const auto sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) return error(os_error("send to " + peer_).text);
        if (sent > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(sent));
            continue;
        }
        const Waited waited = wait_for(socket_, POLLOUT, *stop_, deadline.left());
        if (waited == Waited::stopped) return Stop::error();
        if (waited != Waited::ready || deadline.passed()) return error(peer_ + " does not read what it is sent");
    }
    return {};
}

Result<Done> Control::fill(Patience patience) {
    const Waited waited = wait_for(socket_, POLLIN, *stop_, patience);
    if (waited == Waited::stopped) return Stop::error();
    if (waited == Waited::timed_out) return Done::not_yet;
    std::array<char, 4096> chunk{};
    const auto count = ::recv(socket_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (count == 0) return error(peer_ + " closed the connection before the run was over");
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return Done::yes;
    if (count < 0) return error(os_error("receive from " + peer_).text);
    received_.append(chunk.data(), static_cast<std::size_t>(count));
    return Done::yes;
}

/// Returns the next frame that was received, or nothing if the frame is not complete yet. Returns an error if the frame
/// has impossible values.
Result<std::optional<Frame>> Control::next_frame() {
    auto frame = parse_frame(received_);
    if (!frame || !*frame) return frame;
    if (!is_possible(**frame))
        return error(peer_ + " is out of step with this side: it sent numbers that cannot be true");
    // A side sends `alive` frames a few times per second at most. Without this limit, a peer could send any number of
    // them.
    constexpr std::int64_t most_at_once = 10'000;
    constexpr Nanoseconds spacing_ns = 100'000;
    if ((*frame)->kind != FrameKind::alive) {
        at_work_since_ns_.reset();
        return frame;
    }
    const Nanoseconds now = now_ns();
    if (++alive_frames_ > most_at_once && alive_frames_ - most_at_once > (now - open_since_ns_) / spacing_ns)
        return error(peer_ + " sends more than it has to say");
    if (!at_work_since_ns_) at_work_since_ns_ = now;
    if (longest_work_ns_ && now - *at_work_since_ns_ > *longest_work_ns_)
        return error(peer_ + " only says that it is at work, for longer than a run can take");
    return frame;
}

Result<std::optional<Frame>> Control::poll() {
    auto frame = next_frame();
    if (frame && !*frame) {
        const auto more = fill(Patience{0});
        if (!more.has_value()) return more.error();
        frame = next_frame();
    }
    if (frame && *frame && (*frame)->kind == FrameKind::abort) return gave_up(**frame);
    return frame;
}

Result<Frame> Control::receive(Patience limit) {
    const Deadline deadline{limit};
    while (true) {
        auto frame = next_frame();
        if (!frame) return frame.error();
        if (*frame) return std::move(**frame);
        const auto more = fill(deadline.left());
        if (!more.has_value()) return more.error();
        if (*more == Done::not_yet) return error("no answer from " + peer_ + " within the time limit");
    }
}

Result<Frame> Control::expect(FrameKind kind, Patience limit) {
    auto frame = receive(limit);
    if (!frame) return frame.error();
    if (frame->kind == FrameKind::abort) return gave_up(*frame);
    if (frame->kind == FrameKind::refused) return explained_by("refused", *frame);
    if (frame->kind != kind) return out_of_step(*this);
    return frame;
}

std::optional<Error> Control::reason(Patience limit) {
    const Deadline deadline{limit};
    for (int count = 0; !stop_->requested() && (count < frames_a_look || !deadline.passed()); ++count) {
        const auto frame = receive(deadline.left());
        if (!frame) break;
        if (frame->kind == FrameKind::abort) return gave_up(*frame);
    }
    return stop_->requested() ? std::optional{Stop::error()} : std::nullopt;
}

Address Control::remote_address() const {
    Address address;
    socklen_t length = Address::room_bytes;
    ::getpeername(socket_.get(), address.room(), &length);
    return address;
}

std::string Control::local_host() const {
    return host_of(local_address(socket_));
}

Result<Listener> Listener::open(const std::string& address, int port) {
    const auto where = parse_address(address, port);
    if (!where) return Error{"listen on " + address + ": not an IP address"};
    const std::string name = to_text(*where);
    Fd socket{::socket(where->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!socket) return of_control_port(os_error("listen on " + name));
    // Without this option, the port would stay in use for a minute after every run.
    const int yes = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(socket.get(), where->get(), where->length()) != 0) return of_control_port(os_error("listen on " + name));
    if (::listen(socket.get(), SOMAXCONN) != 0) return of_control_port(os_error("listen on " + name));
    return Listener{std::move(socket)};
}

int Listener::port() const {
    return local_address(socket_).port();
}

std::string Listener::name() const {
    return to_text(local_address(socket_));
}

Result<Control> Listener::accept(Patience limit, const Stop& stop) const {
    const Waited waited = wait_for(socket_, POLLIN, stop, limit);
    if (waited == Waited::stopped) return Stop::error();
    if (waited == Waited::timed_out)
        return Error{"no subscriber has connected to " + name() + " within the time limit", Code::control_port};
    auto control = accept_now(stop);
    if (!control) return control.error();
    if (!*control) return Error{"accept on " + name() + ": who connected is gone again", Code::control_port};
    return std::move(**control);
}

Result<std::optional<Control>> Listener::accept_now(const Stop& stop) const {
    Fd socket{::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    // These errors are temporary: the peer has disconnected before it was accepted, or no descriptors or memory are
    // free at the moment.
    constexpr std::array passing{EAGAIN, EINTR, ECONNABORTED, EPROTO, EMFILE, ENFILE, ENOBUFS, ENOMEM};
    if (!socket && std::find(passing.begin(), passing.end(), errno) != passing.end()) return std::optional<Control>{};
    if (!socket) return of_control_port(os_error("accept on " + name()));
    const int yes = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return std::optional{Control{std::move(socket), stop}};
}

namespace {

/// Returns 0 when the connection is established, or the errno of the failure.
int connect_within(const Fd& socket, const Address& where, const Stop& stop, Patience patience) {
    if (::connect(socket.get(), where.get(), where.length()) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    int problem = ETIMEDOUT;
    socklen_t length = sizeof problem;
    if (wait_for(socket, POLLOUT, stop, patience) == Waited::ready) {
        ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &problem, &length);
    }
    return problem;
}

}  // namespace

Result<Control> connect_control(const std::string& address, int port, Patience limit, const Stop& stop) {
    const auto where = parse_address(address, port);
    if (!where) return Error{"connect to " + address + ": not an IP address"};
    const Deadline deadline{limit};
    while (true) {
        Fd socket{::socket(where->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
        if (!socket) return os_error("connect to the publisher");
        const int problem = connect_within(socket, *where, stop, deadline.left());
        if (problem == 0) {
            const int yes = 1;
            ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
            return Control{std::move(socket), stop};
        }
        if (stop.requested()) return Stop::error();
        if (deadline.passed())
            return of_control_port(os_error("no publisher at " + to_text(*where) + ": connect", problem));
        const timespec pause{0, 50'000'000};
        ::nanosleep(&pause, nullptr);
    }
}

namespace {

/// Returns the part of the word around the offset `at`, or the whole word if it is short.
std::string excerpt(const std::string& word, std::size_t at) {
    constexpr std::size_t longest = 160;
    constexpr std::size_t before = 60;
    if (word.size() <= longest) return word;
    const std::size_t begin = at > before ? at - before : 0;
    const std::string key = begin > 0 ? word.substr(0, word.find('=') + 1) + "..." : "";
    return key + word.substr(begin, longest) + (begin + longest < word.size() ? "..." : "");
}

/// Returns the first word that differs, for an error message: "sizes_bytes=64 here, sizes_bytes=16 there".
std::string difference(const std::string& here, const std::string& there) {
    std::size_t start = 0;
    while (start < here.size()) {
        const std::size_t end = std::min(here.find(' ', start), here.size());
        const std::size_t other_end = std::min(there.find(' ', start), there.size());
        const std::string mine = here.substr(start, end - start);
        const std::string theirs = start < there.size() ? there.substr(start, other_end - start) : "nothing";
        const auto first = std::mismatch(mine.begin(), mine.end(), theirs.begin(), theirs.end()).first;
        const auto at = static_cast<std::size_t>(first - mine.begin());
        if (mine != theirs) return excerpt(mine, at) + " here, " + shown(excerpt(theirs, at)) + " there";
        start = end + 1;
    }
    return "the other side was told more";
}

}  // namespace

Result<std::size_t> greet_subscriber(Control& control, const std::string& agreement, Patience limit,
                                     const std::vector<std::size_t>& free_numbers) {
    const auto hello = control.expect(FrameKind::hello, limit);
    return hello ? answer_hello(control, *hello, agreement, free_numbers) : hello.error();
}

Result<std::size_t> answer_hello(Control& control, const Frame& frame, const std::string& agreement,
                                 const std::vector<std::size_t>& free_numbers, std::uint64_t secret) {
    const auto hello = read_frame<HelloFrame>(frame);
    Error problem;
    if (hello.version != protocol_version) {
        problem.text = "control channel: version " + std::to_string(protocol_version) + " here, " +
                       std::to_string(hello.version) + " there";
    } else if (secret != 0 && hello.secret != secret) {
        problem.text = "a subscriber that does not know the secret of this run";
    } else if (free_numbers.empty()) {
        problem.text = "this run has all its subscribers";
    } else if (hello.agreement != agreement) {
        problem.text = "the two sides were given different options: " + difference(agreement, hello.agreement);
    }
    if (problem.text.empty()) {
        const auto wished = std::find(free_numbers.begin(), free_numbers.end(), hello.place);
        const std::size_t number = wished == free_numbers.end() ? free_numbers.front() : *wished;
        const auto sent = control.send(frame_of(HelloFrame{.place = number, .agreement = agreement}));
        return sent ? Result<std::size_t>{number} : sent.error();
    }
    if (const auto told = control.send({FrameKind::refused, {}, problem.text}); !told) return told.error();
    return problem;
}

Result<std::size_t> greet_publisher(Control& control, const std::string& agreement, Patience limit, std::size_t wish,
                                    std::uint64_t secret) {
    const auto sent =
        control.send(frame_of(HelloFrame{.place = wish, .secret = secret, .agreement = agreement}), limit);
    if (!sent) return sent.error();
    const auto answer = control.expect(FrameKind::hello, limit);
    if (!answer) return answer.error();
    const auto hello = read_frame<HelloFrame>(*answer);
    if (hello.version != protocol_version) return foreign();
    return std::size_t{hello.place};
}

}  // namespace tacholog
