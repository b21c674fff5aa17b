#include "cli/options.hpp"

namespace tacholog {
namespace {

constexpr std::string_view text =
    R"(perftest measures how a transport moves messages from a publisher to a subscriber,
and writes what it finds as a text log.

Usage: perftest --test latency|throughput|demand|sustain --transport NAME [options]

What to measure
  --test latency|throughput|demand|sustain
                             latency: round trips, one message outstanding or at --rate;
                             throughput: a stream, as fast as it goes or at --rate;
                             demand: bursts of --demands messages, with rests between them;
                             sustain: the highest rate that keeps --latency-goal and --loss-goal
  --transport NAME           the way to move messages; --list-transports shows them
  --sizes LIST               payload sizes, 16 to 256MiB: bytes, or with KiB or MiB
                             (default 16,64,256,1KiB,4KiB,16KiB,64KiB,256KiB,1MiB)
  --duration SECONDS         how long to measure each size (and demand, and recovery time;
                             default 5)
  --warmup steady|SECONDS    what comes first and is not counted (default steady: until three
                             seconds in a row agree within 5 %, at most 30 s)
  --interval-length SECONDS  the length of the intervals that are reported while a size is measured, at
                             least 0.01 (default 1)
  --rate N                   messages per second: throughput at that rate; latency in an open
                             loop, from the moment that the schedule gives to each message
                             (default: no limit; latency with one message outstanding)
  --basis rtt|one-way        latency at --rate: rtt: of round trips (default); one-way: of the way
                             there alone, from the moment that the schedule gives to a message.
                             Both sides must then read one clock, on one host
  --latency-goal STAT=TIME   sustain only, and needed there: what round trips have to keep in a trial, such
                             as p99=100us; p50, p90, p99, p99.9 and so on to p99.9999, or max
  --loss-goal RATIO          sustain only: which share of the messages may be lost; one that was never sent
                             is lost, too (default 0)
  --rate-range LOW,HIGH      sustain only: the rates to search in (default 1000,10000000)
  --goal-width RATIO         sustain only: the search ends when the lowest rate that misses the goal is no
                             further than this above the highest one that keeps it (default 0.01)
  --trial-duration SECONDS   sustain only: length of the trials that narrow the rates down (default 1); those
                             that confirm the result take --duration
  --trials N                 sustain only: N trials of full length decide on a rate, or fewer where the rest
                             cannot change the outcome (default 3)
  --exceed-ratio RATIO       sustain only: which share of the time of its trials may miss the goal at a rate
                             that is sustained; 0: none (default 0.5: most of them keep it)
  --demands LIST             messages a burst, demand only (default 100,1000,10000)
  --recovery LIST            milliseconds from the start of one burst to the start of the next,
                             demand only; a burst that takes longer is followed at once (default 5)
  --demands-file FILE        sizes and demands, instead of --sizes and --demands: lines of
                             payload;demand;demand... as Fast-RTPS' payloads_demands.csv
  --touch none|write|write+read
                             who touches the payload: nobody, the publisher writes every byte,
                             or the subscriber reads them all too (default write+read)
  --verify                   checksum every payload and count those that arrive corrupted; without
                             it only the 16 bytes of the header are checked, which they always are
  --instances N              keyed data: the publisher writes N instances (1 to 65536) in turn; order,
                             loss and duplicates are checked within each, and the log says of how
                             many something came: messages, or in a latency test answers
                             (default: no key)

  --wait busy-poll|block|spin-then-block
                             how both sides wait for each other: busy-poll: the least latency, if
                             each side has a CPU of its own, which is never idle (default); block:
                             asleep until the kernel wakes them, which costs microseconds a message
                             and no CPU meanwhile; spin-then-block: polls for 50 us, then sleeps:
                             as fast as busy-poll while the other side answers at once, idle in a
                             lull

  --publishers N             N publishers (to 16), each a thread with a channel and numbers of its own,
                             and one subscriber that takes from all of them in turn; throughput and
                             demand, --wait busy-poll only; --rate is that of each (default 1)
  --subscribers N            one publisher, N subscribers; throughput and demand only (default 1).
                             Not every transport can: an error names those that can. With --role
                             sub each is started on its own; with both, perftest starts N processes
                             (or threads)
  --slow-subscriber block|drop
                             block: the publisher waits for the slowest (default); drop: a message
                             that one has no room for is dropped for it alone, and counted

  --batch-bytes SIZE         throughput and demand over tcp, udp and uds: messages of up to SIZE bytes
                             in all (at most 1MiB, udp: 64KiB) go in one system call; none waits
                             longer than 50 ms. A message of more than half of SIZE goes alone
                             (default: each goes at once)

  --probe-every N            throughput only: latency under its load: every N-th message is a probe,
                             whose answer gives a round trip; with --instances each instance has
                             its probes in turn; one subscriber, no --batch-bytes (default: none)
  --set NAME=VALUE           a setting of the transport's own, on both sides; again for each further one.
                             --list-transports --verbose shows them with their defaults

Who runs where
  --role both|pub|sub        both: this command starts publisher and subscriber (default);
                             pub, sub: only that side, the other is started with the same options
  --cpu-pub LIST             CPUs the publisher may run on, like 0 or 2,4-7 (default: any)
  --cpu-sub LIST             CPUs the subscriber may run on (default: any)
  --realtime PRIORITY        both sides measure with this real-time priority, 1 to 98 (SCHED_FIFO; default:
                             the normal scheduling). It must be permitted, as must the next two
  --lock-memory              both sides lock their memory, so that no page of it has to be brought in
                             while they measure
  --numa NODE                both sides take their memory from this NUMA node alone
  --address ADDR             the publisher's address (IPv4 or IPv6) or host name: it listens there, the
                             subscriber connects there (default 127.0.0.1: this host only). A link-local
                             one has the interface of the own side: fe80::1%eth0
  --port N                   TCP port of the publisher's control channel
                             (default: any free one for both, 7420 for pub and sub). Who reaches it
                             and knows the options can be the subscriber, unless the environment
                             variable TACHOLOG_SECRET holds a text, the same on both sides. It travels in
                             clear: it keeps strangers out, not who can listen to the network
  --any-endpoint             send to whatever address the other side names. Without it, messages go
                             only to the address that its end of the control channel has. Needed if
                             the other side receives at another address than the one it connects
                             from (behind a NAT, say, if this side can reach the inner address);
                             udp-wan does not need it
  --timeout SECONDS          the longest wait for the other side (default 10)
  --answer-limit SECONDS     latency without --rate, over a transport that may lose messages: how long
                             to wait for an answer before the next message is sent. An answer that
                             comes later is a sample with its whole time, and counted as late; what
                             never comes is lost (default 0.2, and 0.08 a MiB of the size)

What to write
  --output FILE|-            where to write the log (default -: standard output)

  --list-transports [--verbose], --version, --help

Exit status: 0 measured, 1 the run failed, 2 the command line is wrong, or a file or CPU that it names cannot be used.

Examples
  Round trips through shared memory, each side on its own core:
    perftest --test latency --transport shm --sizes 64,1KiB,64KiB --cpu-pub 0 --cpu-sub 1
  Ten thousand messages a second from one host to another, over UDP:
    host A (192.0.2.1)  perftest --test throughput --transport udp --rate 10000 --role pub --address 192.0.2.1
    host B              perftest --test throughput --transport udp --rate 10000 --role sub --address 192.0.2.1
  One run of bursts, its log in a file:
    perftest --test demand --transport udp --sizes 1KiB --demands 100,1000 --recovery 0,5 --output run.log
)";

}  // namespace

std::string help_text() {
    return std::string{text};
}

}  // namespace tacholog
