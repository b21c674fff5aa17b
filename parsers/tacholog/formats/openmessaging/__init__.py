"""OpenMessaging Benchmark (OMB): its result as JSON, and its log. Its drivers measure Kafka, Pulsar, RabbitMQ and other brokers.

The JSON has a list for each figure, with a value for each interval of 10 s. The figures of the whole test follow::

    "messageSize" : 200,
    "publishRate" : [ 502.91, 499.94 ],
    "publishLatency50pct" : [ 0.454, 0.463 ],
    "aggregatedPublishLatency50pct" : 0.474,
    "aggregatedEndToEndLatency50pct" : 1.0,

The log has a line for each interval of 10 s, and a last line without end-to-end latencies::

    Pub rate   500.1 msg/s /  0.1 MB/s | Pub err     0.0 err/s | Cons rate   500.1 msg/s /  0.1 MB/s | Backlog:  0.0 K | Pub Latency (ms) avg: ...

Publish latency ends when the broker has acknowledged the message. It is no delivery, and may be longer than the end-to-end latency. The delay of a
publish call is in microseconds; all other times are in milliseconds. "MB" are 2^20 bytes. The tool drops end-to-end latencies of zero and below, and
does not count them, so each end-to-end latency has the mark ``drops_samples``. If all were dropped, the tool prints 0, and the latencies are unknown.
If the publisher's time stamps are whole milliseconds, all end-to-end latencies except their mean are whole milliseconds too. Then the clock has a
step of 1 ms. Files before August 2022 have no delay of the publish call: a blocked publisher sends later, and no figure shows this. Their latencies
have a separate definition. Rates are for all publishers and all subscribers together. The rate of the whole test is the mean of its intervals,
without the warm-up. In a log, the test begins with the line 'Starting benchmark traffic'. Without this line, intervals may belong to the warm-up, and
there is no summary. If the backlog grew by more than one second of publishing, the rates have the mark ``not_sustained``.

Conditions are the size, topics, partitions and publishers. The name of the workload and the number of subscribers of a topic are settings. A log also
states subscribers, consumer groups and the rate in its workload, and ``acks`` in the settings of Kafka's producer. The JSON states neither durability
nor replication: the manifest must state them.
Source: WorkloadGenerator.java, TestResult.java and WorkerStats.java of openmessaging/benchmark; published results of three repositories; samples in
tests/formats/openmessaging/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tacholog.formats.kit import Detected, Dialect, Finding, Line, LineStart, States
from tacholog.formats.openmessaging.document import ResultDocument
from tacholog.formats.openmessaging.log import BenchmarkLog

SYSTEM = "a broker"
TOOL = "OpenMessaging Benchmark"
EXPANDS_TABS = True
DIALECTS = (
    Dialect("json", "since August 2022: with publishDelayLatency", "a published result of July 2026"),
    Dialect("json-2017", "before August 2022: without publishDelayLatency and mostly without messageSize", "published results of Kafka and RabbitMQ"),
    Dialect("log", "since August 2022", "published lines of July 2026"),
    Dialect("log-2017", "before August 2022: without Pub Delay Latency", "posted lines of Pulsar"),
)
DEFINITIONS = {
    "omb-publish": "From the send of a message by the client library until the broker has acknowledged it, in steps of 1 us. The time that a "
    "message waits for its turn is its delay, which is a separate metric.",
    "omb-publish-2017": "From the send of a message by the client library until the broker has acknowledged it, in steps of 1 us. If the publisher "
    "is blocked, later messages are sent later, and no figure shows this.",
    "omb-end-to-end": "From the time stamp of the publisher to the receipt of the message, on the clocks of two processes. Latencies of zero and "
    "below are dropped without a count.",
    "omb-rates": "Messages that the broker acknowledged to all publishers, and messages that all subscribers received, divided by the time of the "
    "test.",
}
_CONDITIONS = "load_mode payload_bytes topics partitions publishers"
STATES = {
    "latency": States(
        always="basis definition", sometimes=f"{_CONDITIONS} settings offered_rate_per_s subscribers consumer_groups acks warmup planned_duration_s"
    ),
    "throughput": States(
        always="load_mode definition",
        sometimes="payload_bytes topics partitions publishers settings offered_rate_per_s subscribers consumer_groups acks warmup planned_duration_s",
    ),
}
LINE_BYTES = 1 << 22  # If a test takes a day, its lists have 8640 values, and the JSON may be on one line.
_JSON = tuple(re.compile(rf"\"{name}\"\s{{0,4}}:\s{{0,4}}\[") for name in ("publishRate", "publishLatencyAvg"))
_LOG = LineStart(r"[^\n|]{0,120}?Pub rate {1,9}[0-9]{1,12}[.,][0-9] msg/s / ")
_DRIVER = re.compile(r"\"driver\"\s{0,4}:\s{0,4}\"([^\"\n]{1,80})\"|-{5,20} WORKLOAD : [^\n]{0,200}? --- DRIVER : ([^\n]{1,80}?)-{5,20}")


def detect(head: str) -> Detected:
    """Return whether the log has the lists of a result, or the line of an interval."""
    is_json = head.lstrip()[:1] == "{" and all(name.search(head) for name in _JSON)
    return Detected(is_json or _LOG.is_in(head), wants="JSON with '\"publishRate\" : [', or a line 'Pub rate N msg/s / N MB/s | Cons rate '")


def system_of(head: str) -> str | None:
    """Return the broker that the driver measures; ``None`` if the log does not name it."""
    driver = _DRIVER.search(head)
    return (driver[1] or driver[2]).strip() if driver else None


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield a record for each interval, and the records of the whole test."""
    document, log = ResultDocument(), BenchmarkLog()
    for line in lines:
        if not log.is_open and (document.is_open or line.text.lstrip().startswith("{")):
            yield from document.take(line)
        else:
            yield from log.take(line)
    yield from document.close()
    yield from log.close()
