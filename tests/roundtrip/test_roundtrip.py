"""One run of perftest, written natively and in the words of other tools, and read again: the same figures, to the digits that each dialect prints.

What a tool would make of the samples (cut down to microseconds, its own rank of a percentile) is worked out here from the native histogram.
"""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.built import PERFTEST
from tests.depth import NIGHTLY
from tests.waiting import LIMIT_S

from tacholog.formats.reading import Log, read
from tacholog.schema.records import Histogram, Number, Record

pytestmark = pytest.mark.core

ROOT = Path(__file__).resolve().parents[2]
DIALECTS = {
    "latency": ("rti", "rti-csv", "hmbdc", "ecal", "fastrtps", "fastrtps-1"),
    "throughput": ("rti", "rti-csv"),
    "demand": ("fastrtps", "fastrtps-1"),
    "one-way": ("ecal",),
}
FORMATS = {"rti": "rti", "rti-csv": "rti", "hmbdc": "hmbdc", "ecal": "ecal", "fastrtps": "fastrtps", "fastrtps-1": "fastrtps"}
RTI = ("rti", "rti-csv")
FASTRTPS = ("fastrtps", "fastrtps-1")
SIZES = [64, 5000]
# Sides that sleep are woken soon on a busy machine too; those that poll have to wait for their turn, and could send nothing in so short a time.
BRIEFLY = ("--sizes", "64,5000", "--duration", "0.1", "--warmup", "0.02", "--wait", "block", "--interval-length", str(LIMIT_S))
ONE_WAY = ("--basis", "one-way", "--rate", "1000")
BURSTS = ("--demands", "3,50", "--recovery", "0,2")
TESTS = {"demand": ("demand", *BURSTS), "one-way": ("latency", *ONE_WAY), "latency": ("latency", "--answer-limit", "60")}
MICROSECOND = 1000


class Told(NamedTuple):
    """What the native log tells of one result: its record, and the distribution of its samples as ascending (ns, count)."""

    record: Record
    samples: list[tuple[int, int]]

    def value(self, metric: str, statistic: str = "total") -> float:
        """The value of a number that is there."""
        value = said(self.record, metric, statistic).value
        assert value is not None
        return value

    def at_rank(self, rank: int) -> int:
        """The sample of that rank, counted from 1; the largest if there are fewer."""
        for value, count in self.samples:
            rank -= count
            if rank <= 0:
                return value
        return self.samples[-1][0]

    def mean(self, of: Callable[[int], int]) -> float:
        """The mean of what becomes of each sample."""
        return sum(of(value) * count for value, count in self.samples) / sum(count for _, count in self.samples)


class Run(NamedTuple):
    """The logs of one run: the native one, and those of the other dialects by name."""

    native: Log
    others: dict[str, Log]

    def told(self) -> list[Told]:
        """Each result of the native log. A sample counts as the upper edge of its bin, the largest as what it was."""
        found: list[Told] = []
        for event in self.native.events:
            if isinstance(event.what, Record) and is_result(event.what):
                found.append(Told(event.what, []))
            elif isinstance(event.what, Histogram):
                largest = int(found[-1].value("latency", "max"))
                found[-1].samples.extend((min(upper, largest), count) for _, upper, count in event.what.bins)
        return found


@functools.cache
def transports() -> list[str]:
    """Three of our own transports, nightly all that one command can run both sides of: what a dialect says depends on none, but on what gets lost.

    Middleware is left to bench/tests: what a dialect says depends on no library, and those that lose messages on a busy machine end short runs.
    """
    if not NIGHTLY or PERFTEST is None:
        return ["shm", "mock", "udp"]
    own = {path.stem.replace("_", "-") for path in (ROOT / "bench/transports").glob("*.cpp")}
    listed = subprocess.run([PERFTEST, "--list-transports"], capture_output=True, text=True, check=True)
    apart = "each side needs a network interface of its own"  # bench/tests/udp_xdp_test.cpp runs it
    return [line.split()[0] for line in listed.stdout.splitlines() if apart not in line and line[:1].strip() and line.split()[0] in own]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what asks for a transport with each of them."""
    if "transport" in metafunc.fixturenames:
        metafunc.parametrize("transport", transports())


@pytest.fixture(scope="module")
def run(perftest: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """Give the logs of a run of a test over a transport, with these options more; it is made once."""

    @functools.cache
    def made(test: str, transport: str, *options: str) -> Run:
        folder = tmp_path_factory.mktemp(f"{test}-{transport}")
        files = {dialect: folder / f"{dialect}.log" for dialect in ("native", *DIALECTS[test])}
        logs = [word for dialect, path in files.items() for word in ("--reporter", dialect, "--output", str(path))]
        command: list[str | Path] = [perftest, "--test", *TESTS.get(test, (test,)), "--transport", transport, *BRIEFLY, *options, *logs]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        assert ended.returncode == 0, ended.stderr
        headless = "--no-headers" in options
        return Run(read(files["native"]), {dialect: read(path, "rti" if headless else None) for dialect, path in files.items() if dialect in FORMATS})

    return made


def said(record: Record, metric: str, statistic: str = "total") -> Number:
    """The number of that name, which must be there."""
    number = record.number(metric, statistic)
    assert number is not None, f"{metric} {statistic} is missing"
    return number


def is_result(record: Record) -> bool:
    """Whether a record is of a whole size, and of messages: what each took of the processors stands in the native log alone."""
    return record.scope == "summary" and record.number("cpu_per_message", "mean") is None


def summaries(log: Log) -> list[Record]:
    """The records of whole sizes."""
    return [record for record in log.records if is_result(record)]


def assert_printed(number: Number, value: float, unit: float) -> None:
    """The number is the value as printed in whole units; a printed 0 only says that it is below one unit."""
    assert number.resolution == pytest.approx(unit)
    assert number.bound == ("=" if value else "<")
    assert number.value == pytest.approx(value or unit)


def assert_near(number: Number, value: float, unit: float) -> None:
    """The number is the value to one unit of its last place: for what the native log has rounded already."""
    assert number.value is not None
    assert abs(number.value - value) <= unit * 1.001 or (number.bound == "<" and value < unit)


def half_us(round_trip_ns: int) -> int:
    """Half a round trip as a clock of whole microseconds has it."""
    return round_trip_ns // MICROSECOND // 2


@pytest.mark.parametrize(("test", "dialect"), [(test, dialect) for test, dialects in DIALECTS.items() for dialect in dialects])
def test_every_line_is_known_and_the_format_is_recognised(run: Callable[..., Run], transport: str, test: str, dialect: str) -> None:
    log = run(test, transport).others[dialect]

    assert (log.format, log.broken, log.unknown) == (FORMATS[dialect], [], [])
    assert log.account.status == ("ok" if FORMATS[dialect] == "fastrtps" else None)  # The others have no word for how a run ended.


def test_what_no_dialect_can_say_is_in_the_native_log(run: Callable[..., Run], transport: str) -> None:
    for test, dialects in DIALECTS.items():
        native, others = run(test, transport)

        assert native.account.facts.conditions.transport == transport
        assert native.account.facts.conditions.reliability is not None
        assert native.account.facts.tool_version is not None
        results = [record for record in summaries(native) if record.conditions.definition != "perftest-sending"]
        assert all(record.number("messages_duplicated", "total") and record.number("messages_reordered", "total") for record in results)
        for dialect in dialects:
            assert others[dialect].account.facts.conditions.transport is None


@pytest.mark.parametrize("dialect", RTI)
def test_rti_latency_is_half_a_round_trip_cut_down_to_microseconds(run: Callable[..., Run], transport: str, dialect: str) -> None:
    logs = run("latency", transport)
    records = summaries(logs.others[dialect])

    assert [(record.payload_bytes, record.conditions.basis) for record in records] == [(size, "rtt/2") for size in SIZES]
    for told, record in zip(logs.told(), records, strict=True):
        for statistic in ("min", "max"):
            assert_printed(said(record, "latency", statistic), half_us(int(told.value("latency", statistic))) * MICROSECOND, MICROSECOND)
        for statistic, millionths in (("p50", 500_000), ("p90", 900_000), ("p99", 990_000), ("p99.99", 999_900), ("p99.9999", 999_999)):
            sample = told.at_rank((told.record.samples or 0) * millionths // 1_000_000 + 1)
            assert_printed(said(record, "latency", statistic), half_us(sample) * MICROSECOND, MICROSECOND)
        assert_printed(said(record, "latency", "mean"), float(f"{told.mean(half_us):.0f}") * MICROSECOND, MICROSECOND)


@pytest.mark.parametrize("dialect", RTI)
def test_rti_throughput_is_what_the_subscriber_got(run: Callable[..., Run], transport: str, dialect: str) -> None:
    logs = run("throughput", transport)

    for told, record in zip(logs.told(), summaries(logs.others[dialect]), strict=True):
        assert record.payload_bytes == told.record.payload_bytes
        for metric in ("messages_received", "messages_lost"):
            assert said(record, metric).value == told.value(metric)
        assert_printed(said(record, "message_rate", "mean"), int(told.value("message_rate", "mean")), 1)
        assert_near(said(record, "goodput", "mean"), told.value("goodput", "mean"), 5e4)
        assert said(record, "loss").value == pytest.approx(told.value("loss"), abs=1e-4)


@pytest.mark.parametrize("dialect", RTI)
def test_rti_keyed_throughput_counts_the_messages_of_all_instances(run: Callable[..., Run], transport: str, dialect: str) -> None:
    logs = run("throughput", transport, "--instances", "3")
    facts = logs.native.account.facts

    assert (facts.conditions.keyed, facts.conditions.instances) == (True, 3)
    for told, record in zip(logs.told(), summaries(logs.others[dialect]), strict=True):
        assert 1 <= told.value("instances_heard") <= 3  # all of them, unless too few messages came
        for metric in ("messages_received", "messages_lost"):
            assert said(record, metric).value == told.value(metric)


def test_rtis_banner_and_the_native_log_say_alike_whether_there_is_a_key(perftest: Path, tmp_path: Path) -> None:
    for options, keyed in ((("--instances", "3"), True), ((), None)):
        native, rti = tmp_path / "native.log", tmp_path / "rti.log"
        logs = ("--reporter", "native", "--output", str(native), "--reporter", "rti", "--output", "-")
        command = [perftest, "--test", "throughput", "--transport", "shm", *BRIEFLY, *options, *logs]
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True, timeout=LIMIT_S)
        rti.write_bytes(ended.stdout)

        assert read(native).account.facts.conditions.keyed is keyed
        assert read(rti).account.facts.conditions.keyed is bool(keyed)


@pytest.mark.parametrize(("options", "batch_bytes"), [((), 0), (("--batch-bytes", "8KiB"), 8192)])
def test_rti_says_in_its_banner_how_much_travels_together(perftest: Path, tmp_path: Path, options: tuple[str, ...], batch_bytes: int) -> None:
    logs = ("--reporter", "rti", "--output", str(tmp_path / "rti.log"), "--reporter", "native", "--output", str(tmp_path / "native.log"))
    command: list[str | Path] = [perftest, "--test", "throughput", "--transport", "tcp", *BRIEFLY, *options, *logs]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT_S)
    banner = tmp_path / "banner.log"
    banner.write_text(f"RTI Perftest 3.0.1\n{ended.stderr}{(tmp_path / 'rti.log').read_text()}")
    native = read(tmp_path / "native.log")

    assert read(banner).account.facts.conditions.batch_bytes == batch_bytes
    assert native.account.facts.conditions.batch_bytes == batch_bytes
    assert [record.conditions.batch_bytes for record in summaries(native)] == ([None, 0] if batch_bytes else [None, None])


@pytest.mark.parametrize("options", [(), ("--instances", "3")])
@pytest.mark.parametrize("dialect", RTI)
def test_rti_prints_latency_under_load_beside_throughput(run: Callable[..., Run], transport: str, dialect: str, options: tuple[str, ...]) -> None:
    logs = run("throughput", transport, "--probe-every", "6", *options)
    records = summaries(logs.others[dialect])

    assert [(record.test, record.payload_bytes) for record in records] == [(test, size) for size in SIZES for test in ("throughput", "latency")]
    for told, record in zip(logs.told(), records, strict=True):
        assert told.record.test == record.test
        assert (told.record.number("instances_heard", "total") is not None) == bool(options)
        if record.test == "latency":
            assert told.record.conditions.definition == "perftest-rtt-probe"
            assert_printed(said(record, "latency", "max"), half_us(int(told.value("latency", "max"))) * MICROSECOND, MICROSECOND)


@pytest.mark.parametrize("options", [("--intervals",), ("--intervals", "--no-headers")])
@pytest.mark.parametrize("dialect", RTI)
def test_rti_intervals_are_told_from_summaries_with_and_without_headers(run: Callable[..., Run], dialect: str, options: tuple[str, ...]) -> None:
    log = run("latency", transports()[0], *options).others[dialect]

    assert (log.broken, log.unknown) == ([], [])
    assert [record.scope for record in log.records] == ["interval", "summary"] * len(SIZES)
    for interval, summary in zip(log.records[::2], log.records[1::2], strict=True):
        for statistic in ("mean", "min", "max"):  # Running figures: the last line before the summary has seen every sample.
            assert said(interval, "latency", statistic).value == said(summary, "latency", statistic).value


def test_hmbdc_round_trips_are_exact_to_the_nanosecond(run: Callable[..., Run], transport: str) -> None:
    logs = run("latency", transport)
    records = logs.others["hmbdc"].records

    assert [(record.payload_bytes, record.conditions.basis) for record in records] == [(size, "rtt") for size in SIZES]
    for told, record in zip(logs.told(), records, strict=True):
        assert record.samples == told.record.samples
        assert said(record, "messages_sent").value == (told.record.samples or 0) + told.value("messages_lost")
        assert said(record, "latency", "min").value == told.value("latency", "min")
        assert said(record, "latency", "max").value == told.value("latency", "max")
        assert_near(said(record, "latency", "mean"), told.value("latency", "mean"), 1)
        assert said(record, "latency", "std").value == pytest.approx(told.value("latency", "std"), rel=1e-5, abs=0.1)


def test_ecal_prints_half_a_round_trip_where_it_would_print_one_way(run: Callable[..., Run], transport: str) -> None:
    logs = run("latency", transport)
    sent, received = logs.others["ecal"].records[::2], logs.others["ecal"].records[1::2]

    assert [record.payload_bytes for record in sent] == SIZES
    assert [record.payload_bytes for record in received] == [None, 4096]  # Whole kilobytes only.
    for told, sender, receiver in zip(logs.told(), sent, received, strict=True):
        assert said(sender, "messages_sent").value == (told.record.samples or 0) + told.value("messages_lost")
        assert receiver.samples == told.record.samples
        assert_printed(said(receiver, "latency", "mean"), int(told.mean(half_us)) * MICROSECOND, MICROSECOND)
        for statistic in ("min", "max"):
            assert_printed(said(receiver, "latency", statistic), half_us(int(told.value("latency", statistic))) * MICROSECOND, MICROSECOND)


def test_ecal_prints_one_way_latency_as_it_is(run: Callable[..., Run]) -> None:
    logs = run("one-way", transports()[0])
    sent, received = logs.others["ecal"].records[::2], logs.others["ecal"].records[1::2]

    assert [record.conditions.basis for record in received] == ["one-way", "one-way"]
    for told, sender, receiver in zip((told for told in logs.told() if told.samples), sent, received, strict=True):
        assert told.record.conditions.basis == "one-way"
        assert sender.conditions.offered_rate_per_s == 1000
        for statistic in ("min", "max"):
            value = int(told.value("latency", statistic)) // MICROSECOND * MICROSECOND
            assert_printed(said(receiver, "latency", statistic), value, MICROSECOND)


@pytest.mark.parametrize(("dialect", "share", "unit"), [("fastrtps", 0.5, 1), ("fastrtps-1", 1, 10)])
def test_fastrtps_latency_has_its_own_ranks(run: Callable[..., Run], transport: str, dialect: str, share: float, unit: float) -> None:
    logs = run("latency", transport)
    records = logs.others[dialect].records

    assert [record.payload_bytes for record in records] == SIZES
    for told, record in zip(logs.told(), records, strict=True):
        samples = told.record.samples or 0
        assert record.samples == samples
        for statistic in ("mean", "min", "max"):
            assert_near(said(record, "latency", statistic), told.value("latency", statistic) * share, unit)
        for statistic, millionths in (("p50", 500_000), ("p90", 900_000), ("p99", 990_000), ("p99.99", 999_900)):
            if rank := samples * millionths // 1_000_000:
                assert_near(said(record, "latency", statistic), told.at_rank(rank) * share, unit)
        assert_near(said(record, "latency", "std"), told.value("latency", "std") * share, unit if share < 1 else MICROSECOND)


def demands(records: Iterable[Record]) -> list[tuple[int | None, int | None, int | None]]:
    """Which bursts each record is of."""
    return [(record.payload_bytes, record.conditions.demand, record.conditions.recovery_time_ns) for record in records]


@pytest.mark.parametrize("dialect", FASTRTPS)
def test_fastrtps_bursts_keep_counts_and_times(run: Callable[..., Run], transport: str, dialect: str) -> None:
    logs = run("demand", transport)
    records = logs.others[dialect].records

    assert demands(records) == demands(told.record for told in logs.told())
    assert demands(records) == [(size, demand, recovery) for size in SIZES for demand in (3, 50) for recovery in (0, 2_000_000)]
    for told, record in zip(logs.told(), records, strict=True):
        for metric in ("messages_sent", "messages_received", "messages_lost"):
            assert said(record, metric).value == told.value(metric)
        for metric in ("send_duration", "duration"):
            assert_near(said(record, metric), told.value(metric), MICROSECOND)


def test_fastrtps_rates_are_all_samples_over_all_of_the_time_with_three_decimals(run: Callable[..., Run], transport: str) -> None:
    """As the tool computes them; the native log has one period less than messages."""
    logs = run("demand", transport)

    for told, record in zip(logs.told(), logs.others["fastrtps"].records, strict=True):
        for rate, goodput, count, duration in (
            ("offered_rate", "offered_goodput", "messages_sent", "send_duration"),
            ("message_rate", "goodput", "messages_received", "duration"),
        ):
            per_s = told.value(count) * 1e9 / told.value(duration)
            assert said(record, rate, "mean").value == pytest.approx(per_s, abs=0.001)
            assert_near(said(record, goodput, "mean"), per_s * (told.record.payload_bytes or 0) * 8, 1000)


def test_the_first_fastrtps_computed_its_rates_from_whole_microseconds(run: Callable[..., Run], transport: str) -> None:
    logs = run("demand", transport)

    for told, record in zip(logs.told(), logs.others["fastrtps-1"].records, strict=True):
        for metric, count, duration in (("offered_goodput", "messages_sent", "send_duration"), ("goodput", "messages_received", "duration")):
            bits = told.value(count) * (told.record.payload_bytes or 0) * 8
            assert_near(said(record, metric, "mean"), bits * 1e6 / (told.value(duration) // MICROSECOND), 1000)
