"""Logs that the built perftest writes are read: each line is known, and the log states the conditions of its measurement."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.built import PERFTEST
from tests.depth import NIGHTLY
from tests.waiting import LIMIT_S

from tacholog.formats.reading import Log, read
from tacholog.schema.records import Record

pytestmark = pytest.mark.core

ROOT = Path(__file__).resolve().parents[2]
SIZES = [64, 5000]
# Sleeping sides are woken soon even on a busy machine. Polling sides may get no processor time during such a short run.
BRIEFLY = ("--sizes", "64,5000", "--duration", "0.1", "--warmup", "0.02", "--wait", "block", "--interval-length", str(LIMIT_S))
TESTS = {
    "latency": ("--test", "latency", "--answer-limit", "60"),
    "one-way": ("--test", "latency", "--basis", "one-way", "--rate", "1000"),
    "throughput": ("--test", "throughput"),
    "probed": ("--test", "throughput", "--probe-every", "6"),
    "keyed": ("--test", "throughput", "--instances", "3"),
    "demand": ("--test", "demand", "--demands", "3,50", "--recovery", "0,2"),
}


@functools.cache
def transports() -> list[str]:
    """Return three transports; in the nightly run, all transports whose two sides can be run by one command.

    Transports of middleware are tested in bench/tests: the form of a log does not depend on the transport. On a busy machine, some libraries lose
    messages, and this would end such a short run.
    """
    if not NIGHTLY or PERFTEST is None:
        return ["shm", "mock", "udp"]
    own = {path.stem.replace("_", "-") for path in (ROOT / "bench/transports").glob("*.cpp")}
    listed = subprocess.run([PERFTEST, "--list-transports"], capture_output=True, text=True, check=True)
    apart = "each side needs a network interface of its own"  # bench/tests/udp_xdp_test.cpp tests this transport.
    return [line.split()[0] for line in listed.stdout.splitlines() if apart not in line and line[:1].strip() and line.split()[0] in own]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that uses the fixture ``transport`` once for each transport."""
    if "transport" in metafunc.fixturenames:
        metafunc.parametrize("transport", transports())


@pytest.fixture
def run(perftest: Path, tmp_path: Path) -> Callable[..., Log]:
    """Run perftest briefly with the given options, and return the log."""

    def log_of(*options: str) -> Log:
        path = tmp_path / "native.log"
        command: list[str | Path] = [perftest, *BRIEFLY, *options, "--output", path]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        assert ended.returncode == 0, ended.stderr
        return read(path)

    return log_of


def summaries(log: Log) -> list[Record]:
    """Return the summary records of a log, without the summary records of processor time."""
    return [record for record in log.records if record.scope == "summary" and record.number("cpu_per_message", "mean") is None]


@pytest.mark.parametrize("test", TESTS)
def test_each_line_is_known_and_the_log_states_its_conditions(run: Callable[..., Log], transport: str, test: str) -> None:
    log = run("--transport", transport, *TESTS[test])

    assert (log.format, log.broken, log.unknown, log.account.status) == ("native", [], [], "ok")
    assert log.account.facts.conditions.transport == transport
    assert log.account.facts.conditions.reliability is not None
    assert log.account.facts.tool_version is not None
    results = [record for record in summaries(log) if record.conditions.definition != "perftest-sending"]
    assert sorted({record.payload_bytes or 0 for record in results}) == SIZES
    assert all(record.number("messages_duplicated", "total") and record.number("messages_reordered", "total") for record in results)


def test_probes_give_a_latency_record_after_the_throughput_record_of_each_message_size(run: Callable[..., Log], transport: str) -> None:
    records = summaries(run("--transport", transport, *TESTS["probed"]))

    assert [(record.test, record.payload_bytes) for record in records] == [(test, size) for size in SIZES for test in ("throughput", "latency")]
    assert {record.conditions.definition for record in records if record.test == "latency"} == {"perftest-rtt-probe"}


@pytest.mark.parametrize(("options", "keyed", "instances"), [((), None, None), (("--instances", "3"), True, 3)])
def test_log_states_whether_messages_have_a_key(run: Callable[..., Log], options: tuple[str, ...], keyed: bool | None, instances: int | None) -> None:
    conditions = run("--transport", "shm", "--test", "throughput", *options).account.facts.conditions

    assert (conditions.keyed, conditions.instances) == (keyed, instances)


def test_record_of_each_kind_of_burst_states_its_demand_and_recovery_time(run: Callable[..., Log], transport: str) -> None:
    records = summaries(run("--transport", transport, *TESTS["demand"]))
    bursts = [(record.payload_bytes, record.conditions.demand, record.conditions.recovery_time_ns) for record in records]

    assert bursts == [(size, demand, recovery) for size in SIZES for demand in (3, 50) for recovery in (0, 2_000_000)]


@pytest.mark.parametrize(("options", "batch_bytes", "of_results"), [((), 0, [None, None]), (("--batch-bytes", "8KiB"), 8192, [None, 0])])
def test_log_states_the_batch_size(run: Callable[..., Log], options: tuple[str, ...], batch_bytes: int, of_results: list[int | None]) -> None:
    log = run("--transport", "tcp", "--test", "throughput", *options)

    assert log.account.facts.conditions.batch_bytes == batch_bytes
    assert [record.conditions.batch_bytes for record in summaries(log)] == of_results
