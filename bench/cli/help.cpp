#include "cli/options.hpp"

namespace tacholog {
namespace {

constexpr std::string_view text =
    R"(perftest measures how a transport moves messages from a publisher to a subscriber,
and writes the results as a text log.

Usage: perftest --test latency|throughput|demand|sustain --transport NAME [options]

What to measure
  --test latency|throughput|demand|sustain
                             latency: round trips, with one message outstanding or at --rate;
                             throughput: a stream of messages, as fast as possible or at --rate;
                             demand: bursts of --demands messages, with pauses between them;
                             sustain: the highest rate that keeps --latency-goal and --loss-goal
  --transport NAME           how messages are moved; --list-transports lists the names
  --sizes LIST               payload sizes, 16 to 256MiB: in bytes, or with KiB or MiB
                             (default 16,64,256,1KiB,4KiB,16KiB,64KiB,256KiB,1MiB)
  --duration SECONDS         how long to measure each size (and each demand and recovery time;
                             default 5)
  --warmup steady|SECONDS    the time before the measurement, which is not counted (default steady:
                             until three seconds in a row agree within 5 %, at most 30 s)
  --interval-length SECONDS  the length of the intervals that are reported while a size is measured, at
                             least 0.01 (default 1)
  --rate N                   messages per second: throughput at this rate; latency in an open
                             loop, from the scheduled time of each message
                             (default: no limit; latency with one message outstanding)
  --basis rtt|one-way        for latency at --rate: rtt: round trips (default); one-way: from the
                             scheduled time of a message to its receipt. For one-way, both sides
                             must read the same clock, on one host
  --latency-goal STAT=TIME   sustain only, and required there: the latency that round trips must keep in a
                             trial, such as p99=100us; STAT is p50, p90, p99, p99.9 to p99.9999, or max
  --loss-goal RATIO          sustain only: the share of messages that may be lost; a message that was never
                             sent counts as lost (default 0)
  --rate-range LOW,HIGH      sustain only: the lowest and the highest rate of the search
                             (default 1000,10000000)
  --goal-width RATIO         sustain only: the search ends when the lowest rate that misses the goal is at
                             most this share above the highest rate that keeps it (default 0.01)
  --trial-duration SECONDS   sustain only: the length of the trials that narrow the rates down (default 1);
                             the trials that confirm the result take --duration
  --trials N                 sustain only: N trials of full length decide on a rate, or fewer if further
                             trials cannot change the result (default 3)
  --exceed-ratio RATIO       sustain only: at a sustained rate, the share of the time of its trials that may
                             miss the goal; 0: none (default 0.5: most trials keep the goal)
  --demands LIST             demand only: the number of messages in a burst (default 100,1000,10000)
  --recovery LIST            demand only: milliseconds from the start of one burst to the start of the
                             next; after a longer burst, the next one starts immediately (default 5)
  --demands-file FILE        sizes and demands, instead of --sizes and --demands: lines of
                             payload;demand;demand... as in Fast-RTPS' payloads_demands.csv
  --touch none|write|write+read
                             who touches the payload: none: nobody; write: the publisher writes every
                             byte; write+read: the subscriber also reads every byte (default write+read)
  --verify                   check every payload with a checksum, and count corrupted payloads. Without
                             --verify, only the 16 bytes of the header are checked
  --instances N              keyed data: the publisher writes N instances (1 to 65536) in turn. Order,
                             loss and duplicates are checked within each instance. The log states from
                             how many instances messages (in a latency test: answers) arrived
                             (default: no key)

  --wait busy-poll|block|spin-then-block
                             how each side waits for the other side.
                             busy-poll: the lowest latency, if each side has its own CPU, which is
                             always busy (default);
                             block: sleep until the kernel wakes the side: no CPU is used while
                             waiting, but each message takes some microseconds longer;
                             spin-then-block: poll for 50 us, then sleep: as fast as busy-poll if the
                             other side answers immediately, and no CPU is used in longer pauses

  --publishers N             N publishers (at most 16), each with its own thread, channel and numbers,
                             and one subscriber that takes messages from all of them in turn. Only for
                             throughput and demand, with --wait busy-poll. --rate is the rate of each
                             publisher (default 1)
  --subscribers N            one publisher and N subscribers, for throughput and demand only (default 1).
                             If a transport cannot do this, an error names the transports that can.
                             With --role sub, you start each subscriber; with --role both, perftest
                             starts N processes (or threads)
  --slow-subscriber block|drop
                             block: the publisher waits for the slowest subscriber (default); drop: if a
                             subscriber has no room for a message, the message is dropped for this
                             subscriber only, and counted

  --batch-bytes SIZE         throughput and demand over tcp, udp and uds: messages of up to SIZE bytes
                             in total (at most 1MiB, udp: 64KiB) are sent in one system call. No message
                             waits longer than 50 ms. A message of more than half of SIZE is sent alone
                             (default: each message is sent immediately)

  --probe-every N            throughput only: measure latency under load: every N-th message is a probe,
                             whose answer gives a round trip. With --instances, each instance has
                             probes in turn. Only for one subscriber, without --batch-bytes
                             (default: none)
  --set NAME=VALUE           a setting of the transport, on both sides; may be repeated.
                             --list-transports --verbose lists the settings with their defaults

Where each side runs
  --role both|pub|sub        both: this command starts publisher and subscriber (default);
                             pub, sub: only this side; start the other side with the same options
  --cpu-pub LIST             the CPUs on which the publisher may run, such as 0 or 2,4-7 (default: any)
  --cpu-sub LIST             the CPUs on which the subscriber may run (default: any)
  --realtime PRIORITY        both sides measure with this real-time priority, 1 to 98 (SCHED_FIFO; default:
                             normal scheduling). The system must permit this option and the next two
  --lock-memory              both sides lock their memory, so that no page of it has to be loaded
                             while they measure
  --numa NODE                both sides take their memory only from this NUMA node
  --address ADDR             the publisher's address (IPv4 or IPv6) or host name: the publisher listens
                             there, and the subscriber connects there (default 127.0.0.1: this host only).
                             A link-local address contains the interface of its own side: fe80::1%eth0
  --port N                   the TCP port of the publisher's control channel
                             (default: any free port for both, 7420 for pub and sub). Anybody who can
                             reach the port and knows the options can be the subscriber, unless the
                             environment variable TACHOLOG_SECRET contains the same text on both sides.
                             The text is sent unencrypted: it protects against strangers, but not
                             against somebody who can listen to the network
  --any-endpoint             send to any address that the other side names. By default, messages go
                             only to the address of the other end of the control channel. Use it if
                             the other side receives at another address than the one from which it
                             connects (such as behind a NAT, if this side can reach the inner address);
                             udp-wan does not need it
  --timeout SECONDS          the longest wait for the other side (default 10)
  --answer-limit SECONDS     latency without --rate, over a transport that may lose messages: how long
                             to wait for an answer before the next message is sent. An answer that
                             arrives later is a sample with its full time, and counted as late; an
                             answer that never arrives is lost (default 0.2, and 0.08 per MiB of the size)

What to write
  --output FILE|-            where to write the log (default -: standard output)

  --list-transports [--verbose], --version, --help

Exit status: 0 measured, 1 the run failed, 2 the command line is wrong, or a file or CPU that it names cannot be used.

Examples
  Round trips through shared memory, with each side on its own core:
    perftest --test latency --transport shm --sizes 64,1KiB,64KiB --cpu-pub 0 --cpu-sub 1
  Ten thousand messages per second from one host to another, over UDP:
    host A (192.0.2.1)  perftest --test throughput --transport udp --rate 10000 --role pub --address 192.0.2.1
    host B              perftest --test throughput --transport udp --rate 10000 --role sub --address 192.0.2.1
  One run of bursts, with its log in a file:
    perftest --test demand --transport udp --sizes 1KiB --demands 100,1000 --recovery 0,5 --output run.log
)";

}  // namespace

std::string help_text() {
    return std::string{text};
}

}  // namespace tacholog
