// Tests the ring and the pool in shared memory, which the peer may overwrite with anything at any time. Their code must
// never access other memory. `descriptor` tests arbitrary data on the local socket, where the descriptor of the memory
// is expected.
#include "fuzz/datagrams.hpp"
#include "transports/chunk_pool.hpp"
#include "transports/local_socket.hpp"

namespace {

using namespace tacholog;

constexpr std::size_t max_bytes = 100;
constexpr std::size_t stride = 128;
constexpr std::size_t places = 4;
constexpr std::size_t most_readers = 3;

/// Memory of exactly the required size, so that the address sanitizer detects an access to the next byte.
class Memory {
public:
    explicit Memory(std::size_t bytes)
        : start_(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{cache_line}))), bytes_(bytes) {
        std::memset(start_, 0, bytes);
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() { ::operator delete(start_, std::align_val_t{cache_line}); }

    std::byte* start() const { return start_; }

    /// Overwrites a random part, as a faulty peer could do.
    void scribble(fuzz::Input& input) const {
        const std::size_t at = input.take<std::uint16_t>() % bytes_;
        const auto bytes = input.take_bytes(std::min<std::size_t>(input.take<std::uint8_t>(), bytes_ - at));
        if (!bytes.empty()) std::memcpy(start_ + at, bytes.data(), bytes.size());
    }

private:
    std::byte* start_;
    std::size_t bytes_;
};

/// One reader for each index. Only one of them reads at a time.
template <typename Reader, typename Shared>
class Readers {
public:
    Readers(const Shared& shared, std::size_t count) {
        for (std::size_t place = 0; place < count; ++place) readers_.emplace_back(shared, place);
    }

    void read_one(std::size_t which) {
        Reader& reader = readers_[which % readers_.size()];
        const auto message = reader.read();
        if (message.data() == nullptr) return;
        fuzz::require(message.size() <= max_bytes);
        fuzz::touch(message);
        reader.release();
    }

private:
    std::vector<Reader> readers_;
};

void ring(fuzz::Input& input) {
    const std::size_t lead = input.take<std::uint8_t>() % 2 == 0 ? 0 : sizeof(SlotWord);
    const bool reuses_last = input.take<std::uint8_t>() % 2 == 0;
    const RingShape shape{max_bytes, places, stride, 1 + input.take<std::uint8_t>() % most_readers, reuses_last, lead};
    const Memory memory{shape.bytes()};
    const Ring shared{memory.start(), shape};
    RingWriter writer{shared};
    Readers<RingReader, Ring> readers{shared, shape.readers};
    const std::array<std::byte, max_bytes> message{};
    while (!input.empty()) {
        const std::size_t bytes = input.take<std::uint8_t>() % (max_bytes + 1);
        if (input.take<std::uint8_t>() % 2 == 0) {
            writer.write(std::span{message}.first(bytes));
        } else {
            std::memset(writer.loan(), 1, max_bytes);
            writer.publish(bytes);
        }
        memory.scribble(input);
        readers.read_one(input.take<std::uint8_t>());
    }
}

void pool(fuzz::Input& input) {
    const PoolShape shape{max_bytes, places, stride, 1 + input.take<std::uint8_t>() % most_readers};
    const Memory memory{shape.bytes()};
    const ChunkPool shared{memory.start(), shape};
    ChunkWriter writer{shared};
    Readers<ChunkReader, ChunkPool> readers{shared, shape.subscribers};
    while (!input.empty()) {
        std::memset(writer.loan(), 1, max_bytes);
        writer.publish(input.take<std::uint8_t>() % (max_bytes + 1));
        memory.scribble(input);
        readers.read_one(input.take<std::uint8_t>());
    }
}

void descriptor(fuzz::Input& input) {
    const auto [ours, peer] = fuzz::datagram_sockets();
    const bool attached = input.take<std::uint8_t>() % 2 == 0;
    const auto said = input.take_bytes(64);
    if (attached) {
        send_descriptor(peer, peer, {input.take<std::size_t>(), input.take<std::size_t>()});
    } else {
        ::send(peer.get(), said.data(), said.size(), MSG_DONTWAIT);
    }
    MemoryOffer announced;
    fuzz::require(receive_descriptor(ours, announced).has_value() == attached);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input{data, size};
    constexpr std::array what{ring, pool, descriptor};
    what[input.take<std::uint8_t>() % what.size()](input);
    return 0;
}
