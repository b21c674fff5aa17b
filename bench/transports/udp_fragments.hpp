// How a message of best-effort UDP is cut into datagrams and reassembled. This code uses no socket.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace tacholog {

inline constexpr std::size_t max_datagram = 65507;

struct FragmentHeader {
    /// A random number that the subscriber has chosen. Datagrams of other runs have a different number, and are
    /// rejected.
    std::uint64_t stream;
    std::uint64_t message;
    std::uint32_t fragment;
    std::uint32_t total_bytes;
};

/// The space for a header before a message. It keeps the message aligned.
inline constexpr std::size_t header_room = 32;
static_assert(header_room >= sizeof(FragmentHeader));

inline constexpr std::size_t max_fragment = max_datagram - sizeof(FragmentHeader);

inline std::size_t fragments_of(std::size_t bytes, std::size_t fragment_bytes = max_fragment) {
    return (bytes + fragment_bytes - 1) / fragment_bytes;
}

/// Reassembles a message. Each fragment is received directly into the place where it most likely belongs: after the
/// previous one. So most fragments are never copied. A receiver that spends time on copying would lose datagrams.
class Assembly {
public:
    /// All fragments except the last have `fragment_bytes`. Both sides know this size.
    Assembly(std::uint64_t stream, std::size_t max_bytes, std::size_t fragment_bytes = max_fragment)
        : stream_(stream),
          max_bytes_(max_bytes),
          fragment_bytes_(fragment_bytes),
          bytes_(header_room + fragments_of(max_bytes, fragment_bytes) * fragment_bytes),
          present_(fragments_of(max_bytes, fragment_bytes)) {}

    /// Returns the memory for the next fragment. This memory never holds a fragment that was received earlier and is
    /// still needed.
    std::span<std::byte> expected() { return memory_of(expected_).first(fragment_bytes_); }

    /// If a datagram is received there, its fragment lies at expected(). The span is empty if the memory before
    /// expected() is in use.
    std::span<std::byte> expected_datagram() {
        if (expected_ != 0) return {};
        constexpr std::size_t at = header_room - sizeof(FragmentHeader);
        return std::span{bytes_}.subspan(at, sizeof(FragmentHeader) + fragment_bytes_);
    }

    /// The fragment must have been received into expected(). Returns the message if it is complete now. Discards
    /// datagrams that are not ours.
    std::span<const std::byte> accept(const FragmentHeader& header, std::size_t received) {
        const std::size_t total = header.total_bytes;
        if (received <= sizeof header || header.stream != stream_) return {};
        if (total > max_bytes_ || header.fragment >= fragments_of(total, fragment_bytes_)) return {};
        const std::size_t bytes = received - sizeof header;
        if (bytes != std::min(fragment_bytes_, total - header.fragment * fragment_bytes_)) return {};
        if (total <= fragment_bytes_) return expected().first(bytes);
        return add(header, bytes) ? memory_of(0).first(total_bytes_) : std::span<const std::byte>{};
    }

private:
    /// The memory from the start of this fragment to the end.
    std::span<std::byte> memory_of(std::size_t fragment) {
        return std::span{bytes_}.subspan(header_room + fragment * fragment_bytes_);
    }

    /// The fragment must have been received into expected(). Returns true if its message is complete now. Ignores
    /// fragments of older messages, and duplicates.
    bool add(const FragmentHeader& header, std::size_t bytes) {
        if (started_ && header.message < message_) return false;
        if (!started_ || header.message > message_) begin(header);
        if (header.total_bytes != total_bytes_ || present_[header.fragment]) return false;
        if (header.fragment != expected_) {
            std::memcpy(memory_of(header.fragment).data(), expected().data(), bytes);
        }
        present_[header.fragment] = true;
        --missing_;
        expect_next(header.fragment);
        return missing_ == 0;
    }

    // Begins a new message, and discards the old one. The fragment that has just arrived lies at expected(), where it
    // overlaps no other fragment. add() moves it to its place.
    void begin(const FragmentHeader& header) {
        started_ = true;
        message_ = header.message;
        total_bytes_ = header.total_bytes;
        missing_ = fragments_of(total_bytes_, fragment_bytes_);
        std::fill(present_.begin(), present_.end(), false);
    }

    void expect_next(std::size_t fragment) {
        expected_ = 0;
        if (missing_ == 0) return;
        const auto after = std::find(present_.begin() + static_cast<std::ptrdiff_t>(fragment), present_.end(), false);
        const auto found = after != present_.end() ? after : std::find(present_.begin(), present_.end(), false);
        expected_ = static_cast<std::size_t>(found - present_.begin());
    }

    std::uint64_t stream_;
    std::size_t max_bytes_;
    std::size_t fragment_bytes_;
    std::vector<std::byte> bytes_;
    std::vector<bool> present_;
    bool started_ = false;
    std::uint64_t message_ = 0;
    std::size_t total_bytes_ = 0;
    std::size_t missing_ = 0;
    std::size_t expected_ = 0;
};

}  // namespace tacholog
