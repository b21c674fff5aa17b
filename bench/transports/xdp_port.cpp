#include "transports/xdp_port.hpp"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <map>
#include <mutex>

#include "base/address.hpp"
#include "base/clock.hpp"

namespace tacholog {
namespace {

// Half of the frames are used for receiving, and half for sending. Datagrams that arrive while all receiving frames are
// in use are lost, as with the buffer of a socket.
constexpr std::uint32_t frames_a_side = 4096;
constexpr std::uint32_t frame_bytes = 2048;
constexpr std::size_t memory_bytes = std::size_t{2} * frames_a_side * frame_bytes;
constexpr std::uint32_t queue = 0;

constexpr bpf_insn instruction(int code, unsigned to = 0, unsigned from = 0, int offset = 0, int value = 0) {
    bpf_insn one{};
    one.code = static_cast<std::uint8_t>(code);
    one.dst_reg = to & 0xfU;
    one.src_reg = from & 0xfU;
    one.off = static_cast<std::int16_t>(offset);
    one.imm = value;
    return one;
}
constexpr bpf_insn move(unsigned to, unsigned from) {
    return instruction(BPF_ALU64 | BPF_MOV | BPF_X, to, from);
}
constexpr bpf_insn set(unsigned to, int value) {
    return instruction(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}
constexpr bpf_insn load(int size, unsigned to, unsigned from, int offset) {
    return instruction(BPF_LDX | BPF_MEM | size, to, from, offset);
}
constexpr bpf_insn skip_unless(unsigned reg, int value, int count) {
    return instruction(BPF_JMP | BPF_JNE | BPF_K, reg, 0, count, value);
}

/// A packet must have this value in the field at this offset. Other packets are passed on to the kernel.
struct Wanted {
    int size;
    int offset;
    int value;
};

/// `port` is in network byte order.
std::vector<Wanted> wanted_of(int family, std::uint16_t port) {
    constexpr int five_words_of_version_4 = 0x45;
    constexpr int type_at = offsetof(UdpFrame, ethernet) + offsetof(ether_header, ether_type);
    constexpr int destination_at = offsetof(udphdr, dest);
    if (family == AF_INET6) {
        return {{BPF_H, type_at, htons(ETHERTYPE_IPV6)},
                {BPF_B, offsetof(UdpFrameV6, ip) + offsetof(ip6_hdr, ip6_nxt), IPPROTO_UDP},
                {BPF_H, offsetof(UdpFrameV6, udp) + destination_at, port}};
    }
    return {{BPF_H, type_at, htons(ETHERTYPE_IP)},
            {BPF_B, offsetof(UdpFrame, ip), five_words_of_version_4},
            {BPF_B, offsetof(UdpFrame, ip) + offsetof(iphdr, protocol), IPPROTO_UDP},
            {BPF_H, offsetof(UdpFrame, udp) + destination_at, port}};
}

/// Redirects the UDP datagrams of this family and port to `map`, and passes all others on to the kernel.
std::vector<bpf_insn> filter_program(int map, int family, std::uint16_t port) {
    const auto wanted = wanted_of(family, port);
    constexpr int instructions_to_redirect = 6;
    int to_the_end = instructions_to_redirect + 2 * static_cast<int>(wanted.size());
    std::vector<bpf_insn> program{
        move(6, 1),
        load(BPF_W, 2, 1, offsetof(xdp_md, data)),
        load(BPF_W, 3, 1, offsetof(xdp_md, data_end)),
        move(4, 2),
        instruction(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, static_cast<int>(header_bytes(family))),
        instruction(BPF_JMP | BPF_JGT | BPF_X, 4, 3, to_the_end),
    };
    for (const Wanted& field : wanted) {
        to_the_end -= 2;
        program.push_back(load(field.size, 5, 2, field.offset));
        program.push_back(skip_unless(5, field.value, to_the_end));
    }
    for (const bpf_insn& one : {
             load(BPF_W, 2, 6, offsetof(xdp_md, rx_queue_index)),
             instruction(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map),
             instruction(0),
             set(3, XDP_PASS),
             instruction(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map),
             instruction(BPF_JMP | BPF_EXIT),
             set(0, XDP_PASS),
             instruction(BPF_JMP | BPF_EXIT),
         })
        program.push_back(one);
    return program;
}

Error failed(const std::string& what, int code) {
    errno = code < 0 ? -code : code;
    return os_error(what);
}

}  // namespace

Result<XdpPort*> XdpPort::at(const std::string& address) {
    static std::mutex guard;
    static std::map<std::string, std::unique_ptr<XdpPort>> ports;
    const std::lock_guard lock{guard};
    if (const auto found = ports.find(address); found != ports.end()) return found->second.get();
    std::unique_ptr<XdpPort> port{new XdpPort};
    if (const auto opened = port->open(address); !opened) return opened.error();
    return ports.emplace(address, std::move(port)).first->second.get();
}

XdpPort::~XdpPort() {
    if (socket_ != nullptr) xsk_socket__delete(socket_);
    if (umem_ != nullptr) xsk_umem__delete(umem_);
    if (memory_ != nullptr) ::munmap(memory_, memory_bytes);
}

Result<void> XdpPort::open(const std::string& address) {
    if (const auto found = find_interface(address); !found) return found;
    if (const auto opened = open_socket(); !opened) return opened;
    return filter();
}

/// Finds the interface with this address, and reserves a port on it.
Result<void> XdpPort::find_interface(const std::string& address) {
    const auto wanted = parse_address(address, 0);
    if (!wanted) return Error{"udp-xdp at " + address + ": not an IP address"};
    name_ = interface_with(*wanted);
    if (name_.empty()) return Error{"udp-xdp at " + address + ": no network interface has this address"};
    interface_ = static_cast<int>(::if_nametoindex(name_.c_str()));

    reserved_ = Fd{::socket(wanted->family(), SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    if (!reserved_ || ::bind(reserved_.get(), wanted->get(), wanted->length()) != 0)
        return os_error("bind UDP to " + address);
    address_.host = local_address(reserved_);
    return read_interface();
}

Result<void> XdpPort::read_interface() {
    ifreq request{};
    name_.copy(request.ifr_name, sizeof request.ifr_name - 1);
    if (::ioctl(reserved_.get(), SIOCGIFMTU, &request) != 0) return os_error("ask for the MTU of " + name_);
    if (request.ifr_mtu < 1500) {
        return Error{"udp-xdp at " + name_ + ": its MTU is " + std::to_string(request.ifr_mtu) + ", 1500 is needed"};
    }
    if (::ioctl(reserved_.get(), SIOCGIFHWADDR, &request) != 0) return os_error("ask for the address of " + name_);
    std::memcpy(address_.mac.data(), request.ifr_hwaddr.sa_data, address_.mac.size());
    return {};
}

Result<void> XdpPort::open_socket() {
    void* memory =
        ::mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) return os_error("map memory for frames");
    memory_ = static_cast<std::byte*>(memory);
    const xsk_umem_config frames{frames_a_side, frames_a_side, frame_bytes, 0, 0};
    if (const int code = xsk_umem__create(&umem_, memory_, memory_bytes, &fill_, &done_, &frames); code != 0)
        return failed("share frames with the kernel", code);
    xsk_socket_config config{};
    config.rx_size = frames_a_side;
    config.tx_size = frames_a_side;
    config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
    config.bind_flags = XDP_COPY | XDP_USE_NEED_WAKEUP;
    // The socket of the previous run may have been closed only a moment ago. The queue may then still be in use.
    const Deadline deadline{Patience{2000}};
    int code = 0;
    do {
        code = xsk_socket__create(&socket_, name_.c_str(), queue, umem_, &received_, &sent_, &config);
    } while (code == -EBUSY && !deadline.passed());
    if (code != 0) return failed("open an AF_XDP socket at " + name_, code);

    std::uint32_t ring_index = 0;
    xsk_ring_prod__reserve(&fill_, frames_a_side, &ring_index);
    for (std::uint32_t index = 0; index < frames_a_side; ++index) {
        *xsk_ring_prod__fill_addr(&fill_, ring_index + index) = std::uint64_t{index} * frame_bytes;
        free_.push_back((std::uint64_t{frames_a_side} + index) * frame_bytes);
    }
    xsk_ring_prod__submit(&fill_, frames_a_side);
    return {};
}

/// Redirects the frames of this port. The driver runs the filter if it supports this; otherwise the generic hook after
/// the driver does.
Result<void> XdpPort::filter() {
    map_ = Fd{bpf_map_create(BPF_MAP_TYPE_XSKMAP, "tacholog", sizeof(int), sizeof(int), queue + 1, nullptr)};
    if (!map_) return os_error("make a map of sockets");
    const auto code = filter_program(map_.get(), family(), htons(address_.host.port()));
    program_ = Fd{bpf_prog_load(BPF_PROG_TYPE_XDP, "tacholog", "Apache-2.0", code.data(), code.size(), nullptr)};
    if (!program_) return os_error("load the filter for " + name_);
    if (const int error = xsk_socket__update_xskmap(socket_, map_.get()); error != 0)
        return failed("enter the socket of " + name_, error);
    for (const std::uint32_t mode : {XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE}) {
        bpf_link_create_opts options{};
        options.sz = sizeof options;
        options.flags = mode;
        link_ = Fd{bpf_link_create(program_.get(), interface_, BPF_XDP, &options)};
        if (link_) return {};
    }
    return os_error("put the filter on " + name_);
}

std::span<const std::byte> XdpPort::receive() {
    std::uint32_t ring_index = 0;
    if (xsk_ring_cons__peek(&received_, 1, &ring_index) == 0) return {};
    const xdp_desc* found = xsk_ring_cons__rx_desc(&received_, ring_index);
    lent_ = found->addr;
    const std::span<const std::byte> bytes{frame(found->addr), found->len};
    xsk_ring_cons__release(&received_, 1);
    const auto what = carried(bytes, family());
    if (what.empty()) release();
    return what;
}

void XdpPort::release() {
    std::uint32_t ring_index = 0;
    xsk_ring_prod__reserve(&fill_, 1, &ring_index);
    *xsk_ring_prod__fill_addr(&fill_, ring_index) = lent_ - lent_ % frame_bytes;
    xsk_ring_prod__submit(&fill_, 1);
}

std::span<std::byte> XdpPort::acquire() {
    if (free_.empty()) collect();
    if (free_.empty()) return {};
    return {frame(free_.back()) + header_bytes(family()), frame_payload(family())};
}

void XdpPort::send(const XdpAddress& to, std::size_t bytes) {
    write_headers(frame(free_.back()), address_, to, bytes);
    std::uint32_t ring_index = 0;
    xsk_ring_prod__reserve(&sent_, 1, &ring_index);
    xdp_desc* next = xsk_ring_prod__tx_desc(&sent_, ring_index);
    next->addr = free_.back();
    next->len = static_cast<std::uint32_t>(header_bytes(family()) + bytes);
    next->options = 0;
    xsk_ring_prod__submit(&sent_, 1);
    free_.pop_back();
}

bool XdpPort::flush() {
    if (xsk_ring_prod__needs_wakeup(&sent_) != 0) ::sendto(descriptor(), nullptr, 0, MSG_DONTWAIT, nullptr, 0);
    collect();
    return xsk_prod_nb_free(&sent_, frames_a_side) >= frames_a_side;
}

void XdpPort::collect() {
    std::uint32_t ring_index = 0;
    const auto count = xsk_ring_cons__peek(&done_, frames_a_side, &ring_index);
    for (std::uint32_t index = 0; index < count; ++index)
        free_.push_back(*xsk_ring_cons__comp_addr(&done_, ring_index + index));
    xsk_ring_cons__release(&done_, count);
}

}  // namespace tacholog
