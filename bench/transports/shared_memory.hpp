// How a subscriber gets the shared memory of its publisher. The publisher creates a memfd, which has no name and can
// only be reached by its descriptor. It sends the descriptor over the local socket of the subscriber. Later, each side
// notices by the same socket if the other side has died.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "transports/broadcast_ring.hpp"
#include "transports/local_endpoint.hpp"
#include "transports/local_socket.hpp"
#include "transports/meeting_place.hpp"
#include "transports/transport.hpp"

namespace tacholog {

/// The publisher's side of the shared memory.
struct OfferedMemory {
    std::shared_ptr<const Mapping> mapping;
    std::vector<Fd> sockets;  ///< one socket for each subscriber

    bool a_subscriber_hung_up() const { return std::any_of(sockets.begin(), sockets.end(), hung_up); }
};

/// Maps the memory only once per process. If both sides are threads of one process, a race detector must see one
/// address: with two, it would not know that they share the memory.
inline Result<std::shared_ptr<const Mapping>> map_once(const Fd& memory, const struct stat& facts, std::size_t bytes) {
    using Place = MeetingPlace<const Mapping>;
    const std::string inode = std::to_string(facts.st_dev) + ":" + std::to_string(facts.st_ino);
    if (auto mapped = Place::instance().join(inode)) return mapped;
    auto mapping = Mapping::map(memory.get(), bytes);
    if (!mapping) return mapping.error();
    auto shared = std::make_shared<const Mapping>(std::move(*mapping));
    Place::instance().open(inode, shared);
    return shared;
}

inline std::byte* behind_head(const Mapping& mapping) {
    return mapping.start() + sizeof(MemoryHead);
}

/// Creates shared memory, and sends it to the subscribers at these endpoints. The memory begins with a head. Behind the
/// head are `bytes` bytes, which are all zero.
inline Result<OfferedMemory> offer_memory(std::span<const std::string> endpoints, std::size_t bytes,
                                          std::size_t max_bytes) {
    const std::size_t whole = sizeof(MemoryHead) + bytes;
    const Fd memory{::memfd_create("tacholog", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    if (!memory) return os_error("create shared memory");
    if (::ftruncate(memory.get(), static_cast<off_t>(whole)) != 0) return os_error("size shared memory");
    if (::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) return os_error("seal shared memory");
    struct stat facts{};
    if (::fstat(memory.get(), &facts) != 0) return os_error("look at shared memory");
    auto mapping = map_once(memory, facts, whole);
    if (!mapping) return mapping.error();
    new ((*mapping)->start()) MemoryHead{.bytes = bytes};
    OfferedMemory offered{std::move(*mapping), {}};
    for (const std::string& endpoint : endpoints) {
        auto socket = connect_to_local(endpoint);
        if (!socket) return socket.error();
        const MemoryOffer offer{max_bytes, offered.sockets.size()};
        if (!send_descriptor(*socket, memory, offer)) return os_error("send the shared memory to the subscriber");
        offered.sockets.push_back(std::move(*socket));
    }
    return offered;
}

/// The subscriber's side of the shared memory.
class MemoryTaker {
public:
    MemoryTaker(std::unique_ptr<LocalAcceptor> acceptor, const Topic& topic)
        : acceptor_(std::move(acceptor)),
          name_(topic.name),
          max_bytes_(topic.max_bytes),
          audience_(topic.audience),
          waiting_(topic.waiting) {}

    const std::string& name() const { return name_; }
    std::string endpoint() const { return acceptor_->endpoint(); }
    std::size_t max_bytes() const { return max_bytes_; }
    const Audience& audience() const { return audience_; }
    Waiting waiting() const { return waiting_; }
    std::size_t reader_index() const { return reader_index_; }  ///< valid once the subscriber has received the memory
    bool publisher_hung_up() const { return hung_up(socket_); }

    /// Receives the memory from the publisher, and maps it. The memory must have the size `bytes` behind its head.
    /// Returns null if the memory has not arrived within `patience`.
    Result<std::shared_ptr<const Mapping>> take(Patience patience, std::size_t bytes) {
        const std::shared_ptr<const Mapping> none;
        const Deadline deadline{patience};
        if (!socket_) {
            auto publisher = acceptor_->wait(deadline.left());
            if (!publisher) return publisher.error();
            if (!*publisher) return none;
            socket_ = std::move(*publisher);
        }
        if (!readable(socket_, deadline)) return none;
        MemoryOffer offer;
        const auto memory = receive_descriptor(socket_, offer);
        if (!memory) return memory.error();
        if (offer.max_bytes != max_bytes_) return Error{"join " + name_ + ": the sides differ in message size"};
        if (offer.reader >= audience_.subscribers) return Error{"join " + name_ + ": the sides differ in subscribers"};
        reader_index_ = offer.reader;
        struct stat facts{};
        if (!holds(*memory, sizeof(MemoryHead), facts)) return not_as_agreed();
        if (auto known = check_head(*memory, bytes); !known) return known.error();
        if (!holds(*memory, sizeof(MemoryHead) + bytes, facts)) return not_as_agreed();
        return map_once(*memory, facts, sizeof(MemoryHead) + bytes);
    }

private:
    Error not_as_agreed() const { return Error{"join " + name_ + ": the publisher's memory is not as agreed"}; }

    /// Nothing is mapped before this check, because the layout behind a wrong head is unknown.
    Result<void> check_head(const Fd& memory, std::size_t bytes) const {
        MemoryHead head{};
        if (::pread(memory.get(), &head, sizeof head, 0) != static_cast<ssize_t>(sizeof head)) return not_as_agreed();
        if (head.magic != MemoryHead::right_magic) {
            return Error{"join " + name_ +
                         ": the publisher's memory does not begin as ours does: it is of another program"};
        }
        if (head.version != MemoryHead::right_version) {
            return Error{"join " + name_ + ": the layout of the publisher's memory has version " +
                         std::to_string(head.version) + ", this program has " +
                         std::to_string(MemoryHead::right_version)};
        }
        return head.bytes == bytes ? Result<void>{} : not_as_agreed();
    }

    /// Also checks that the memory cannot shrink: an access beyond its end would kill this process.
    static bool holds(const Fd& memory, std::size_t bytes, struct stat& facts) {
        const int seals = ::fcntl(memory.get(), F_GET_SEALS);
        if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return false;
        return ::fstat(memory.get(), &facts) == 0 && facts.st_size >= static_cast<off_t>(bytes);
    }

    std::unique_ptr<LocalAcceptor> acceptor_;
    Fd socket_;
    std::string name_;
    std::size_t max_bytes_;
    Audience audience_;
    Waiting waiting_;
    std::size_t reader_index_ = 0;
};

}  // namespace tacholog
