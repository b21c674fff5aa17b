// The common part of the transports that use a ring. The publisher either writes a message into its own buffer and then
// copies the message into the ring (`data_path=copy`), or it writes the message directly into a slot of the ring. The
// subscriber reads the message in the slot, without a copy. Both sides poll or sleep at the ring.
#pragma once

#include <vector>

#include "transports/broadcast_ring.hpp"
#include "transports/parking.hpp"
#include "transports/transport.hpp"

namespace tacholog {

class RingPublisher : public Publisher {
public:
    /// `memory` keeps the memory of the ring alive.
    RingPublisher(Ring ring, std::shared_ptr<const void> memory, std::string name, Written written)
        : Publisher(ring.shape().max_bytes),
          memory_(std::move(memory)),
          ring_(ring),
          writer_(ring),
          buffer_(written == Written::elsewhere ? ring.shape().max_bytes : 0),
          name_(std::move(name)) {}
    ~RingPublisher() override {
        ring_.header().writer_left.store(true, std::memory_order_release);
        ring_.header().reader.wake();
    }

protected:
    /// Returns true if the subscriber has died. A subscriber that leaves sets a flag in the ring. A subscriber that
    /// dies cannot set the flag, so this function must find out in a different way.
    virtual bool peer_gone() { return false; }

private:
    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        loaned_ = {buffer_.empty() ? writer_.loan() : buffer_.data(), bytes};
        return loaned_;
    }

    bool write() { return buffer_.empty() ? writer_.publish(loaned_.size()) : writer_.write(loaned_); }

    Result<Done> commit(Patience patience) override {
        if (write()) return Done::yes;
        const auto written = [this] { return write(); };
        const auto gone = [this] { return ring_.header().reader_left.load(std::memory_order_acquire) || peer_gone(); };
        if (wait_for(written, ring_.waiting(), patience, ring_.header().writer, gone)) return Done::yes;
        if (gone()) return Error{"publish on " + name_ + ": the subscriber is gone"};
        return Done::not_yet;
    }

    void abandon() noexcept override {}

    std::shared_ptr<const void> memory_;
    Ring ring_;
    RingWriter writer_;
    std::vector<std::byte> buffer_;
    std::span<std::byte> loaned_;
    std::string name_;
};

class RingSubscriber : public Subscriber {
public:
    explicit RingSubscriber(std::string name) : name_(std::move(name)) {}
    ~RingSubscriber() override {
        if (!attached_) return;
        ring_.header().reader_left.store(true, std::memory_order_release);
        ring_.header().writer.wake();
    }

protected:
    void attach(Ring ring, std::shared_ptr<const void> memory, std::size_t reader_index = 0) {
        memory_ = std::move(memory);
        ring_ = ring;
        reader_ = RingReader{ring, reader_index};
        attached_ = true;
    }
    bool attached() const { return attached_; }

    /// Returns true if the publisher has died. A publisher that leaves sets a flag in the ring. A publisher that dies
    /// cannot set the flag, so this function must find out in a different way.
    virtual bool peer_gone() { return false; }

private:
    Result<std::span<const std::byte>> receive(Patience patience) override {
        if (!attached_) return Error{"take from " + name_ + ": no publisher has joined yet"};
        auto message = reader_.read();
        if (message.data() != nullptr || patience.count() <= 0) return message;
        const auto came = [&] { return (message = reader_.read()).data() != nullptr; };
        if (wait_for(came, ring_.waiting(), patience, ring_.header().reader, [this] { return gone(); })) return message;
        return last_words();
    }

    bool gone() { return ring_.header().writer_left.load(std::memory_order_acquire) || peer_gone(); }

    // A publisher that has left may have published messages before that.
    Result<std::span<const std::byte>> last_words() {
        const bool left = gone();
        const auto message = reader_.read();
        if (message.data() == nullptr && left) return Error{"take from " + name_ + ": the publisher is gone"};
        return message;
    }

    void release() noexcept override { reader_.release(); }

    std::shared_ptr<const void> memory_;
    Ring ring_;
    RingReader reader_;
    bool attached_ = false;
    std::string name_;
};

}  // namespace tacholog
