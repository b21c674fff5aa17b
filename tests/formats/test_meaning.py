"""The meaning of the figures of each tool: start and end of a latency, unit, resolution, impossible values.

Expected values were copied by hand from the logs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tacholog.formats.reading import read
from tacholog.schema.records import Record

HERE = Path(__file__).parent
KIB, MIB, GIB = 2**10, 2**20, 2**30


def record(log: str, test: str, wanted: Callable[[Record], bool] = lambda _: True) -> Record:
    """Return the first summary of a test. If the log has none, return the first interval."""
    records = [candidate for candidate in read(HERE / log).records if candidate.test == test and wanted(candidate)]
    return min(records, key=lambda candidate: candidate.scope != "summary")


# Each row: log, basis, load mode (if the log states it), definition. Half of a round trip is never one-way, even if the tool prints "one-way".
LATENCIES = [
    ("native/latency-udp.log", "rtt", None, "perftest-rtt"),
    ("rti/3.0.1-latency-pub.log", "rtt/2", "closed", "rti-one-way"),
    ("rti/3.0.1-throughput-pub.log", "rtt/2", "max-rate", "rti-one-way"),
    ("rti/page.txt", "rtt/2", None, "rti-one-way"),
    ("rti/lite-pub.csv", "rtt/2", "closed", "lite-one-way"),
    ("hmbdc/17-6-ipc-0cpy-ping.log", "rtt", "open", "hmbdc-rtt"),
    ("hmbdc/17-6-ipc-0cpy-pong.log", "one-way", "open", "hmbdc-one-way"),
    ("hmbdc/perf-sample-14-2.txt", "rtt/2", None, "hmbdc-sample-reference"),
    ("hmbdc/perf-sample-12-41.txt", "rtt/2", None, "hmbdc-sample-reference"),
    ("ecal/latency-5.3.log", "rtt", "closed", "ecal-5.3-rtt"),
    ("ecal/latency-6.2-receiver.log", "one-way", None, "ecal-5.12-one-way"),
    ("ecal/latency-python.log", "one-way", None, "ecal-python-one-way"),
    ("ecal/performance-5.12.rst", "one-way", None, "ecal-published"),
    ("ecal/service-and-topics.log", "rtt", "closed", "ecal-service-rtt"),
    ("fastrtps/latency-0.5.1.log", "rtt", "closed", "fastrtps-latency-0.5.1"),
    # Versions up to 1.9.0 print a round trip. Later versions print half of a round trip. This log does not state its version.
    ("fastrtps/latency-1.1.log", None, "closed", "fastrtps-latency-1.1"),
    ("fastrtps/latency-2.9.1.log", "rtt/2", "closed", "fastrtps-latency-1.9.4"),
    ("qperf/tcp-lat-plain.log", "rtt/2", "closed", "qperf-latency"),
    ("nats_bench/0.4-requester.log", "rtt", "closed", "nats-bench-request"),
    ("rabbitmq_perftest/2.22-consumer.log", "one-way", None, "rabbitmq-consumer-latency"),
    ("redis_benchmark/7.0-set-get.csv", "rtt", None, "redis-benchmark"),
    ("nats_bench/0.4-jetstream-sync.log", "pub-to-ack", "closed", "nats-bench-acknowledged"),
    ("nats_bench/0.4-jetstream-async.log", "pub-to-ack", "max-rate", "nats-bench-batch"),
    ("sockperf/ping-pong-udp.log", "rtt/2", None, "sockperf-latency"),
    ("sockperf/ping-pong-tcp-full-rtt.log", "rtt", None, "sockperf-rtt"),
    ("sockperf/full-log-under-load-rtt.csv", "rtt", "open", "sockperf-rtt"),
    ("ddsperf/ping.log", "rtt/2", None, "ddsperf-ping"),
    ("iceperf/2.0.3-leader.log", "rtt/2", "closed", "iceperf-mean"),
    ("iceoryx2/0.9.3-publish-subscribe.log", "rtt/2", "closed", "iceoryx2-publish-subscribe"),
    ("performance_test/layout.log", "one-way", "open", "performance_test-one-way"),
    (
        "google_benchmark/moveit-service-client.json",
        None,
        None,
        "google-benchmark-iteration",
    ),  # Only the name of the benchmark states what one iteration does.
    ("github_action_benchmark/moveit-entry.json", None, None, "github-action-benchmark-mean"),
    ("zeromq/nng-2.0-remote-lat.log", "rtt/2", "closed", "zeromq-latency"),
    ("zenoh/layout-ping.log", "rtt", "closed", "zenoh-ping"),
    ("openmessaging/pulsar-2021.log", "pub-to-ack", None, "omb-publish-2017"),
    ("kafka/producer-summary.log", "pub-to-ack", None, "kafka-producer"),
    ("kafka/end-to-end.log", "one-way", "closed", "kafka-end-to-end"),
]
# Each row: log, test, metric, statistic, and the expected value (the printed number multiplied by its unit).
UNITS = [
    ("rti/3.0.1-throughput-sub.log", "throughput", "goodput", "mean", 6.1 * 1e6),  # Mbps
    ("sockperf/throughput-udp.log", "throughput", "offered_goodput", "mean", 515.849 * MIB * 8),  # The tool prints MBps of 2^20 bytes.
    (
        "sockperf/throughput-giga-size.log",
        "throughput",
        "offered_goodput",
        "mean",
        0.240 * 1000 * MIB * 8,
    ),  # The tool prints GBps of 1000 MBps.
    ("iperf3/tcp.log", "throughput", "bytes_sent", "total", 5.84 * GIB),  # The tool prints transfers in GBytes of 2^30 bytes.
    ("iperf3/tcp.log", "throughput", "offered_goodput", "mean", 16.7 * 1e9),  # The tool prints rates in Gbits of 10^9 bits.
    ("qperf/multi-vv.log", "throughput", "goodput", "mean", 1.59 * 1e9 * 8),  # GB/sec
    ("qperf/bits.log", "throughput", "goodput", "mean", 11.944 * 1e9),  # Gb/sec
    ("nats_bench/0.1-one-to-one.log", "throughput", "offered_goodput", "mean", 53.68 * MIB * 8),  # The tool prints MB of 2^20 bytes.
    ("ecal/latency-6.2-receiver.log", "latency", "size_over_latency", "mean", 242 * MIB * 8),
    ("ecal/pubsub-throughput.log", "throughput", "bytes_sent", "total", 8000 * MIB),
    ("ecal/performance.log", "throughput", "interval_per_message", "mean", 663.552 * 1000),
    ("openmessaging/pulsar-2021.log", "throughput", "goodput", "mean", 488.4 * MIB * 8),
    ("kafka/producer-summary.log", "throughput", "acknowledged_goodput", "mean", 22.29 * MIB * 8),  # The tool prints MB of 2^20 bytes.
    ("kafka/consumer-3.5.log", "throughput", "goodput", "mean", 0.9986 * MIB * 8),
    ("ddsperf/sub.log", "throughput", "goodput", "mean", 1643.31 * 1e6),
    ("fastrtps/throughput-2.9.1-publisher.log", "demand", "goodput", "mean", 137.901 * 1e6),
    ("iceoryx2/0.9.3-publish-subscribe.log", "latency", "latency", "mean", 23397),
    ("hmbdc/17-6-ipc-0cpy-ping.log", "latency", "latency", "mean", 0.006631404 * 1e9),
    ("github_action_benchmark/layout-catch2.json", "latency", "latency", "mean", 43.186 * 1000),
    ("zeromq/layout-elapsed-thr.log", "throughput", "goodput", "mean", 3276.8 * 1e6),
    ("zeromq/nng-2.0-local-thr.log", "throughput", "goodput", "mean", 2100.134 * MIB),  # Mb of 2^20 bits.
]
SIZES = [  # Each row: log, test, and the expected size (the printed size multiplied by its unit).
    ("ecal/performance-5.12.rst", "latency", 1 * KIB),
    ("iceperf/2.0.3-leader.log", "latency", 1 * KIB),
    ("qperf/multi-vv.log", "throughput", 64 * KIB),
    ("qperf/bits.log", "throughput", 1_000_000),
    ("fastrtps/throughput-2.9.1-publisher.log", "demand", 1024),
]
# Each row: log, test, metric and statistic of a value. The tool computed this value from other measured values.
DERIVED = [
    ("ecal/latency-6.2-receiver.log", "latency", "size_over_latency", "mean"),
    ("nats_bench/0.2-publisher.log", "throughput", "interval_per_message", "mean"),
    ("ecal/performance.log", "throughput", "interval_per_message", "mean"),
    ("ecal/service-and-topics.log", "latency", "call_rate", "mean"),
    ("fastrtps/throughput-2.9.1-publisher.log", "demand", "loss", "total"),
    ("fastrtps/throughput-2.9.1-subscriber.log", "demand", "messages_received", "total"),
    ("ddsperf/sub.log", "throughput", "goodput", "mean"),
    ("zenoh/layout-ping.log", "latency", "latency", "p50"),
    ("openmessaging/kafka-2026.json", "throughput", "message_rate", "mean"),
]
# Each row: log, test, metric and statistic of an impossible value. The printed value is close to 2^64, or a latency of zero.
IMPOSSIBLE = [
    ("fastrtps/throughput-underflow.log", "demand", "messages_received", "total"),
    ("fastrtps/throughput-underflow.log", "demand", "message_rate", "mean"),
    ("fastrtps/throughput-underflow.log", "demand", "goodput", "mean"),
    ("qperf/udp-lat-too-large.log", "latency", "latency", "mean"),
]
# Each row: log, test, metric, statistic, and the expected resolution (the unit of the last printed digit).
RESOLUTIONS = [
    ("rti/3.0.1-latency-pub.log", "latency", "latency", "p99", 1000),
    ("rti/3.0.1-latency-pub.log", "latency", "latency", "std", 100),
    ("rti/3.0.1-throughput-sub.log", "throughput", "message_rate", "mean", 1),
    ("rabbitmq_perftest/2.22-consumer.log", "latency", "latency", "p99", 1000),
    ("nats_bench/0.4-requester.log", "latency", "latency", "p99", 10),
    ("ecal/latency-6.2-receiver.log", "latency", "latency", "mean", 1000),
    ("hmbdc/17-6-ipc-0cpy-ping.log", "latency", "latency", "mean", 1),
    ("fastrtps/latency-2.9.1.log", "latency", "latency", "p99", 1),
    ("qperf/tcp-lat-v-100.log", "latency", "latency", "mean", 10),
    ("iceperf/2.0.3-leader.log", "latency", "latency", "mean", 1000),
    ("sockperf/ping-pong-udp.log", "latency", "latency", "p99", 1),
    ("kafka/producer-summary.log", "latency", "latency", "p99", 1_000_000),
    ("openmessaging/kafka-2026.json", "latency", "latency", "p99", 1000),
]
SAMPLES = [  # Each row: log, test, and the number of messages in the statistics.
    ("hmbdc/17-6-ipc-0cpy-ping.log", "latency", 1968),
    ("ecal/latency-6.2-receiver.log", "latency", 300),
    ("fastrtps/latency-1.9.2.log", "latency", 10001),
    ("iceoryx2/0.9.3-publish-subscribe.log", "latency", 20000),
    ("iceperf/2.0.3-leader.log", "latency", 2000),
    ("sockperf/ping-pong-udp.log", "latency", 337358),
    ("ecal/readme-5.5.md", "latency", 10000),
    ("github_action_benchmark/layout-go.json", "latency", 2911232),
    ("zeromq/nng-2.0-remote-lat.log", "latency", 5000),
    ("nats_bench/0.4-requester.log", "latency", 5000),
    ("rti/3.0.1-latency-pub.log", "latency", None),  # The log states no number of samples.
]


@pytest.mark.parametrize(("log", "basis", "load_mode", "definition"), LATENCIES)
def test_each_latency_has_the_conditions_that_the_tool_implies(log: str, basis: str | None, load_mode: str | None, definition: str) -> None:
    latency = record(
        log, "latency", lambda candidate: candidate.conditions.definition not in ("ecal-sent", "rti-serialization", "rti-low-resolution")
    )

    assert (latency.conditions.basis, latency.conditions.load_mode, latency.conditions.definition) == (basis, load_mode, definition)


@pytest.mark.parametrize(("log", "test", "metric", "statistic", "value"), UNITS)
def test_number_has_the_unit_of_the_tool(log: str, test: str, metric: str, statistic: str, value: float) -> None:
    number = record(log, test, lambda candidate: bool(candidate.number(metric, statistic))).number(metric, statistic)

    assert number
    if log.startswith("ddsperf"):  # ddsperf prints no summary: the printed value is the value of an interval.
        values = [n.value for candidate in read(HERE / log).records if candidate.scope == "interval" and (n := candidate.number(metric, statistic))]
        assert value in [pytest.approx(v) for v in values]
    else:
        assert number.value == pytest.approx(value)


@pytest.mark.parametrize(("log", "test", "size"), SIZES)
def test_size_has_the_unit_of_the_tool(log: str, test: str, size: int) -> None:
    assert record(log, test).payload_bytes == size


def test_size_truncated_to_zero_is_unknown() -> None:
    last = read(HERE / "ecal/latency-6.2-receiver.log").records[-1]  # "Message size received : 0 kB", for messages of 100 bytes.

    assert (last.payload_bytes, last.samples) == (None, 200)


@pytest.mark.parametrize(("log", "test", "metric", "statistic"), DERIVED)
def test_value_computed_from_other_values_is_marked_as_derived(log: str, test: str, metric: str, statistic: str) -> None:
    number = record(log, test, lambda candidate: bool(candidate.number(metric, statistic))).number(metric, statistic)

    assert number
    assert "derived" in number.marks


@pytest.mark.parametrize(("log", "test", "metric", "statistic"), IMPOSSIBLE)
def test_impossible_value_is_unknown_and_marked(log: str, test: str, metric: str, statistic: str) -> None:
    number = record(log, test).number(metric, statistic)

    assert number
    assert (number.value, "impossible" in number.marks) == (None, True)


@pytest.mark.parametrize(("log", "test", "metric", "statistic", "resolution"), RESOLUTIONS)
def test_number_has_the_resolution_of_its_printed_digits(log: str, test: str, metric: str, statistic: str, resolution: float) -> None:
    number = record(log, test, lambda candidate: bool(candidate.number(metric, statistic))).number(metric, statistic)

    assert number
    assert number.resolution == pytest.approx(resolution)


@pytest.mark.parametrize(("log", "test", "samples"), SAMPLES)
def test_number_of_samples_is_the_number_that_the_log_states(log: str, test: str, samples: int | None) -> None:
    assert record(log, test, lambda candidate: candidate.conditions.definition != "ecal-sent").samples == samples


def test_value_rounded_to_zero_is_below_one_unit() -> None:
    std = record("rti/low-resolution-clock-pub.log", "latency", lambda candidate: candidate.conditions.definition == "rti-one-way").number(
        "latency", "std"
    )

    assert std
    assert (std.bound, std.value, std.resolution) == ("<", 100, 100)
