// How a message of best-effort UDP is cut into datagrams, and put together from them: no socket here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace tacholog {

inline constexpr std::size_t max_datagram = 65507;

/// What every datagram begins with.
struct FragmentHeader {
    std::uint64_t stream;   ///< drawn by the subscriber, so that nothing of another run is taken for its own
    std::uint64_t message;  ///< counts the publisher's messages
    std::uint32_t fragment;
    std::uint32_t total_bytes;
};

/// Room for a header before a message, which then lies aligned.
inline constexpr std::size_t header_room = 32;
static_assert(header_room >= sizeof(FragmentHeader));

inline constexpr std::size_t max_fragment = max_datagram - sizeof(FragmentHeader);

inline std::size_t fragments_of(std::size_t bytes, std::size_t fragment_bytes = max_fragment) {
    return (bytes + fragment_bytes - 1) / fragment_bytes;
}

/// The message that is being put together from its fragments. A fragment is received where it will most likely belong,
/// behind the one before it, so that most are never moved: a receiver that copies twice loses what it could have kept.
class Assembly {
public:
    /// `fragment_bytes` is what all fragments of a message hold but the last; both sides know it.
    Assembly(std::uint64_t stream, std::size_t max_bytes, std::size_t fragment_bytes = max_fragment)
        : stream_(stream),
          max_bytes_(max_bytes),
          fragment_bytes_(fragment_bytes),
          bytes_(header_room + fragments_of(max_bytes, fragment_bytes) * fragment_bytes),
          present_(fragments_of(max_bytes, fragment_bytes)) {}

    /// Where to receive the next fragment; never over one that has come already.
    std::span<std::byte> expected() { return memory_of(expected_).first(fragment_bytes_); }

    /// Where to receive the next datagram, its header and all, so that its fragment comes to lie where expected() says;
    /// empty if something is in the header's way.
    std::span<std::byte> expected_datagram() {
        if (expected_ != 0) return {};
        constexpr std::size_t at = header_room - sizeof(FragmentHeader);
        return std::span{bytes_}.subspan(at, sizeof(FragmentHeader) + fragment_bytes_);
    }

    /// The message that a datagram completes, if it does; its fragment was received into expected(). Whatever is not
    /// ours is dropped.
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
    /// Of this fragment, and of those behind it.
    std::span<std::byte> memory_of(std::size_t fragment) {
        return std::span{bytes_}.subspan(header_room + fragment * fragment_bytes_);
    }

    /// Takes the fragment that was received into expected(). True if it made its message whole; what belongs to older
    /// messages or is there already changes nothing.
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

    // What has just been received lies at expected(), which belongs to no fragment that is present: beginning a new
    // message forgets the old ones and leaves it there to be moved.
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
