r"""The results of one commit as JSON: one entry of ``data.js``, the history that github-action-benchmark writes.

A whole ``data.js`` has the results of many commits. It is a script, ``window.BENCHMARK_DATA = {...}``, which is never executed: ``tacholog import
data.js`` writes each entry as a separate log, and this format reads such a log::

    {"commit": {"id": "2d4a246...", ...}, "date": 1724344356259, "tool": "googlecpp",
     "benches": [{"name": "BM_Send/size:64", "value": 4.8, "unit": "us/iter", "extra": "iterations: 1000\ncpu: 1 us"}]}

The action copies numbers of other tools. A number is a result only if it is known to be a mean time: the numbers of Google Benchmark (``googlecpp``),
of Go (``ns/op``) and of Catch2, and the mean that pytest-benchmark states in ``extra``, next to its rate. Values of other tools are not read: they
may be medians, rates or anything else, under the same name. Go's ``B/op`` and ``allocs/op`` are no times. Google Benchmark's aggregates are in the
same list as the repetitions: ``NAME_mean``, ``NAME_median``, ``NAME_stddev`` and ``NAME_cv``. All have the unit ``ns/iter``, although the last is a
share. If the entry has a repetition, its aggregates are no results; otherwise ``NAME_mean`` is the result. Conditions are the benchmark and the
message size in its name. The entry states the commit (``build``) and the time when the action wrote the entry. This time is used as the start time,
although it is after the benchmark and from another clock.
Source: benchmark-action/github-action-benchmark, src/extract.ts and src/write.ts, and the published history of
moveit/moveit_middleware_benchmark; samples in tests/formats/github_action_benchmark/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal

from tacholog.formats.google_benchmark.names import AGGREGATE, BoundedNames, benchmark_settings, payload_in
from tacholog.formats.kit import (
    Broken,
    Cell,
    Conditions,
    Detected,
    Dialect,
    Facts,
    Finding,
    JsonObject,
    JsonResult,
    JsonScalar,
    Line,
    Record,
    States,
    json_findings,
    of_seconds,
    printed,
    unit_of_last_decimal,
)

SYSTEM = "the system that the benchmarks measure"
TOOL = "github-action-benchmark"
DIALECTS = (
    Dialect("googlecpp", "entries of Google Benchmark", "an entry of a published history"),
    Dialect("go", "entries of 'go test -bench'", "from source only"),
    Dialect("catch2", "entries of Catch2", "from source only"),
    Dialect("pytest", "entries of pytest-benchmark", "from source only"),
)
DEFINITIONS = {
    "github-action-benchmark-mean": "Mean time of an iteration, as the tool that measured printed it. The name of the benchmark says what an "
    "iteration does.",
}
STATES = {"latency": States(always="definition settings", sometimes="payload_bytes")}
LINE_BYTES = 1 << 22  # The JSON may be on one line.
_ENTRY = re.compile(r"\"tool\"\s{0,4}:\s{0,4}\"\w{1,40}\"\s{0,4},\s{0,40}\"(?:benches|procs)\"")
_HISTORY = re.compile(r"\s{0,40}window\.BENCHMARK_DATA\s{0,4}=")
_TIMES = {  # The units of mean times, by tool.
    "googlecpp": re.compile(r"(?P<unit>ns|us|ms|s)/iter"),
    "go": re.compile(r"(?P<unit>ns|us|ms|s)/op"),
    "catch2": re.compile(r"(?P<unit>ns|us|ms|s)"),
}
_UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_COUNT = re.compile(r"(?:iterations: (?P<iterations>[1-9][0-9]{0,17})|(?P<times>[1-9][0-9]{0,17}) times)(?=\n|$)")
_OF_PYTEST = re.compile(r"\"mean: (?P<mean>[0-9]{1,15}(?:\.[0-9]{1,20})?) (?P<unit>nsec|usec|msec|sec)\\nrounds: (?P<rounds>[1-9][0-9]{0,17})\"")
_TOOL_SHOWN = 40


def detect(head: str) -> Detected:
    """Return whether the log is a single entry of a history of benchmarks. A whole history does not fit."""
    fits = _ENTRY.search(head) is not None and _HISTORY.match(head) is None
    return Detected(fits, wants="one entry; 'tacholog import data.js --to DATA' makes a run of each entry of a whole 'window.BENCHMARK_DATA'")


def system_of(_head: str) -> None:
    """Return ``None``: an entry does not state which system was measured."""


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield a record for each mean time, and the commit and the time of the entry."""
    entry = _HistoryEntry()
    return json_findings(lines, results={"benches/[]": entry.bench}, facts=entry.fact)


class _HistoryEntry:
    def __init__(self) -> None:
        self._tool: str | None = None
        self._repeated = BoundedNames()  # the names of the benchmarks of which a repetition was read

    def fact(self, path: str, value: JsonScalar) -> Facts | None:
        match path, value:
            case "tool", str():
                self._tool = value
                return Facts(environment={"benchmark_tool": value[:_TOOL_SHOWN]})
            case "commit/id", str():
                return Facts(build=value[:_TOOL_SHOWN])
            case "date", int() if not isinstance(value, bool):
                return Facts(start_time=of_seconds(value // 1000))
        return None

    def bench(self, item: JsonObject) -> Iterator[JsonResult]:
        """Yield the record of a value; nothing for an aggregate, or for a value that is no time."""
        name, unit = item.text("name"), item.text("unit")
        if self._tool == "pytest" and name is not None:
            yield _of_pytest(item, name)
            return
        if self._tool not in _TIMES:
            words = (
                f"the values of {self._tool[:_TOOL_SHOWN]!r} are not known to be mean times" if self._tool else "the entry does not state its tool"
            )
            yield Broken(f"not read: {words}")
            return
        if name is None or unit is None:
            yield Broken("the name or the unit of the value is missing")
            return
        time = _TIMES[self._tool].fullmatch(unit)
        aggregate = AGGREGATE.fullmatch(name) if self._tool == "googlecpp" else None
        if time is None or (aggregate and (aggregate["aggregate"] != "mean" or aggregate["run"] in self._repeated)):
            return
        if aggregate:
            name = aggregate["run"]
        else:
            self._repeated.add(name)
        mean = item.number("value", "latency", "mean", _UNITS[time["unit"]])
        if mean is None or mean.value == 0:
            yield Broken("the time is 0 or missing: the benchmark failed" if mean else "the value is missing")
            return
        count = _COUNT.match(item.text("extra") or "")
        yield Record(
            test="latency",
            payload_bytes=payload_in(name),
            numbers=(mean,),
            samples=int(count["iterations"] or count["times"]) if count and not aggregate else None,  # An aggregate states repetitions, not samples.
            conditions=Conditions(definition="github-action-benchmark-mean", settings=benchmark_settings(name)),
        )


def _of_pytest(item: JsonObject, name: str) -> Record | Broken:
    """Return the mean time in the field ``extra``. The field ``value`` is not used, because it is the inverse of the mean time."""
    extra = item.members.get("extra")
    match = _OF_PYTEST.fullmatch(extra.text) if extra else None
    if extra is None or not isinstance(extra.text, Cell) or match is None or float(match["mean"]) == 0:
        return Broken("the mean time of the benchmark is missing or garbled")
    unit = _UNITS[match["unit"].removesuffix("ec")]
    cell = Cell(match["mean"], extra.text.start + match.start("mean"), extra.line.number)
    mean = printed("latency", "mean", float(Decimal(cell) * Decimal(unit)), unit_of_last_decimal(cell) * unit, line=cell.line, cell=cell)
    return Record(
        test="latency",
        payload_bytes=payload_in(name),
        numbers=(mean,),
        samples=int(match["rounds"]),
        conditions=Conditions(definition="github-action-benchmark-mean", settings=benchmark_settings(name)),
    )
