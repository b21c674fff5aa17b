"""Google Benchmark: its JSON (``--benchmark_format=json`` or ``--benchmark_out``). Each benchmark is an object.

Only the name of a benchmark says what an iteration does. The JSON states neither the system nor the basis of a latency, so the manifest must state
them (``system``, ``basis``). The format reads the name as the setting ``benchmark``, so two benchmarks are never mixed. It reads the label of a
benchmark as the setting ``label``. Programs use the label for a transport, for example.

``real_time`` is the time of the loop divided by its iterations: a mean, never a percentile. Each repetition is a separate result. Aggregates
(mean, median, standard deviation, coefficient of variation) are computed from the repetitions, so they are no results. If the tool printed only
aggregates (``--benchmark_report_aggregates_only``), the aggregate ``mean`` is the result. The coefficient of variation is printed with a unit of
time, but it is a share. A benchmark that failed or was skipped has a time of 0. It is broken, and its message is the reason.

Conditions are the benchmark, its label, and the message size. The size is an argument with a name such as ``/size:4096`` or ``/payload_bytes:4096``.
An argument without a name (``/4096``) is the size only if ``bytes_per_second`` divided by ``items_per_second`` is the same number. Otherwise it stays
a part of the name. ``cpu_time``, ``items_per_second`` and ``bytes_per_second`` are left out. Only the source of the benchmark shows what an item or a
byte is, and whether a rate is per processor time or per real time.
Source: the JSON reporter of google/benchmark, versions 1.5 to 1.9; samples in tests/formats/google_benchmark/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from tacholog.formats.google_benchmark.names import AGGREGATE, BoundedNames, benchmark_settings, payload_in
from tacholog.formats.kit import (
    Broken,
    Conditions,
    Detected,
    Dialect,
    Facts,
    Finding,
    JsonObject,
    JsonResult,
    JsonScalar,
    Line,
    LineStart,
    Record,
    States,
    json_findings,
)

SYSTEM = "the system that the benchmarks measure"
TOOL = "Google Benchmark"
DIALECTS = (
    Dialect("json", "1.5 to 1.8: the version is not printed", "logs recorded with 1.7.1, a published log"),
    Dialect("json-versioned", "1.9 and later: 'library_version' in the context", "from source only"),
)
DEFINITIONS = {
    "google-benchmark-iteration": "Real time of the loop of a benchmark, divided by its iterations. The name of the benchmark says what an iteration "
    "does, such as to send a message, or to send it and to wait for the answer.",
}
STATES = {"latency": States(always="definition settings", sometimes="payload_bytes tool_version")}
LINE_BYTES = 1 << 22  # The JSON may be on one line.
_CONTEXT = LineStart(r"\s{0,8}(?:\{\s{0,8})?\"context\"\s?:\s?\{")
_UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_MESSAGE_SHOWN = 200


def detect(head: str) -> Detected:
    """Return whether this is JSON of Google Benchmark."""
    fits = '"mhz_per_cpu"' in head and _CONTEXT.is_in(head)
    return Detected(fits, wants='JSON that begins with \'"context": {\', with "mhz_per_cpu" in it')


def system_of(_head: str) -> None:
    """Return ``None``: the tool does not state which system is measured."""


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield a record for each repetition of a benchmark, and the facts in the context."""
    report = _BenchmarkReport()
    return json_findings(lines, results={"benchmarks/[]": report.benchmark}, facts=report.fact)


class _BenchmarkReport:
    def __init__(self) -> None:
        self._repeated = BoundedNames()  # the names of the benchmarks of which a repetition was read
        self._has_load = False

    def fact(self, path: str, value: JsonScalar) -> Facts | None:
        match path.removeprefix("context/"), value:
            case "date", str():
                return Facts(start_time=_iso(value))
            case "library_version", str():
                return Facts(tool_version=value.removeprefix("v"))
            case "num_cpus", int():
                return Facts(environment={"host_cpus_online": str(value)})
            case ("library_build_type" | "cpu_scaling_enabled") as name, str() | bool():
                return Facts(environment={name: str(value).lower()})
            case "load_avg/[]", int() | float() if not self._has_load:  # The first of the three is the load of the last minute.
                self._has_load = True
                return Facts(environment={"load_start_load1": str(value)})
        return None

    def benchmark(self, item: JsonObject) -> Iterator[JsonResult]:
        """Yield the record of a repetition; nothing for an aggregate."""
        printed_name, run_name = item.text("name"), item.text("run_name")
        name = run_name or printed_name
        if name is None:
            yield Broken("the name of the benchmark is missing")
            return
        aggregate = item.text("aggregate_name")
        is_aggregate = item.text("run_type") == "aggregate" or not {"aggregate_name", "aggregate_unit"}.isdisjoint(item.members)
        is_repetition = item.text("run_type") == "iteration" or "repetition_index" in item.members
        if (is_aggregate and is_repetition) or (run_name and printed_name not in (None, run_name, f"{run_name}_{aggregate}")):
            yield Broken("members of the benchmark contradict each other")
            return
        if run_name is None and (match := AGGREGATE.fullmatch(name)):
            name, aggregate, is_aggregate = match["run"], match["aggregate"], True  # Old versions print only the name.
        if is_aggregate and (aggregate != "mean" or name in self._repeated):
            return
        if not is_aggregate:
            self._repeated.add(name)
        yield _result(item, name, is_mean_of_means=bool(is_aggregate))


def _result(item: JsonObject, name: str, *, is_mean_of_means: bool) -> Record | Broken:
    message = next((text for member in ("error_message", "skip_message") if (text := item.text(member))), None)
    if message is not None or any(member in item.members for member in ("error_occurred", "skipped")):
        return Broken(f"the benchmark failed or was skipped: {(message or 'it does not say why')[:_MESSAGE_SHOWN]}")
    unit, iterations = _UNITS.get(item.text("time_unit") or ""), item.whole("iterations")
    mean = item.number("real_time", "latency", "mean", unit or 1.0)
    if unit is None or iterations is None or mean is None:
        return Broken("real_time, time_unit or iterations of the benchmark is missing or unknown")
    if iterations < 1 or mean.value == 0:
        return Broken("a time of 0: the benchmark failed, or did nothing")
    of_bytes, of_items = item.real("bytes_per_second"), item.real("items_per_second")
    bytes_per_item = of_bytes / of_items if of_bytes and of_items else None
    return Record(
        test="latency",
        payload_bytes=payload_in(name, bytes_per_item),
        numbers=(mean,),
        samples=None if is_mean_of_means else iterations,  # The iterations of an aggregate are the number of repetitions.
        conditions=Conditions(definition="google-benchmark-iteration", settings=benchmark_settings(name, item.text("label"), bytes_per_item)),
    )


def _iso(text: str) -> str | None:
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        return None
