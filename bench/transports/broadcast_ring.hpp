// A ring of message slots in memory that all sides share: one writer broadcasts to one or more readers.
//
// A slot begins with one word that holds the message's turn and length, and the payload follows at once: up to 56 bytes
// of payload travel in the cache line whose change the reader is polling. There is no shared head index; each reader's
// progress has a line of its own, which the writer reads only when the ring looks full, or, where slots are not used in
// turn, once it has handed a message over. Every reader reads every slot.
//
// A turn is a message's number, from 0. Small messages use the slots in turn: turn t lies in slot t modulo their
// number. Large ones would push each other out of the caches so; they reuse the slot that was given back last. The
// protocol for those (RingShape::reuses_last):
//
// In shared memory, besides slots and progress, there is an index of one line a turn modulo the number of slots.
// - The word of a slot holds mark(t), of 31 bits, and the length of the message of turn t that was written there last.
// - The index line of turn t holds the whole turn and its slot (indexed), but is written only where readers need it.
// - likely(t) is where everybody expects turn t: the slot of turn t - 2, and slot t for t < 2. A writer whose
//   slots come back at once uses two of them by turns, so that nobody has to look at the index.
//
// The writer keeps each slot in one of three places: `slot_` (of the next message), `free_` (a stack of those that all
// readers have given back), and `used_` (of the turns from `released_` up to `turn_`, which some reader may still
// read). It publishes turn t from slot s so:
//   1. It needs another slot to go on with: t + 1 - released_ < slots; else it reads the readers' progress, or waits.
//      Where much is written, it reads the progress anyway, and takes a slot that has come back since (choose_last).
//   2. It writes the payload (which in place is done already), then the word of s with mark(t) (release).
//   3. If s is not likely(t), it writes the index line of t (release), after the word.
//   4. It reads the readers' progress (acquire): slots of turns that all have released go from `used_` to
//      `free_`, those of one look so that the oldest is on top. The top of `free_` becomes `slot_`.
// A reader that wants turn t:
//   1. It reads the word of likely(t) (acquire): its own slot of turn t - 2. If that has mark(t), the message is there.
//   2. Else it reads the index line of t (acquire). If that names turn t and a slot, it reads the word of that slot.
//   3. If neither is there, the message has not come. The reader announces what it has released, and polls or sleeps.
//   4. When it is done with turn t, it counts it as released, and announces that (release) in batches.
//
// Why that is safe. A slot is written again only after all readers have released its turn, so nobody reads what is
// being written. The word of likely(t) is of turn t - 2 or newer, never older, so its 31 bits are enough: it cannot be
// of turn t - 2^31. An index line stays for as long as messages are found without it, so it holds the whole turn. The
// line of turn t is overwritten for turn t + slots, which step 1 of the writer holds back until t is released.
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

/// Processors fetch cache lines in pairs: with a line they also ask for the other one of its 128 bytes. A small message
/// lies in two lines. If they are of one pair, one fetch may bring both; if not, the second can come after the first.
inline constexpr std::size_t line_pair = 2 * cache_line;

/// The next offset at the beginning of a pair.
constexpr std::size_t at_line_pair(std::size_t offset) {
    return (offset + line_pair - 1) / line_pair * line_pair;
}

struct alignas(cache_line) ReaderProgress {
    std::atomic<std::uint64_t> released{0};  ///< messages that the reader has given back
};

struct RingHeader {
    alignas(cache_line) std::atomic<bool> writer_left{false};
    std::atomic<bool> reader_left{false};
    Parking reader;  ///< where they all wait for a message...
    Parking writer;  ///< ...and it for a free slot, unless both poll
};

using SlotWord = std::atomic<std::uint64_t>;  // turn << 32 | payload bytes
static_assert(SlotWord::is_always_lock_free);

/// Where the publisher writes a message: in the ring itself, or in a buffer of its own that is copied there.
enum class Written { in_place, elsewhere };

/// In which slot a turn lies, where slots are not used in turn: Ring::indexed.
struct alignas(cache_line) IndexLine {
    std::atomic<std::uint64_t> word{0};
};

struct RingShape {
    static constexpr std::size_t most_slots = 1024;

    std::size_t max_bytes = 0;
    std::size_t slots = 0;
    std::size_t stride = 0;
    std::size_t readers = 1;
    bool reuses_last = false;  ///< whether slots are not used in turn
    std::size_t lead = 0;      ///< bytes of a slot before its word

    /// Small messages get many slots so that neither side waits for the other's progress; large ones few, so that the
    /// slot written next is still in cache.
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

    /// A payload of several lines starts at the beginning of a line: a copy of 512 bytes then takes a quarter less (a
    /// virtual machine with 2 CPUs, 2026-11-22). Where it is written in place, the part behind its header starts there:
    /// the header comes in the line of the word at every size, and may be all that is read.
    static constexpr std::size_t least_aligned_bytes = std::size_t{2} * cache_line;
    static constexpr std::size_t aligning_lead(Written written) {
        return cache_line - sizeof(SlotWord) - (written == Written::in_place ? message_header_bytes : 0);
    }

    /// Up to this stride slots are used in turn. It is slower to overwrite what a reader still has in its cache than
    /// what has left it. A copy needs the cache for its own buffer too, so it uses slots in turn up to a larger stride.
    static constexpr std::size_t most_in_turn(Written written) {
        return std::size_t{1024} * (written == Written::in_place ? 192 : 2048);
    }
};

/// Anonymous or file-backed shared memory that unmaps itself, its pages already there.
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

/// Takes a line from whoever has it. The compiler knows the instruction only for processors that are newer than those
/// it compiles for; older ones take it for none.
inline void fetch_line_to_write(const std::byte* line) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/// Where things are in a ring's memory. Fresh memory of zeros is an empty ring.
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

    /// Any number is a slot's: of a turn, and of what the other side may have written for a slot.
    SlotWord& word(std::uint64_t slot) const { return *std::launder(reinterpret_cast<SlotWord*>(start_of(slot))); }
    std::byte* payload(std::uint64_t slot) const { return start_of(slot) + sizeof(SlotWord); }
    IndexLine& index(std::uint64_t turn) const {
        return *std::launder(reinterpret_cast<IndexLine*>(index_ + (turn & mask_) * sizeof(IndexLine)));
    }

    /// Asks for the lines of a small slot, which a reader has had, before they are written. Stores leave a core in
    /// order, so a store to a line that is still missing holds up all stores behind it; without this, the rate of small
    /// messages was half (a virtual machine with 2 CPUs, 2026-11-22). For larger slots the processor's own prefetching
    /// does better alone.
    void fetch_to_write(std::uint64_t slot) const {
        if (shape_.stride > 2 * cache_line) return;
        fetch_line_to_write(start_of(slot));
        if (shape_.stride > cache_line) fetch_line_to_write(start_of(slot) + cache_line);
    }

    /// What a turn is known by, 0 never: memory of zeros holds no message.
    static constexpr std::uint64_t mark(std::uint64_t turn) { return ((turn + 1) | 1ULL << 31) & UINT32_MAX; }
    static constexpr std::uint64_t marked(std::uint64_t turn, std::uint64_t what) { return mark(turn) << 32 | what; }

    /// A slot's word is overwritten every few turns, but a line of the index lies there for as long as readers find
    /// their messages without it: longer than marks go without being the same again.
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

static_assert(Ring::mark(UINT32_MAX) != 0 && Ring::mark(UINT32_MAX >> 1) != 0);  // where turns wrap

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

    /// The slot to write the next message into: there is always one.
    std::byte* loan() {
        if (ring_.shape().reuses_last) [[unlikely]]
            prepare();
        return ring_.payload(slot_);
    }

    /// Hands over what was written into the loan. False if there would be no slot for the next one.
    bool publish(std::size_t bytes) {
        if (ring_.shape().reuses_last) [[unlikely]]
            learn();
        if (!has_another()) return false;
        hand_over(bytes);
        return true;
    }

    /// Copies the message in, and hands it over. False if there would be no slot for the next one.
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
        if (least - released_ > turn_ - released_) return;  // more than there are: somebody scribbles
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

    // The readers' progress is read here, while the reader is busy with this message, so that nobody waits for it. The
    // earliest slot that can be back by now is that of the last message but one.
    [[gnu::noinline]] void index_and_choose(std::uint64_t published) {
        if (slot_ != likely_slot(published)) {
            ring_.index(published).word.store(Ring::indexed(published, slot_), std::memory_order_release);
        }
        used_[published % used_.size()] = slot_;
        look();
        slot_ = free_.back();
        free_.pop_back();
    }

    /// Where readers look for a turn first, and find it without the index.
    std::uint64_t likely_slot(std::uint64_t turn) const { return turn < 2 ? turn : used_[(turn - 2) % used_.size()]; }

    /// The last one's slot, if it is back by now: worth a look, which takes as long as a hand-off, where much is
    /// written.
    void choose_last() {
        const std::size_t known = free_.size();
        look();
        if (free_.size() > known) std::swap(slot_, free_.back());
    }

    // Whether much is written is not known from the size: a loan need not be. Now and then the clock is asked.
    [[gnu::noinline]] void prepare() {
        if (much_is_written_) choose_last();
        if (turn_ % turns_to_learn == 0) loaned_ns_ = now_ns();
    }
    /// Once a loan: what comes after the first try to publish is waiting.
    void learn() {
        if (loaned_ns_ == 0) return;
        much_is_written_ = now_ns() - loaned_ns_ > much_ns;
        loaned_ns_ = 0;
    }

    /// The slots of one look are used again in the order in which they went, but before any that were back earlier.
    void reclaim(std::uint64_t released) {
        for (std::uint64_t turn = released; turn-- > released_;) free_.push_back(used_[turn % used_.size()]);
    }

    static constexpr std::uint64_t turns_ahead = 4;
    static constexpr std::uint64_t turns_to_learn = 64;
    static constexpr Nanoseconds much_ns = 2000;

    Ring ring_;
    std::uint64_t turn_ = 0;
    std::uint64_t slot_ = 0;      // of the next message
    std::uint64_t released_ = 0;  // as last seen: readers' lines are touched only when the ring looks full
    std::vector<std::uint64_t> free_;
    std::vector<std::uint64_t> used_;  // the slot of each turn from released_ to turn_
    Nanoseconds loaned_ns_ = 0;        // 0: not measured this time
    bool much_is_written_ = false;
};

class RingReader {
public:
    RingReader() = default;
    explicit RingReader(Ring ring, std::size_t reader_index = 0)
        : ring_(ring), reader_index_(reader_index), batch_(std::max<std::uint64_t>(1, ring.shape().slots / 8)) {}

    /// The next message, in place; a span without data if there is none.
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
            std::swap(slot_, before_);  // a writer that has its slots back uses two by turns: RingWriter::likely_slot
        } else {
            slot_ = turn_;
        }
        if (turn_ - announced_ >= batch_) announce();
    }

private:
    /// The message is not where it was looked for: it is not there yet, or in another slot, whose word this is.
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
        // Both lines of the coming message then travel at once; without it the second is asked for after the first.
        if (ring_.shape().stride == 2 * cache_line) __builtin_prefetch(ring_.payload(slot_) + cache_line);
        announce();  // the writer may be waiting for just these slots
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
    std::uint64_t slot_ = 0;    // where the next message is likely to be
    std::uint64_t before_ = 1;  // where the last one was
};

}  // namespace tacholog
