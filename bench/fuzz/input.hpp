// The input from the fuzzer, read piece by piece. When it is used up, all further values are zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <type_traits>

namespace tacholog::fuzz {

class Input {
public:
    Input(const std::uint8_t* data, std::size_t size) : rest_(std::as_bytes(std::span{data, size})) {}

    bool empty() const { return rest_.empty(); }

    template <typename Value>
    Value take() {
        static_assert(std::is_trivially_copyable_v<Value>);
        Value value{};
        const auto bytes = take_bytes(sizeof value);
        if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
        return value;
    }

    std::span<const std::byte> take_bytes(std::size_t most) {
        const auto bytes = rest_.first(std::min(most, rest_.size()));
        rest_ = rest_.subspan(bytes.size());
        return bytes;
    }

    /// Takes one byte as a number, and returns that many of the bytes after it. Returns fewer bytes if the input ends
    /// earlier.
    std::span<const std::byte> take_some() { return take_bytes(take<std::uint8_t>()); }

private:
    std::span<const std::byte> rest_;
};

/// Aborts if the condition is false, which the fuzzer reports as a finding.
inline void require(bool holds) {
    if (!holds) std::abort();
}

/// Reads every byte, so that the address sanitizer checks each of them.
inline void touch(std::span<const std::byte> bytes) {
    unsigned sum = 0;
    for (const std::byte byte : bytes) sum += std::to_integer<unsigned>(byte);
    asm volatile("" : : "r"(sum) : "memory");
}

}  // namespace tacholog::fuzz
