// A network interface that is used through AF_XDP. The frames of one UDP port bypass the IP stack of the kernel: they
// are transferred directly between the driver (or, if the driver does not support this, the generic hook after it) and
// memory shared with this process. All other traffic on the interface, including the control channel, is not affected.
// Needs root, or CAP_NET_ADMIN and CAP_BPF. When the process ends, even if it is killed, the kernel removes the filter
// from the interface.
#pragma once

#include <net/ethernet.h>
#include <xdp/xsk.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "transports/xdp_frame.hpp"

namespace tacholog {

class XdpPort {
public:
    /// The whole process shares the port.
    static Result<XdpPort*> at(const std::string& address);

    XdpPort(const XdpPort&) = delete;
    XdpPort& operator=(const XdpPort&) = delete;
    ~XdpPort();

    const XdpAddress& address() const { return address_; }

    /// For poll(): readable when a frame has arrived.
    int descriptor() const { return xsk_socket__fd(socket_); }

    /// Returns an empty span if no frame has arrived. The span is valid until release().
    std::span<const std::byte> receive();
    void release();

    /// Returns the memory of a free frame; an empty span if all frames are in flight.
    std::span<std::byte> acquire();

    /// Sends the frame that was acquired last. It may be delayed until flush().
    void send(const XdpAddress& to, std::size_t bytes);

    /// Returns false if the kernel has not accepted all waiting frames.
    bool flush();

private:
    XdpPort() = default;
    Result<void> open(const std::string& address);
    Result<void> find_interface(const std::string& address);
    Result<void> read_interface();
    Result<void> open_socket();
    Result<void> filter();
    std::byte* frame(std::uint64_t offset) { return memory_ + offset; }
    int family() const { return address_.host.family(); }
    void collect();

    int interface_ = 0;
    std::string name_;
    XdpAddress address_{};
    Fd reserved_;  ///< an ordinary socket that reserves the UDP port, so that no other program gets it
    Fd map_;
    Fd program_;
    Fd link_;
    std::byte* memory_ = nullptr;
    xsk_umem* umem_ = nullptr;
    xsk_socket* socket_ = nullptr;
    xsk_ring_prod fill_{};
    xsk_ring_cons done_{};
    xsk_ring_cons received_{};
    xsk_ring_prod sent_{};
    std::vector<std::uint64_t> free_;  ///< free frames for sending
    std::uint64_t lent_ = 0;           ///< the frame that receive() lends
};

}  // namespace tacholog
