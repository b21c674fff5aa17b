"""The rows of RTI Perftest in all its outputs, and the conditions on their figures. Text and CSV can have hundreds of thousands of rows.

If the figures of a row contradict each other, the row is broken. Minimum, percentiles and maximum must be in order, the mean must be between them,
the goodput must match the rate, and the share of loss must match the counts. The tool computes its figures in this way, so only a damaged row can
differ.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec

from tacholog.formats.kit import (
    COUNT_LIMIT,
    MICROSECOND,
    Basis,
    Broken,
    Cells,
    Check,
    Conditions,
    Field,
    LineRule,
    Order,
    Record,
    Scope,
    ascending,
    at_least,
    is_size,
)

CUT = Broken("the log ends within this line")
OUT_OF_PLACE = Broken("cells of this row are missing or out of place")
GO_BACK = "the minimum grew or the maximum shrank: this interval belongs to another size than the intervals before it"
UNIT = "us|ns|[\u03bc\u00b5]s"
# The groups of the patterns, in the order in which the tool prints the figures.
RUNNING = ("last", "mean", "std", "min", "max")
LATENCIES = ("mean", "std", "min", "max", "p50", "p90", "p99", "p99_99", "p99_9999")
COSTS = ("serialize", "deserialize", "total")
RATES = ("size", "received", "rate", "mbit", "lost", "percent")
RUNNING_RATES = ("size", "received", "last_rate", "rate", "last_mbit", "mbit", "lost", "percent")
_ORDER = {"min": 0.0, "p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999, "p99_9999": 0.999999, "max": 1.0}
_MOST_DIGITS = 18
_FINE = 3  # Builds with high resolution print this number of decimals.
_COST_SLACK = 0.0016  # In microseconds.
_SHARE_SLACK = 0.006  # Half the unit of the last digit of a percentage, plus the error of single precision.
_RATE_SLACK_BIT_PER_S = 0.06e6  # Half the unit of the last digit of Mbps, plus a margin.


def unit_ns(unit: str) -> float:
    """Return the number of nanoseconds in a printed unit of time."""
    return 1.0 if unit == "ns" else MICROSECOND


def too_large(*numbers: str, size: str | None = None) -> Broken | None:
    """Return the error if a size or a counter is larger than the tool can store; otherwise ``None``."""
    if size is not None and (not size.isdecimal() or len(size) > len(str(COUNT_LIMIT)) or not is_size(int(size))):
        return Broken("an impossible message size")
    if any(len(re.split("[.,]", number)[0]) > _MOST_DIGITS for number in numbers):
        return Broken("a number that is too large for a counter of the tool")
    return None


def _is_ordered(cells: Cells) -> Any:  # noqa: ANN401
    """Whether the statistics are in order, and a distribution with these percentiles can have this mean."""
    levels = [(share, cells[name]) for name, share in _ORDER.items() if name in cells]
    least = sum((above - share) * low for (share, low), (above, _) in pairwise(levels))
    most = sum((above - share) * high for (share, _), (above, high) in pairwise(levels))
    return ascending([value for _, value in levels]) & (least - 1 <= cells["mean"]) & (cells["mean"] <= most + 1)


def _are_percentiles_minimum(cells: Cells) -> Any:  # noqa: ANN401
    """Whether the last percentiles are wrong, because they equal the minimum.

    The Java program divides 9999 by 10000 as whole numbers. The result is 0, so it prints the smallest sample.
    """
    if not {"p99", "p99_99", "p99_9999"} <= cells.keys():
        return False
    return (cells["p99_99"] == cells["min"]) & (cells["p99_9999"] == cells["min"]) & (cells["min"] < cells["p99"])


def _is_between(cells: Cells) -> Any:  # noqa: ANN401
    # If the line was cut, the maximum may be missing.
    low, high = cells["min"], cells.get("max", float("inf"))
    return (low <= cells["last"]) & (cells["last"] <= high) & (low - 1 <= cells["mean"]) & (cells["mean"] <= high + 1)


def _rates_agree(rate: str, mbit: str, messages: float) -> Check:
    """Return the check that rate times size equals Mbps. The parameter ``messages`` is the largest possible rounding error of the rate."""

    def holds(cells: Cells) -> Any:  # noqa: ANN401
        bits = 8.0 * cells["size"]
        return abs(cells[mbit] * 1e6 - cells[rate] * bits) <= messages * bits + _RATE_SLACK_BIT_PER_S

    return Check("rate, size and Mbps contradict each other", holds)


def _percent_lost(cells: Cells) -> Any:  # noqa: ANN401
    return 100.0 * cells["lost"] / at_least(cells["received"] + cells["lost"], 1)


def _percent_slack(cells: Cells) -> float:
    """Return the largest difference that rounding causes between the printed percentage and `_percent_lost`."""
    return float(_SHARE_SLACK + 10.0 ** -cells.decimals["percent"] / 2 - 0.005)


def _is_none_lost(cells: Cells) -> Any:  # noqa: ANN401
    return (cells["lost"] == 0) & (cells["percent"] == 0)


def _is_placed(cells: Cells) -> bool:
    """Whether each cell has the right number of decimals. If a cell has not, a cell is missing from the row.

    A row is right in these cases:

    - All cells have three decimals.
    - The deviation has one decimal, and all other cells have no decimals.
    - The tool prints a name for each cell, and the minimum, the maximum and the percentiles have no decimals. In this case, the mean and the
      deviation may have any number of decimals.
    """
    decimals = {cells.decimals[name] for name in _ORDER if name in cells}
    deviation = cells.decimals["std"]
    if "has_names" in cells:
        return decimals == {0} or (decimals == {_FINE} and deviation == _FINE)
    return (decimals | {cells.decimals["mean"]}, deviation) in (({0}, 1), ({_FINE}, _FINE))


def _is_serialisation_computed(cells: Cells) -> bool:
    return bool(cells["serialize"] >= 0 and cells.get("deserialize", 0) >= 0)  # The tool prints -1 if it did not compute the time.


def _cost_follows(cells: Cells) -> bool:
    is_whole = "total" in cells and _is_serialisation_computed(cells)
    return not is_whole or bool(abs(cells["serialize"] + cells["deserialize"] - cells["total"]) <= _COST_SLACK)


def _rates(statistic: str, rate: str, mbit: str) -> tuple[Field, Field]:
    # The resolution of the goodput is a tenth, even if a spreadsheet saved 180.0 as 180.
    return Field("message_rate", statistic, rate), Field("goodput", statistic, mbit, unit=1e6, resolution=1e5, places=0)


def _cpu(statistic: str) -> Field:
    """Return the field of the processor time. 100 % is the whole machine.

    The C# program prints a value that is a hundred times too large.
    """
    return Field("cpu_of_machine", statistic, "cpu", unit=lambda cells: cells.get("cpu_unit", 1.0), places=6)


def _latency(group: str) -> Field:
    unknown = _are_percentiles_minimum if group in {"p99_99", "p99_9999"} else None
    return Field("latency", group.replace("_", "."), group, unit="unit", unknown=unknown)  # The name of a group has no dot.


_COUNTS = (Field.counted("messages_received", "received"), Field.counted("messages_lost", "lost"))
_LOSSES = (
    Field("loss", "total", "percent", unit=0.01, places=6, zero=_is_none_lost),
    # The C# program prints a fraction under the name of a percentage. The counts give a more exact share.
    Field("loss", "total", lambda cells: _percent_lost(cells) / 100, where=lambda cells: "fraction" in cells, marks=("derived",)),
)
_COSTS = tuple(
    Field(metric, "mean", group, unit=MICROSECOND, resolution=1.0, places=0, where=_is_serialisation_computed)
    for metric, group in (("serialization", "serialize"), ("deserialization", "deserialize"))
)
_COUNTS_WHOLE = Check(OUT_OF_PLACE.reason, lambda cells: cells.decimals["received"] == cells.decimals["lost"] == 0)
_PLACED = Check(OUT_OF_PLACE.reason, _is_placed)
_LOSS_FOLLOWS = Check(
    "the share of loss contradicts the counts",
    lambda cells: "percent" not in cells or _is_none_lost(cells) | (abs(cells["percent"] - _percent_lost(cells)) <= _percent_slack(cells)),
)
_COST_FOLLOWS = Check("the total of serialisation contradicts its parts", _cost_follows)
_CONTRADICTORY = "the statistics contradict each other"


def subscriber(definition: str, scope: Scope = "summary") -> Record:
    """Return a record with the values that all rates of a subscriber share."""
    return Record(test="throughput", payload_bytes=None, numbers=(), scope=scope, side="subscriber", conditions=Conditions(definition=definition))


def publisher(definition: str, scope: Scope = "summary", basis: Basis | None = "rtt/2") -> Record:
    """Return a record with the values that all latencies of a publisher share."""
    conditions = Conditions(basis=basis, definition=definition)
    return Record(test="latency", payload_bytes=None, numbers=(), scope=scope, side="publisher", conditions=conditions)


def _count(name: str) -> str:
    return rf"(?P<{name}>[0-9]{{1,15}}+)"


def _real(name: str, decimals: int = 1, digits: int = 15) -> str:
    return rf"(?P<{name}>[0-9]{{1,{digits}}}+\.[0-9]{{{decimals}}})"


def _without_and_with_cpu(shape: str, cpu: str) -> tuple[str, str]:
    return shape, shape + cpu


def _text(shape: str) -> tuple[str, str]:
    return _without_and_with_cpu(shape, f" CPU: ++{_real('cpu', 2, 3)}%")


def _padded_row(decimals: Mapping[str, int]) -> tuple[str, str]:
    cells = (_real(name, digits) if digits else _count(name) for name, digits in decimals.items())
    return _without_and_with_cpu(" *+" + ", *+".join(cells), f", *+{_real('cpu', 2, 3)}")


# The cells of each kind of CSV row, with the number of decimals of each cell.
_DECIMALS_OF_RATES = {"mbit": 1, "last_mbit": 1, "percent": 2}
_SUMMARY_ROW = {name: _DECIMALS_OF_RATES.get(name, 0) for name in RATES}
_RUNNING_THROUGHPUT_ROW = {name: _DECIMALS_OF_RATES.get(name, 0) for name in RUNNING_RATES}
_LATENCY_ROW = {"size": 0} | {name: int(name == "std") for name in LATENCIES}
_RUNNING_LATENCY_ROW = {"size": 0} | {name: int(name == "std") for name in RUNNING}
_LOST = rf"Lost: ++{_count('lost')} \({_real('percent', 2, 3)}%\)"
_SUMMARY_TEXT = (
    rf"Length: ++{_count('size')} ++Packets: ++{_count('received')} ++Packets/s\(ave\): ++{_count('rate')} ++Mbps\(ave\): ++{_real('mbit')} ++{_LOST}"
)
_RUNNING_TEXT = (
    rf" *+Packets: ++{_count('received')} ++Packets/s: ++{_count('last_rate')} ++Packets/s\(ave\): ++{_count('rate')}"
    rf" ++Mbps: ++{_real('last_mbit')} ++Mbps\(ave\): ++{_real('mbit')} ++{_LOST}"
)
_ANSWER_TEXT = (
    rf"One[ -][wW]ay Latency: ++{_count('last')} us ++Ave ++{_count('mean')} us ++Std ++{_real('std')} us"
    rf" ++Min ++{_count('min')} us ++Max ++{_count('max')}(?: us)?+"
)

SUMMARY = LineRule(
    *_text(_SUMMARY_TEXT),
    *_padded_row(_SUMMARY_ROW),
    fields=(*_COUNTS, *_rates("mean", "rate", "mbit"), *_LOSSES, _cpu("mean")),
    record=subscriber("rti-throughput"),
    checks=(_COUNTS_WHOLE, _rates_agree("rate", "mbit", 1.01), _LOSS_FOLLOWS),
    samples="received",
)
RUNNING_THROUGHPUT = LineRule(
    *_text(_RUNNING_TEXT),
    *_padded_row(_RUNNING_THROUGHPUT_ROW),
    fields=(*_COUNTS, *_rates("mean", "rate", "mbit"), *_rates("last", "last_rate", "last_mbit"), *_LOSSES, _cpu("last")),
    record=subscriber("rti-throughput-running", "interval"),
    # The mean of the rates is rounded twice, because each rate is truncated.
    checks=(_COUNTS_WHOLE, _rates_agree("rate", "mbit", 1.6), _rates_agree("last_rate", "last_mbit", 1.01), _LOSS_FOLLOWS),
    samples="received",
)
LATENCY = LineRule(
    *_padded_row(_LATENCY_ROW),
    fields=(*map(_latency, (*LATENCIES[:7], "p99_9", *LATENCIES[7:])), *_COSTS, _cpu("mean")),
    record=publisher("rti-one-way"),
    checks=(_COST_FOLLOWS, _PLACED, Check(_CONTRADICTORY, _is_ordered)),
)
_RUNNING_FIELDS = (*map(_latency, RUNNING), _cpu("last"))
_RUNNING_RECORD = publisher("rti-one-way-running", "interval")
_RUNNING_CHECKS = (_PLACED, Check(_CONTRADICTORY, _is_between))
RUNNING_LATENCY = LineRule(*_padded_row(_RUNNING_LATENCY_ROW), fields=_RUNNING_FIELDS, record=_RUNNING_RECORD, checks=_RUNNING_CHECKS)
ANSWER = LineRule(
    *_text(_ANSWER_TEXT),
    fields=_RUNNING_FIELDS,
    record=_RUNNING_RECORD,
    checks=_RUNNING_CHECKS,
    # The tool prints the minimum and the maximum of all samples since it began with the present message size. Therefore, the interval belongs to
    # another size if the minimum grows or the maximum shrinks.
    order=(Order(GO_BACK, lambda now, before: (now["min"] <= before["min"]) & (now["max"] >= before["max"])),),
)
# The size is unknown. The banner may state a size, but if logs are mixed, it may be the banner of another run.
LOW_RESOLUTION = LineRule(fields=(Field("latency", "mean", "mean", unit=MICROSECOND),), record=publisher("rti-low-resolution"), size=None)
SERIALIZATION = LineRule(fields=_COSTS, record=publisher("rti-serialization", basis=None), checks=(_COST_FOLLOWS,))
BULK = tuple(bulk for rule in (SUMMARY, RUNNING_THROUGHPUT, ANSWER, LATENCY, RUNNING_LATENCY) for bulk in rule.bulk)


@dataclass(frozen=True, eq=False)
class CsvRow:
    """A kind of CSV row.

    Attributes:
        rule: the rule that makes its record.
        decimals: the number of decimals of each cell.
        least: the number of cells that a record needs if the log ends within the row. In a row of rates, these cells include the count of lost
            messages. In a summary of latencies, these cells include the minimum and the maximum, because the mean is checked with these two.
    """

    rule: LineRule
    decimals: Mapping[str, int]
    least: int


CSV_ROWS = (
    CsvRow(RUNNING_LATENCY, _RUNNING_LATENCY_ROW, 5),
    CsvRow(LATENCY, _LATENCY_ROW, 5),
    CsvRow(RUNNING_THROUGHPUT, _RUNNING_THROUGHPUT_ROW, 7),
    CsvRow(SUMMARY, _SUMMARY_ROW, 5),
)


def figures(rule: LineRule, texts: Mapping[str, str | None], **log_values: float) -> Cells | Broken:
    """Return the figures of a row. The key of a figure is the name of its group in the rule."""
    printed = {name: text for name, text in texts.items() if text is not None}
    if trouble := too_large(*(text for name, text in printed.items() if name != "size"), size=printed.get("size")):
        return trouble
    if any(text.startswith("-") for name, text in printed.items() if name not in {*COSTS, "cpu"}):
        return OUT_OF_PLACE
    cells = rule.cells(printed, **log_values)
    if {"lost", "percent"} <= cells.keys():
        share, slack = _percent_lost(cells), _percent_slack(cells)
        if abs(cells["percent"] - share / 100) <= slack < abs(cells["percent"] - share):
            cells["fraction"] = cells.pop("percent")
    return cells


def record(rule: LineRule, texts: Mapping[str, str | None], marks: tuple[str, ...] = (), **log_values: float) -> Record | Broken:
    """Return the record of a row. ``texts`` are the printed texts by the names of the rule's groups, ``marks`` the marks of its latencies."""
    cells = figures(rule, texts, **log_values)
    result = cells if isinstance(cells, Broken) else rule.record(cells)
    if isinstance(result, Broken) or not marks:
        return result
    numbers = (msgspec.structs.replace(n, marks=(*n.marks, *marks)) if n.metric == "latency" else n for n in result.numbers)
    return msgspec.structs.replace(result, numbers=tuple(numbers))
