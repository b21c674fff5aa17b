#include "transports/udp_batch.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <array>
#include <vector>

#include "base/address.hpp"
#include "transports/ip_endpoint.hpp"
#include "transports/socket_wait.hpp"
#include "transports/udp_segments.hpp"
#include "transports/udp_socket.hpp"

namespace tacholog {
namespace {

/// The control data of a datagram, which holds one number: the segment size. It is used for sending and for receiving.
struct alignas(cmsghdr) SegmentNote {
    std::array<std::byte, CMSG_SPACE(sizeof(int))> bytes;
};

class BatchedUdpPublisher final : public Publisher {
public:
    BatchedUdpPublisher(Fd socket, std::uint64_t stream, const Topic& topic, std::string peer)
        : Publisher(topic.max_bytes),
          socket_(std::move(socket)),
          wait_(topic.waiting, SocketWait::For::sending),
          header_{stream, 0, 0, 0},
          batch_messages_(topic.batch_messages),
          buffer_(topic.batch_messages * (sizeof header_ + topic.max_bytes)),
          peer_(std::move(peer)) {
        // A kernel that does not know this option would send a whole group as one datagram.
        const int none = 0;
        if (::setsockopt(socket_.get(), SOL_UDP, UDP_SEGMENT, &none, sizeof none) != 0) groups_.limit(1);
    }

    Facts facts() const override { return socket_facts(socket_); }
    std::string_view batched_by() const override { return groups_.limit() > 1 ? "udp-segment" : "sendmmsg"; }

    Result<Done> flush(Patience patience) override {
        if (held_ == 0) return Done::yes;
        return send_all(patience);
    }

private:
    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        header_.total_bytes = static_cast<std::uint32_t>(bytes);
        std::memcpy(buffer_.data() + end_, &header_, sizeof header_);
        return std::span{buffer_}.subspan(end_ + sizeof header_, bytes);
    }

    Result<Done> commit(Patience patience) override {
        if (!committed_) {  // otherwise this call repeats an earlier one
            groups_.add(sizeof header_ + header_.total_bytes);
            end_ += sizeof header_ + header_.total_bytes;
            ++header_.message;
            ++held_;
        }
        committed_ = held_ == batch_messages_;
        return committed_ ? send_all(patience) : Result<Done>{Done::yes};
    }

    // Continues after `not_yet` with the group that did not fit. No group is sent twice.
    Result<Done> send_all(Patience patience) {
        wait_.begin(socket_, patience);
        while (!groups_.unsent().empty()) {
            const int took = send_groups();
            if (took > 0) {
                groups_.sent(static_cast<std::size_t>(took));
            } else if (refused_to_cut(errno)) {
                groups_.limit(groups_.limit() > SegmentGroups::most_segments / 2 ? SegmentGroups::most_segments / 2
                                                                                 : 1);
            } else if (errno != EAGAIN && errno != ENOBUFS && errno != EINTR) {
                return os_error("send to " + peer_);
            } else if (!wait_.again()) {
                return Done::not_yet;
            }
        }
        groups_.clear();
        held_ = end_ = 0;
        committed_ = false;
        return Done::yes;
    }

    /// Returns true if the error number `problem` means that the kernel refused to cut a group into datagrams. There
    /// are three possible reasons: the kernel has a smaller limit, the MTU is too small for the messages, or the
    /// network card cannot compute checksums.
    bool refused_to_cut(int problem) const {
        return groups_.limit() > 1 && (problem == EINVAL || problem == EMSGSIZE || problem == EIO);
    }

    int send_groups() {
        const auto groups = groups_.unsent();
        datagrams_.resize(groups.size());
        parts_.resize(groups.size());
        notes_.resize(groups.size());
        for (std::size_t at = 0; at < groups.size(); ++at) {
            parts_[at] = {buffer_.data() + groups[at].offset, groups[at].bytes};
            datagrams_[at] = {};
            datagrams_[at].msg_hdr.msg_iov = &parts_[at];
            datagrams_[at].msg_hdr.msg_iovlen = 1;
            if (groups[at].bytes > groups[at].segment_bytes) ask_to_cut(datagrams_[at].msg_hdr, notes_[at], groups[at]);
        }
        return ::sendmmsg(socket_.get(), datagrams_.data(), static_cast<unsigned>(datagrams_.size()),
                          MSG_NOSIGNAL | wait_.flags());
    }

    static void ask_to_cut(msghdr& datagram, SegmentNote& note, const SegmentGroup& group) {
        const auto segment_bytes = static_cast<std::uint16_t>(group.segment_bytes);
        datagram.msg_control = note.bytes.data();
        datagram.msg_controllen = CMSG_SPACE(sizeof segment_bytes);
        cmsghdr* said = CMSG_FIRSTHDR(&datagram);
        said->cmsg_level = SOL_UDP;
        said->cmsg_type = UDP_SEGMENT;
        said->cmsg_len = CMSG_LEN(sizeof segment_bytes);
        std::memcpy(CMSG_DATA(said), &segment_bytes, sizeof segment_bytes);
    }

    // Takes the last message out of the batch. The kernel sends groups in order, and each group as a whole. So if any
    // part of the batch was not sent, the last message of the batch was not sent either.
    void abandon() noexcept override {
        if (!committed_) return;
        groups_.take_back(sizeof header_ + header_.total_bytes);
        end_ -= sizeof header_ + header_.total_bytes;
        --header_.message;
        --held_;
        committed_ = false;
    }

    Fd socket_;
    SocketWait wait_;
    FragmentHeader header_;
    std::size_t batch_messages_;
    std::vector<std::byte> buffer_;
    std::string peer_;
    SegmentGroups groups_;
    std::size_t held_ = 0;    ///< messages in the buffer
    std::size_t end_ = 0;     ///< where the next message begins
    bool committed_ = false;  ///< the loaned message is already in the buffer
    std::vector<mmsghdr> datagrams_;
    std::vector<iovec> parts_;
    std::vector<SegmentNote> notes_;
};

class BatchedUdpSubscriber final : public Subscriber {
public:
    BatchedUdpSubscriber(Fd socket, std::uint64_t stream, const Topic& topic)
        : socket_(std::move(socket)),
          wait_(topic.waiting, SocketWait::For::receiving),
          stream_(stream),
          max_bytes_(topic.max_bytes) {
        const int yes = 1;
        const bool together = ::setsockopt(socket_.get(), SOL_UDP, UDP_GRO, &yes, sizeof yes) == 0;
        // A slot has room for one byte more than our longest datagram. Without this byte, a longer datagram of another
        // program would be truncated to a valid length.
        slot_bytes_ = together ? longest_together : sizeof(FragmentHeader) + max_bytes_ + 1;
        slots_.resize(together ? slots_together : std::min(topic.batch_messages, slots_alone));
        buffer_.resize(slots_.size() * slot_bytes_);
        parts_.resize(slots_.size());
        notes_.resize(slots_.size());
    }

    std::string endpoint() const override { return IpEndpoint{local_address(socket_), stream_}.text(); }
    Result<Done> match(Patience) override { return Done::yes; }  // nothing to wait for: a bound socket can receive

    Facts facts() const override { return socket_facts(socket_); }

private:
    static constexpr std::size_t longest_together = 65536;
    static constexpr std::size_t slots_together = 8;  // more slots do not fit in the second-level cache
    static constexpr std::size_t slots_alone = 64;

    Result<std::span<const std::byte>> receive(Patience patience) override {
        if (const auto message = next(); message.data() != nullptr) [[likely]]
            return message;
        wait_.begin(socket_, patience);
        while (true) {
            if (receive_some()) {
                const auto message = next();
                if (message.data() != nullptr) return message;
                if (!wait_.goes_on()) return std::span<const std::byte>{};
            } else if (errno != EAGAIN && errno != EINTR && errno != ECONNREFUSED) {
                return os_error("receive on " + endpoint());
            } else if (!wait_.again()) {
                return std::span<const std::byte>{};
            }
        }
    }

    std::span<const std::byte> next() {
        while (true) {
            while (!segments_.empty()) {
                const auto message = whole_message(segments_.next(), stream_, max_bytes_);
                if (message.data() != nullptr) return message;
            }
            if (next_slot_ == filled_) return {};
            segments_ = segments_at(next_slot_++);
        }
    }

    Segments segments_at(std::size_t slot) {
        msghdr& datagram = slots_[slot].msg_hdr;
        if ((datagram.msg_flags & MSG_TRUNC) != 0) return {};
        std::size_t segment_bytes = slots_[slot].msg_len;
        for (cmsghdr* said = CMSG_FIRSTHDR(&datagram); said != nullptr; said = CMSG_NXTHDR(&datagram, said)) {
            if (said->cmsg_level != SOL_UDP || said->cmsg_type != UDP_GRO) continue;
            int told = 0;
            std::memcpy(&told, CMSG_DATA(said), sizeof told);
            if (told > 0) segment_bytes = static_cast<std::size_t>(told);
        }
        return {std::span{buffer_}.subspan(slot * slot_bytes_, slots_[slot].msg_len), segment_bytes};
    }

    /// Waits for one datagram. Then also receives all others that have arrived. Returns false if none arrived.
    bool receive_some() {
        for (std::size_t at = 0; at < slots_.size(); ++at) {
            parts_[at] = {buffer_.data() + at * slot_bytes_, slot_bytes_};
            slots_[at] = {};
            slots_[at].msg_hdr.msg_iov = &parts_[at];
            slots_[at].msg_hdr.msg_iovlen = 1;
            slots_[at].msg_hdr.msg_control = notes_[at].bytes.data();
            slots_[at].msg_hdr.msg_controllen = notes_[at].bytes.size();
        }
        const int taken = ::recvmmsg(socket_.get(), slots_.data(), static_cast<unsigned>(slots_.size()),
                                     MSG_WAITFORONE | wait_.flags(), nullptr);
        next_slot_ = 0;
        filled_ = static_cast<std::size_t>(std::max(taken, 0));
        return taken > 0;
    }

    void release() noexcept override {}

    Fd socket_;
    SocketWait wait_;
    std::uint64_t stream_;
    std::size_t max_bytes_;
    std::size_t slot_bytes_ = 0;
    std::vector<std::byte> buffer_;
    std::vector<mmsghdr> slots_;
    std::vector<iovec> parts_;
    std::vector<SegmentNote> notes_;
    std::size_t filled_ = 0;  ///< slots that the last call filled
    std::size_t next_slot_ = 0;
    Segments segments_;  ///< what is not yet returned of the slot before next_slot_
};

}  // namespace

std::unique_ptr<Publisher> batched_udp_publisher(Fd socket, std::uint64_t stream, const Topic& topic,
                                                 std::string peer) {
    return std::make_unique<BatchedUdpPublisher>(std::move(socket), stream, topic, std::move(peer));
}

std::unique_ptr<Subscriber> batched_udp_subscriber(Fd socket, std::uint64_t stream, const Topic& topic) {
    return std::make_unique<BatchedUdpSubscriber>(std::move(socket), stream, topic);
}

}  // namespace tacholog
