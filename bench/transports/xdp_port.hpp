// A network interface reached through AF_XDP: frames of one UDP port go past the kernel's IP stack, straight between
// the driver (or, where it cannot, the generic hook behind it) and memory that it shares with this process. Everything
// else on the interface, the control channel included, goes its usual way. Needs root, or CAP_NET_ADMIN and CAP_BPF.
// When the process ends, however it ends, the kernel takes the filter off the interface.
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
    /// The port at the interface that has this address; one for the whole process.
    static Result<XdpPort*> at(const std::string& address);

    XdpPort(const XdpPort&) = delete;
    XdpPort& operator=(const XdpPort&) = delete;
    ~XdpPort();

    /// Where frames for this port go to.
    const XdpAddress& address() const { return address_; }

    /// For poll(): readable when a frame has come.
    int descriptor() const { return xsk_socket__fd(socket_); }

    /// What the next frame for this port carries; empty if none has come. Valid until release().
    std::span<const std::byte> receive();
    void release();

    /// Room for what the next frame carries; empty while all frames are under way.
    std::span<std::byte> acquire();

    /// Sends the frame whose room was acquired last, with this many bytes in it. It may stay until flush().
    void send(const XdpAddress& to, std::size_t bytes);

    /// Lets the kernel send what is waiting. False if it has not taken all of it.
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
    Fd reserved_;  ///< an ordinary socket that holds the UDP port, so that nobody else gets it
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
    std::vector<std::uint64_t> free_;  ///< frames to send with
    std::uint64_t lent_ = 0;           ///< the frame that receive() lends
};

}  // namespace tacholog
