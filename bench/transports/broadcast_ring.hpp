// A ring of message slots in shared memory. One writer broadcasts to one or more readers, and every reader reads every
// slot.
//
// A slot begins with one word that holds the turn and the length of its message. The payload follows directly, so up to
// 56 bytes of payload lie in the same cache line as the word that the reader polls. There is no shared head index. Each
// reader stores its progress in a cache line of its own. The writer reads these lines only when the ring looks full,
// or, if slots are not used in order, after it has published a message.
//
// The turn of a message is its sequence number, from 0. Small messages use the slots in order: turn t uses slot t
// modulo the number of slots. Large messages would evict each other from the caches that way, so the writer reuses the
// slot that was released last (RingShape::reuses_last). The rest of this comment describes the protocol for large
// messages.
//
// The shared memory holds the slots, the progress of the readers, and an index with one line per slot. Turn t uses
// index line t modulo the number of slots.
// - The word of a slot holds mark(t), of 31 bits, and the length, for the last message t that was written to this slot.
// - The index line of turn t holds the whole turn and its slot (indexed). It is written only if readers need it.
// - likely(t) is the slot where readers expect turn t: the slot of turn t - 2, and slot t for t < 2. A writer whose
//   slots are released quickly alternates between two slots, so that readers do not need the index.
//
// The writer keeps each slot in one of three variables: `slot_` (the slot of the next message), `free_` (a stack of the
// slots that all readers have released), and `used_` (the slots of the turns from `released_` to `turn_`, which a
// reader may still read). It publishes turn t from slot s as follows:
//   1. It checks that another slot will be free afterwards: t + 1 - released_ < slots. If not, it reads the progress
//      of the readers, and waits if necessary. If writing a message takes long, it reads the progress in any case, and
//      uses a slot that has been released since (choose_last).
//   2. It writes the payload (unless this was done in place before), then the word of s with mark(t) (release).
//   3. If s is not likely(t), it writes the index line of t (release), after the word.
//   4. It reads the progress of the readers (acquire). The slots of the turns that all readers have released move from
//      `used_` to `free_`, in such an order that the oldest of them is on top. The top of `free_` becomes `slot_`.
// A reader that waits for turn t does the following:
//   1. It reads the word of likely(t) (acquire), which is the slot where it found turn t - 2. If the word has mark(t),
//      the message is there.
//   2. Otherwise it reads the index line of t (acquire). If the line names turn t and a slot, it reads the word of that
//      slot.
//   3. If neither has the turn, the message has not been published yet. The reader announces what it has released, and
//      polls or sleeps.
//   4. After reading turn t, it counts the turn as released. It announces its releases in batches (release).
//
// Why this is safe: a slot is written again only after all readers have released its turn, so nobody reads a slot while
// it is being written. The word of likely(t) belongs to turn t - 2 or a newer one, never to an older one. It cannot
// belong to turn t - 2^31, so 31 bits are enough. An index line stays unchanged as long as readers find their messages
// without it, so it must hold the whole turn. The line of turn t is overwritten for turn t + slots, and step 1 of the
// writer delays that turn until t is released.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/message.hpp"
#include "base/result.hpp"
#include "transports/parking.hpp"

namespace tacholog {

inline constexpr std::size_t cache_line = 64;

/// The size of a pair of cache lines. Processors fetch cache lines in pairs: a request for one line also fetches the
/// other line of its pair. A small message takes two lines. If these lines belong to different pairs, the second line
/// may arrive later than the first.
inline constexpr std::size_t line_pair = 2 * cache_line;

constexpr std::size_t at_line_pair(std::size_t offset) {
    return (offset + line_pair - 1) / line_pair * line_pair;
}

struct alignas(cache_line) ReaderProgress {
    std::atomic<std::uint64_t> released{0};  ///< messages that the reader has released
};

struct RingHeader {
    alignas(cache_line) std::atomic<bool> writer_left{false};
    std::atomic<bool> reader_left{false};
    Parking reader;  ///< all readers wait here for a message, unless they poll
    Parking writer;  ///< the writer waits here for a free slot, unless it polls
};

using SlotWord = std::atomic<std::uint64_t>;  // turn << 32 | payload bytes
static_assert(SlotWord::is_always_lock_free);

enum class Written { in_place, elsewhere };

/// An index line tells which slot has the message of a turn. It is needed only if the ring does not use its slots in
/// order; see Ring::indexed.
struct alignas(cache_line) IndexLine {
    std::atomic<std::uint64_t> word{0};
};

struct RingShape {
    static constexpr std::size_t most_slots = 1024;

    std::size_t max_bytes = 0;
    std::size_t slots = 0;
    std::size_t stride = 0;
    std::size_t readers = 1;
    /// If true, the slot that was released last is reused; otherwise all slots are used in order.
    bool reuses_last = false;
    std::size_t lead = 0;  ///< bytes before the word of a slot

    /// Small messages get many slots, so that no side has to wait for the other. Large messages get few slots, so that
    /// the next slot to be written is still in the cache.
    static RingShape for_messages(std::size_t max_bytes, std::size_t readers, Written written) {
        constexpr std::size_t cached = std::size_t{512} * 1024;
        const std::size_t lead = max_bytes < least_aligned_bytes ? 0 : aligning_lead(written);
        const std::size_t stride = (lead + sizeof(SlotWord) + max_bytes + cache_line - 1) / cache_line * cache_line;
        const std::size_t slots = std::bit_floor(std::clamp<std::size_t>(cached / stride, 4, most_slots));
        return {max_bytes, slots, stride, readers, stride > most_in_turn(written), lead};
    }

    std::size_t index_at() const { return sizeof(RingHeader) + readers * sizeof(ReaderProgress); }
    std::size_t slots_at() const { return at_line_pair(index_at() + (reuses_last ? slots * sizeof(IndexLine) : 0)); }
    std::size_t bytes() const { return slots_at() + slots * stride; }

    /// The least `max_bytes` of a ring whose payloads are aligned to cache lines. A copied payload starts at the
    /// beginning of a line, because copying 512 bytes then takes a quarter less time (a virtual machine with 2 CPUs,
    /// 2026-11-22). A payload that is written in place begins with a message header, and the part after this header
    /// starts at the beginning of a line. So the header lies in the same line as the word of the slot, and a reader may
    /// need only this line.
    static constexpr std::size_t least_aligned_bytes = std::size_t{2} * cache_line;
    static constexpr std::size_t aligning_lead(Written written) {
        return cache_line - sizeof(SlotWord) - (written == Written::in_place ? message_header_bytes : 0);
    }

    /// The largest stride at which slots are used in order. In this order, a slot is overwritten late, when caches may
    /// have evicted it. That is faster than overwriting a slot that a reader still has in its cache. A copy also needs
    /// cache space for its source buffer, so it uses slots in order up to a larger stride.
    static constexpr std::size_t most_in_turn(Written written) {
        return std::size_t{1024} * (written == Written::in_place ? 192 : 2048);
    }
};

/// Anonymous or file-backed shared memory. All pages are allocated at the start.
class Mapping {
public:
    static Result<Mapping> map(int fd, std::size_t bytes) {
        const int flags = MAP_SHARED | MAP_POPULATE | (fd < 0 ? MAP_ANONYMOUS : 0);
        void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
        if (start == MAP_FAILED) return os_error("map " + std::to_string(bytes) + " bytes of shared memory");
        return Mapping{static_cast<std::byte*>(start), bytes};
    }

    Mapping() = default;
    Mapping(Mapping&& other) noexcept : start_(std::exchange(other.start_, nullptr)), bytes_(other.bytes_) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(start_, other.start_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Mapping() {
        if (start_ != nullptr) ::munmap(start_, bytes_);
    }

    std::byte* start() const { return start_; }

private:
    Mapping(std::byte* start, std::size_t bytes) : start_(start), bytes_(bytes) {}

    std::byte* start_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Takes the cache line away from the core that has it. This is assembly, because the compiler emits the instruction
/// only if it knows that the target processor has it. Older processors ignore the instruction.
inline void fetch_line_to_write(const std::byte* line) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/// The layout of a ring in memory. Memory filled with zeros is an empty ring.
class Ring {
public:
    Ring() = default;
    Ring(std::byte* start, RingShape shape, Waiting waiting = Waiting::busy_poll)
        : header_(std::launder(reinterpret_cast<RingHeader*>(start))),
          progress_(start + sizeof(RingHeader)),
          index_(start + shape.index_at()),
          slots_(start + shape.slots_at() + shape.lead),
          shape_(shape),
          mask_(shape.slots - 1),
          waiting_(waiting) {}

    Waiting waiting() const { return waiting_; }
    RingHeader& header() const { return *header_; }
    const RingShape& shape() const { return shape_; }
    ReaderProgress& progress(std::size_t reader) const {
        return *std::launder(reinterpret_cast<ReaderProgress*>(progress_ + reader * sizeof(ReaderProgress)));
    }

    /// `slot` may be any number, such as a turn or a slot number from the other side: the remainder after division by
    /// the number of slots is used.
    SlotWord& word(std::uint64_t slot) const { return *std::launder(reinterpret_cast<SlotWord*>(start_of(slot))); }
    std::byte* payload(std::uint64_t slot) const { return start_of(slot) + sizeof(SlotWord); }
    IndexLine& index(std::uint64_t turn) const {
        return *std::launder(reinterpret_cast<IndexLine*>(index_ + (turn & mask_) * sizeof(IndexLine)));
    }

    /// Prefetches the cache lines of a small slot for writing, because a reader has used them. A core executes its
    /// stores in order, so a store to a line that is not in the cache delays all later stores. Without this prefetch,
    /// the rate of small messages was half as high (a virtual machine with 2 CPUs, 2026-11-22). For larger slots, the
    /// hardware prefetcher is faster without help.
    void fetch_to_write(std::uint64_t slot) const {
        if (shape_.stride > 2 * cache_line) return;
        fetch_line_to_write(start_of(slot));
        if (shape_.stride > cache_line) fetch_line_to_write(start_of(slot) + cache_line);
    }

    /// A mark identifies a turn. It is never 0, because a slot filled with zeros must not look like a message.
    static constexpr std::uint64_t mark(std::uint64_t turn) { return ((turn + 1) | 1ULL << 31) & UINT32_MAX; }
    static constexpr std::uint64_t marked(std::uint64_t turn, std::uint64_t what) { return mark(turn) << 32 | what; }

    /// The content of an index line: the whole turn, and the slot. In the word of a slot, a mark is enough to identify
    /// the turn, because this word is overwritten every few turns. In an index line, a mark is not enough. The line is
    /// not written while readers find their messages without the index, and marks may repeat in this time.
    static constexpr std::uint64_t indexed(std::uint64_t turn, std::uint64_t slot) {
        return (turn + 1) << slot_bits | slot;
    }
    static constexpr std::uint64_t indexed_slot(std::uint64_t index) { return index & ((1U << slot_bits) - 1); }

private:
    static constexpr unsigned slot_bits = std::bit_width(RingShape::most_slots - 1);

    std::byte* start_of(std::uint64_t slot) const { return slots_ + (slot & mask_) * shape_.stride; }

    RingHeader* header_ = nullptr;
    std::byte* progress_ = nullptr;
    std::byte* index_ = nullptr;
    std::byte* slots_ = nullptr;
    RingShape shape_;
    std::uint64_t mask_ = 0;
    Waiting waiting_ = Waiting::busy_poll;
};

// A turn is the sequence number of a message. At these two turns, marks start again from the lowest mark, which must
// not be 0.
static_assert(Ring::mark(UINT32_MAX) != 0 && Ring::mark(UINT32_MAX >> 1) != 0);

class RingWriter {
public:
    RingWriter() = default;
    explicit RingWriter(Ring ring) : ring_(ring) {
        if (!ring.shape().reuses_last) return;
        free_.reserve(ring.shape().slots);
        free_.resize(ring.shape().slots - 1);
        std::iota(free_.rbegin(), free_.rend(), 1);
        used_.resize(ring.shape().slots);
    }

    /// The writer always has a slot for the next message.
    std::byte* loan() {
        if (ring_.shape().reuses_last) [[unlikely]]
            prepare();
        return ring_.payload(slot_);
    }

    /// Returns false if this would leave no slot for the next message.
    bool publish(std::size_t bytes) {
        if (ring_.shape().reuses_last) [[unlikely]]
            learn();
        if (!has_another()) return false;
        hand_over(bytes);
        return true;
    }

    /// Returns false if this would leave no slot for the next message.
    bool write(std::span<const std::byte> message) {
        if (!has_another()) return false;
        if (ring_.shape().reuses_last) [[unlikely]]
            choose_last();
        std::memcpy(ring_.payload(slot_), message.data(), message.size());
        hand_over(message.size());
        return true;
    }

private:
    bool has_another() {
        if (turn_ + 1 - released_ < ring_.shape().slots) return true;
        look();
        return turn_ + 1 - released_ < ring_.shape().slots;
    }

    void look() {
        std::uint64_t least = ring_.progress(0).released.load(std::memory_order_acquire);
        for (std::size_t reader = 1; reader < ring_.shape().readers; ++reader)
            least = std::min(least, ring_.progress(reader).released.load(std::memory_order_acquire));
        // A reader has released more than was published: the memory was corrupted.
        if (least - released_ > turn_ - released_) return;
        if (ring_.shape().reuses_last) reclaim(least);
        released_ = least;
    }

    void hand_over(std::size_t bytes) {
        ring_.word(slot_).store(Ring::marked(turn_, bytes), std::memory_order_release);
        ++turn_;
        if (ring_.shape().reuses_last) [[unlikely]] {
            index_and_choose(turn_ - 1);
        } else {
            slot_ = turn_;
            ring_.fetch_to_write(turn_ + turns_ahead);
        }
        if (sleeps(ring_.waiting())) ring_.header().reader.wake();
    }

    // Adds the published message to the index if necessary, reads the progress of the readers, and chooses the next
    // slot. At this time, a reader is processing the published message, so no reader has to wait. The newest slot that
    // can be free by now is the slot of the message before the published one.
    [[gnu::noinline]] void index_and_choose(std::uint64_t published) {
        if (slot_ != likely_slot(published)) {
            ring_.index(published).word.store(Ring::indexed(published, slot_), std::memory_order_release);
        }
        used_[published % used_.size()] = slot_;
        look();
        slot_ = free_.back();
        free_.pop_back();
    }

    /// Readers look for a turn here first. If they find the message, they do not need the index.
    std::uint64_t likely_slot(std::uint64_t turn) const { return turn < 2 ? turn : used_[(turn - 2) % used_.size()]; }

    /// Chooses the slot only if the readers have released it by now. This check takes as long as passing on a message,
    /// so it is done only if writing a message takes long.
    void choose_last() {
        const std::size_t known = free_.size();
        look();
        if (free_.size() > known) std::swap(slot_, free_.back());
    }

    // A publisher need not write all bytes of a loaned slot. So its size does not tell how long writing takes, and the
    // time is measured now and then.
    [[gnu::noinline]] void prepare() {
        if (much_is_written_) choose_last();
        if (turn_ % turns_to_learn == 0) loaned_ns_ = now_ns();
    }
    /// The time is measured once per loan, because a repeated call of publish() includes waiting time.
    void learn() {
        if (loaned_ns_ == 0) return;
        much_is_written_ = now_ns() - loaned_ns_ > much_ns;
        loaned_ns_ = 0;
    }

    /// Slots that are released together are reused in the order in which they were published. Slots that were released
    /// earlier follow after them.
    void reclaim(std::uint64_t released) {
        for (std::uint64_t turn = released; turn-- > released_;) free_.push_back(used_[turn % used_.size()]);
    }

    static constexpr std::uint64_t turns_ahead = 4;
    static constexpr std::uint64_t turns_to_learn = 64;
    static constexpr Nanoseconds much_ns = 2000;

    Ring ring_;
    std::uint64_t turn_ = 0;
    std::uint64_t slot_ = 0;  // the slot of the next message
    // The number of messages that all readers had released when this was last read. The cache lines of the readers are
    // read only if the ring looks full.
    std::uint64_t released_ = 0;
    std::vector<std::uint64_t> free_;
    std::vector<std::uint64_t> used_;  // the slot of each turn from released_ to turn_
    Nanoseconds loaned_ns_ = 0;        // 0: the time of this loan is not measured
    bool much_is_written_ = false;
};

class RingReader {
public:
    RingReader() = default;
    explicit RingReader(Ring ring, std::size_t reader_index = 0)
        : ring_(ring), reader_index_(reader_index), batch_(std::max<std::uint64_t>(1, ring.shape().slots / 8)) {}

    /// Returns the next message in place, or a span without data if there is no message.
    std::span<const std::byte> read() {
        std::uint64_t word = ring_.word(slot_).load(std::memory_order_acquire);
        if (word >> 32 != Ring::mark(turn_)) {
            word = elsewhere();
            if (word == 0) return {};
        }
        return {ring_.payload(slot_), std::min<std::size_t>(word & UINT32_MAX, ring_.shape().max_bytes)};
    }

    void release() {
        ++turn_;
        if (ring_.shape().reuses_last) [[unlikely]] {
            // A writer that has free slots uses two slots alternately (see RingWriter::likely_slot). So the reader
            // looks in them alternately.
            std::swap(slot_, before_);
        } else {
            slot_ = turn_;
        }
        if (turn_ - announced_ >= batch_) announce();
    }

private:
    /// Called if the message of this turn is not in the expected slot. Finds the slot that has the message, and returns
    /// the word of this slot. Returns 0 if the message has not been published yet.
    std::uint64_t elsewhere() {
        if (ring_.shape().reuses_last) [[unlikely]] {
            const std::uint64_t index = ring_.index(turn_).word.load(std::memory_order_acquire);
            const std::uint64_t slot = Ring::indexed_slot(index);
            if (index == Ring::indexed(turn_, slot)) {
                slot_ = slot;
                const std::uint64_t word = ring_.word(slot_).load(std::memory_order_acquire);
                if (word >> 32 == Ring::mark(turn_)) return word;
            }
        }
        // Fetches both lines of the next message at the same time. Without this, the second fetch would start after the
        // first.
        if (ring_.shape().stride == 2 * cache_line) __builtin_prefetch(ring_.payload(slot_) + cache_line);
        announce();  // the writer may be waiting for these slots
        return 0;
    }

    void announce() {
        if (announced_ == turn_) return;
        ring_.progress(reader_index_).released.store(turn_, std::memory_order_release);
        announced_ = turn_;
        if (sleeps(ring_.waiting())) ring_.header().writer.wake();
    }

    Ring ring_;
    std::size_t reader_index_ = 0;
    std::uint64_t batch_ = 1;
    std::uint64_t turn_ = 0;
    std::uint64_t announced_ = 0;
    std::uint64_t slot_ = 0;    // the slot where the next message is expected
    std::uint64_t before_ = 1;  // the slot of the previous message
};

}  // namespace tacholog
