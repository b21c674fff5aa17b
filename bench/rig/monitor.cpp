#include "rig/monitor.hpp"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <vector>

#include "machine/environment.hpp"
#include "machine/resources.hpp"

namespace tacholog {
namespace {

/// The measuring thread does not wake the monitor, because that would be a system call.
constexpr Nanoseconds look_every_ns = 5'000'000;

/// If the monitor shares a CPU with measuring threads, the time between two `alive` frames is as long as possible. It
/// is also chosen so that frames do not fall on the ends of intervals: both monitors together need 150 us for a frame,
/// which would disturb every interval of 10 s.
Nanoseconds alive_every(const Placement& placement, Patience limit) {
    constexpr double share_of_limit = 0.47;
    const Nanoseconds longest = to_nanoseconds(limit * share_of_limit);
    return placement.live ? std::min(nanoseconds_per_second, longest) : longest;
}

/// If measuring threads have a real-time priority, the monitor gets a higher one. They never sleep, so a monitor of
/// equal priority could not receive the end of a phase.
void come_before_who_measures() {
    sched_param parameters{};
    int policy = SCHED_OTHER;
    if (::pthread_getschedparam(::pthread_self(), &policy, &parameters) != 0) return;
    if (policy != SCHED_FIFO && policy != SCHED_RR) return;
    parameters.sched_priority = std::min(parameters.sched_priority + 1, ::sched_get_priority_max(policy));
    ::pthread_setschedparam(::pthread_self(), policy, &parameters);
}

}  // namespace

Monitor::Monitor(std::span<Control> peers, Placement placement, Patience limit)
    : peers_(peers),
      placement_(std::move(placement)),
      alive_every_ns_(alive_every(placement_, limit)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!wake_) fail(os_error("wake the thread that reports"));
    thread_ = std::thread{[this] { work(); }};
    // Waits until the thread has its own table of descriptors. If a socket were opened earlier, the table would have a
    // copy of it, and the socket would stay open.
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return state_ != State::starting; });
}

Monitor::~Monitor() {
    end();
    {
        const std::lock_guard lock{mutex_};
        state_ = State::over;
    }
    changed_.notify_all();
    thread_.join();
}

void Monitor::begin(Duty duty) {
    {
        const std::lock_guard lock{mutex_};
        duty_ = std::move(duty);
        asked_to_end_ = false;
        state_ = State::watching;
    }
    changed_.notify_all();
}

void Monitor::end() {
    std::unique_lock lock{mutex_};
    if (state_ != State::watching) return;
    asked_to_end_ = true;
    // If the write fails, the monitor's thread notices the end of the phase later: when it next checks for work.
    static_cast<void>(::eventfd_write(wake_.get(), 1));
    changed_.wait(lock, [this] { return state_ != State::watching; });
    duty_ = {};
}

Error Monitor::explained(Error error) const {
    if (!trouble()) return error;
    return error_->code == Code::peer_gave_up ? *error_ : error;
}

void Monitor::work() {
    ::pthread_setname_np(::pthread_self(), "rig-monitor");
    // The thread has inherited the CPUs of the measuring thread. If it may not use other CPUs, it disturbs the
    // measurement, but the run continues.
    static_cast<void>(pin("reporting", placement_.reporting).has_value());
    come_before_who_measures();
    // The two threads stop sharing their table of descriptors. As long as they share it, the kernel counts the users of
    // a file at every call, which took 2 % of a round trip over udp. If unshare fails, the run continues with the
    // shared table.
    static_cast<void>(::unshare(CLONE_FILES));
    const Usage usage{UsageOf::thread};
    std::unique_lock lock{mutex_};
    state_ = State::idle;
    changed_.notify_all();
    while (true) {
        changed_.wait(lock, [this] { return state_ != State::idle; });
        if (state_ == State::over) return;
        lock.unlock();
        watch();
        lock.lock();
        used_ = usage.so_far();
        state_ = State::idle;
        changed_.notify_all();
    }
}

void Monitor::watch() {
    Nanoseconds next_alive_ns = now_ns() + alive_every_ns_;
    while (!asked_to_end_) {
        if (!attend(next_alive_ns)) rest(next_alive_ns);
    }
    std::uint64_t count = 0;
    static_cast<void>(::eventfd_read(wake_.get(), &count));
}

/// Returns true if more work may be waiting.
bool Monitor::attend(Nanoseconds& next_alive_ns) {
    if (trouble()) return false;
    const auto more = without_exceptions([&] { return look(next_alive_ns); });
    if (!more.has_value()) fail(more.error());
    return more.has_value() && *more;
}

Result<bool> Monitor::look(Nanoseconds& next_alive_ns) {
    const auto more = listen();
    if (!more.has_value()) return more;
    if (duty_.live && duty_.collect) {
        if (auto collected = duty_.collect(); !collected) return collected.error();
    }
    if (now_ns() < next_alive_ns) return more;
    next_alive_ns = now_ns() + alive_every_ns_;
    if (duty_.alive) {
        if (auto told = tell_alive(); !told) return told.error();
    }
    return more;
}

/// Reads only some frames of each peer, so that a peer that never stops sending does not keep the others waiting.
/// Returns whether there may be more frames.
Result<bool> Monitor::listen() {
    bool may_be_more = false;
    for (std::size_t who = 0; who < peers_.size(); ++who) {
        bool is_empty = false;
        for (int count = 0; count < frames_a_look && !is_empty; ++count) {
            const auto frame = peers_[who].poll();
            if (!frame) return frame.error();
            is_empty = !*frame;
            if (is_empty) continue;
            frames_.fetch_add(1, std::memory_order_relaxed);
            const auto fine = duty_.heard ? duty_.heard(**frame, who) : Result<void>{out_of_step(peers_[who])};
            if (!fine) return fine.error();
        }
        may_be_more = may_be_more || !is_empty;
    }
    return may_be_more;
}

Result<void> Monitor::tell_alive() {
    for (Control& peer : peers_) {
        if (auto sent = peer.send({FrameKind::alive}); !sent) return sent;
    }
    return {};
}

void Monitor::rest(Nanoseconds limit_ns) {
    std::vector<pollfd> waiting{{wake_.get(), POLLIN, 0}};
    std::optional<Nanoseconds> time_ns;
    if (!trouble()) {
        for (const Control& peer : peers_) {
            for (const int descriptor : peer.descriptors()) waiting.push_back({descriptor, POLLIN, 0});
        }
        const bool looks = duty_.live && duty_.collect;
        if (duty_.alive) time_ns = std::max<Nanoseconds>(0, limit_ns - now_ns());
        if (looks) time_ns = std::min(time_ns.value_or(look_every_ns), look_every_ns);
    }
    if (!wake_) time_ns = look_every_ns;
    const Nanoseconds rest_ns = time_ns.value_or(0);
    const timespec time{rest_ns / nanoseconds_per_second, rest_ns % nanoseconds_per_second};
    ::ppoll(waiting.data(), waiting.size(), time_ns ? &time : nullptr, nullptr);
}

void Monitor::fail(Error error) {
    error_ = std::move(error);
    trouble_.store(true, std::memory_order_release);
}

}  // namespace tacholog
