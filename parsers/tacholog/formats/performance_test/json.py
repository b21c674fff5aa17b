"""The JSON of performance_test: a head, and then a list of objects. Each object describes about one second of the run.

The tool prints everything on one line without a line end.

As the tool prints it, with added line breaks::

    {"id":"...","perf_test_version":"2.3.0","com_mean_str":"...","roundtrip_mode":"NONE",...,"analysis_results":[
    {"experiment_start":1000312000,"loop_start":1000204000,"num_samples_received":97,...,"latency_min":0.0000712,...},...]}

Times are in nanoseconds, latencies in seconds with all their digits. Values that are not finite are printed as 0. Versions differ in their members,
which are read by name; other members are ignored.

In version 036a5f5, the latencies of an object cover all messages since the start, not only the object's own second (``accumulated``). The latencies
of this second can be computed, except the minimum and the maximum: ``latency_n`` is a count, and Welford's method, which can be reversed, computed
``latency_mean`` and ``latency_M2`` (the sum of squared distances from the mean).
Source: utilities/json_logger.hpp of performance_test 1.x and outputs/json_output.cpp of 2.x; two real logs in tests/formats/performance_test/.
Welford (1962), "Note on a Method for Calculating Corrected Sums of Squares and Products"; for parts, Chan, Golub and LeVeque (1979).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple, TypeGuard

from tacholog.formats.kit import Broken, parse_json
from tacholog.formats.performance_test.rows import USAGE, ExperimentRow, checked

LIST = '"analysis_results":['
SIGN = re.compile(r"\{\"id\":\"[^\"\\]{0,100}\",\"perf_test_version\":\"")
_OBJECT = re.compile(r"\{[^{}]{0,8000}\}")
_HEAD_CHARACTERS = 20_000
ACCUMULATING = frozenset({"036a5f5"})  # Versions whose latencies always cover the time since the start of the run.
_MOST_DIGITS = 400  # The most digits before or after the point. The tool prints the largest double (309 digits) if there was no message.
_TELLING = 3  # With fewer rows, it is not certain whether the counts of samples are sums since the start.
_TWICE = 1.5  # If a count is more than this multiple of the messages of its row, the count covers several rows.
_LATENCIES = frozenset({"latencies", "latency_M2", *(f"latency_{name} (ms)" for name in ("min", "max", "mean", "variance"))})
_GARBLED = Broken("an object of the list is garbled, or lacks members that the tool prints")

# The names that the members of the head have in the tool's text output.
_NAMES = {
    "perf_test_version": "Performance Test Version",
    "com_mean_str": "Communicator",
    "rmw_implementation": "RMW Implementation",
    "dds_domain_id": "DDS domain id",
    "rate": "Publishing rate",
    "topic_name": "Topic name",
    "msg_name": "Msg name",
    "max_runtime": "Maximum runtime (sec)",
    "number_of_publishers": "Number of publishers",
    "number_of_subscribers": "Number of subscribers",
    "with_security": "With security",
    "is_zero_copy_transfer": "Zero copy transfer",
    "use_single_participant": "Use single participant",
    "roundtrip_mode": "Roundtrip Mode",
}
_QOS = {
    "qos_reliability": "Reliability",
    "qos_durability": "Durability",
    "qos_history_kind": "History kind",
    "qos_history_depth": "History depth",
    "qos_sync_pubsub": "Sync. pub/sub",
}


def _integer(value: Any) -> str | None:  # noqa: ANN401 - whatever JSON holds
    return str(value) if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _nanoseconds(value: Any) -> str | None:  # noqa: ANN401
    return str(Decimal(value) / 10**9) if _integer(value) else None


def _seconds(value: Any) -> str | None:  # noqa: ANN401
    return str(value * 1000) if _is_of_usual_length(value) else None


def _number(value: Any) -> str | None:  # noqa: ANN401
    return str(value) if _is_of_usual_length(value) else _integer(value)


def _is_of_usual_length(value: object) -> TypeGuard[Decimal]:
    """Whether a decimal number has a usual length. It would take hours to write `Decimal("1e1000000")` as a whole number."""
    return isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) < _MOST_DIGITS


_MEMBERS: Mapping[str, tuple[str, Callable[[Any], str | None]]] = {
    "experiment_start": ("T_experiment", _nanoseconds),
    "loop_start": ("T_loop", _nanoseconds),
    "num_samples_received": ("received", _integer),
    "num_samples_sent": ("sent", _integer),
    "num_samples_lost": ("lost", _integer),
    "total_data_received": ("data_received", _integer),
    **{f"latency_{name}": (f"latency_{name} (ms)", _seconds) for name in ("min", "max", "mean", "variance")},
    "latency_n": ("latencies", _number),
    "latency_M2": ("latency_M2", _number),
}
_SYSTEM: Mapping[str, tuple[str, Callable[[Any], str | None]]] = {
    **{f"sys_tracker_{name}": (name, _integer) for name in USAGE},
    "cpu_info_cpu_cores": ("cpu_cores", _integer),
    "cpu_info_cpu_usage": ("cpu_usage (%)", _number),
}


class ExperimentDocument(NamedTuple):
    """An experiment: its head, with the names of the tool's text output; its rows in their order; and whether the JSON ends before its last brace."""

    head: Mapping[str, str]
    rows: tuple[ExperimentRow | Broken, ...]
    ends_early: bool


def looks_like_document(text: str) -> bool:
    """Return whether a line is the JSON of performance_test, complete or cut off."""
    return text.startswith("{") and (SIGN.match(text) is not None or LIST in text[:_HEAD_CHARACTERS])


def read_document(text: str) -> ExperimentDocument | Broken:
    """Read as much of a document as possible. If an object is garbled, only this object is lost. If the head is garbled, nothing can be read."""
    head, separator, results = text.partition(LIST)
    if not separator:
        return Broken("the JSON ends before its results")
    members = parse_json(head.rstrip(",") + "}", parse_float=Decimal) if head.endswith(",") else None
    if members is None:
        return Broken("the description of the run in the JSON is garbled")
    rows = tuple(_rows(results))
    return ExperimentDocument(dict(_head_values(members)), rows, ends_early=not results.rstrip().endswith("]}"))


def _head_values(members: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    qos = " ".join(
        f"{words}: {str(members[name]).lower() if isinstance(members[name], bool) else members[name]}"
        for name, words in _QOS.items()
        if name in members
    )
    if qos:
        yield "QOS", f"{qos} "  # The blank marks the end of the last value.
    for name, value in members.items():
        if name not in _QOS and isinstance(value, str | int | Decimal):
            yield _NAMES.get(name, name), str(int(value)) if isinstance(value, bool) else str(value)


def _rows(results: str) -> Iterator[ExperimentRow | Broken]:
    end = 0
    for match in _OBJECT.finditer(results):
        # Other text than a comma between two objects is the rest of a garbled object.
        if results[end : match.start()] != ("," if end else ""):
            yield _GARBLED
        yield _row(match[0])
        end = match.end()
    if results[end:].rstrip() not in ("", "]", "]}"):
        yield _GARBLED


def _row(text: str) -> ExperimentRow | Broken:
    members = parse_json(text, parse_float=Decimal)
    if members is None or not _MEMBERS.keys() <= members.keys():
        return _GARBLED
    cells = {}
    for name, value in members.items():
        reader = _MEMBERS.get(name) or _SYSTEM.get(name)
        if reader is None:
            continue  # Some versions have other members, which are not about messages.
        cell, read = reader
        if (text_of_value := read(value)) is None:
            return _GARBLED
        cells[cell] = text_of_value
    return checked(ExperimentRow(float(cells["T_experiment"]), cells, digits=None))


def accumulated(version: str | None, rows: Sequence[ExperimentRow | Broken]) -> bool:
    """Whether the latencies of each row cover the time since the start of the run.

    This is known for some versions; for others, the counts show it.
    """
    if version in ACCUMULATING:
        return True
    good = [row for row in rows if isinstance(row, ExperimentRow) and row.samples]
    counts = [row.samples for row in good]
    if len(counts) < _TELLING or any(before >= after for before, after in pairwise(counts)):
        return False
    return all(row.samples > _TWICE * _most_own_messages(row) for row in good[1:]) and all(
        after.samples - before.samples <= _TWICE * _most_own_messages(after) for before, after in pairwise(good)
    )


def _most_own_messages(row: ExperimentRow) -> float:
    return row.received + 1.0  # The rate is printed without its fraction, so the computed number may be too small by one.


def taken_apart(row: ExperimentRow, before: ExperimentRow | None) -> ExperimentRow:
    """Return the row with different latencies, which cover only the time since the previous row.

    In ``row`` and in the previous row ``before``, the latencies cover the time since the start of the run. The returned latencies are computed from
    both rows.
    """
    if before is None or not row.impossible.isdisjoint(_LATENCIES) or not before.impossible.isdisjoint(_LATENCIES):
        return row if before is None else without_latencies(row)
    (all_n, all_mean, all_m2), (old_n, old_mean, old_m2) = (_moments(each) for each in (row, before))
    count = all_n - old_n
    if count <= 0 or count != int(count):
        return without_latencies(row)
    mean = (all_n * all_mean - old_n * old_mean) / count
    squares = all_m2 - old_m2 - (mean - old_mean) ** 2 / 10**6 * old_n * count / all_n
    cells = {name: cell for name, cell in row.cells.items() if name not in _LATENCIES}
    cells |= {"latencies": str(count), "latency_mean (ms)": f"{mean:f}"}
    if squares >= 0:
        cells["latency_variance (ms)"] = f"{squares / count * 1000:f}"
    return checked(row._replace(cells=cells, derived=True))


def _moments(row: ExperimentRow) -> tuple[Decimal, Decimal, Decimal]:
    """Return the count, the mean in milliseconds, and the sum of squared distances from the mean in square seconds."""
    return Decimal(row.cells["latencies"]), Decimal(row.cells["latency_mean (ms)"]), Decimal(row.cells["latency_M2"])


def without_latencies(row: ExperimentRow) -> ExperimentRow:
    """Return the row without its latencies."""
    return row._replace(cells={name: cell for name, cell in row.cells.items() if name not in _LATENCIES} | {"latencies": "0"})
