// How a subscriber comes to the shared memory that its publisher made: the publisher creates a memfd, which only a
// descriptor leads to, and hands that over the subscriber's local socket, which then tells either side that the other
// is dead.
#pragma once

#include <sys/mman.h>

#include <optional>
#include <utility>

#include "transports/local_socket.hpp"
#include "transports/spsc_ring.hpp"

namespace tacholog {

/// The publisher's end.
struct OfferedMemory {
    Mapping mapping;
    Fd socket;
};

/// Creates `bytes` of zeros, and hands them to the subscriber that listens as `name`.
inline Result<OfferedMemory> offer_memory(const std::string& name, std::size_t bytes, std::size_t max_bytes) {
    const Fd memory{::memfd_create("tacholog", MFD_CLOEXEC)};
    if (!memory) return os_error("create shared memory");
    if (::ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0) return os_error("size shared memory");
    auto mapping = Mapping::map(memory.get(), bytes);
    if (!mapping) return mapping.error();
    auto socket = connect_locally(name);
    if (!socket) return socket.error();
    if (!send_descriptor(*socket, memory, max_bytes)) return os_error("send to @" + name);
    return OfferedMemory{std::move(*mapping), std::move(*socket)};
}

/// The subscriber's end.
class MemoryTaker {
public:
    MemoryTaker(Fd listener, std::string name, std::size_t max_bytes)
        : listener_(std::move(listener)), name_(std::move(name)), max_bytes_(max_bytes) {}

    const std::string& name() const { return name_; }
    std::size_t max_bytes() const { return max_bytes_; }
    bool publisher_hung_up() const { return hung_up(socket_); }

    /// `bytes` of memory from the publisher; nothing if it has not come within `patience`.
    Result<std::optional<Mapping>> take(Patience patience, std::size_t bytes) {
        const Deadline deadline{patience};
        if (!socket_) {
            if (!readable(listener_, deadline)) return std::optional<Mapping>{};
            socket_ = Fd{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
            if (!socket_) return os_error("accept @" + name_);
        }
        if (!readable(socket_, deadline)) return std::optional<Mapping>{};
        std::size_t max_bytes = 0;
        const auto memory = receive_descriptor(socket_, max_bytes);
        if (!memory) return memory.error();
        if (max_bytes != max_bytes_) return Error{"join " + name_ + ": the sides differ in message size"};
        auto mapping = Mapping::map(memory->get(), bytes);
        if (!mapping) return mapping.error();
        return std::optional{std::move(*mapping)};
    }

private:
    Fd listener_;
    Fd socket_;
    std::string name_;
    std::size_t max_bytes_;
};

}  // namespace tacholog
