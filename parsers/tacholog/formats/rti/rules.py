"""The lines that RTI Perftest prints by the hundred thousand, text or CSV, and what must hold between their figures.

A row whose figures contradict each other is broken: the order of minimum, percentiles and maximum, between which the mean must be, the rate that must
give the goodput, and the share of loss that must follow from the counts. The tool's own arithmetic guarantees all of them, so only a damaged row can
violate them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tacholog.formats.kit import Cells, Check, Conditions, Field, LineRule, Order, Record, ascending, at_least

STATISTICS = ("mean", "std", "min", "max", "p50", "p90", "p99", "p99.99", "p99.9999")
RUNNING = ("last", "mean", "std", "min", "max")
GO_BACK = "minimum or maximum go back: this interval is of another size than those before it"
_ORDER = {"min": 0.0, "p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999, "p99_9999": 0.999999, "max": 1.0}
_SHARE_SLACK = 0.006  # Half of the last printed place of a percentage, and what single precision adds to it.
_RATE_SLACK_BIT_PER_S = 0.06e6  # Half of the last printed place of Mbps, and a little.


def group_of(statistic: str) -> str:
    """Return the name of a group in a pattern, which has no dots."""
    return statistic.replace(".", "_")


def _is_ordered(cells: Cells) -> Any:  # noqa: ANN401
    """Whether the statistics are in order, and their mean is where a distribution with these percentiles can have it."""
    levels = [(share, cells[name]) for name, share in _ORDER.items() if name in cells]
    least = sum((above - share) * low for (share, low), (above, _) in pairwise(levels))
    most = sum((above - share) * high for (share, _), (above, high) in pairwise(levels))
    return ascending([value for _, value in levels]) & (least - 1 <= cells["mean"]) & (cells["mean"] <= most + 1)


def _is_smallest_for_percentiles(cells: Cells) -> Any:  # noqa: ANN401
    """Whether Java's printer got the last percentiles wrong: it divides whole numbers, 9999/10000 is 0, and so it prints the smallest sample."""
    if not {"p99", "p99_99", "p99_9999"} <= cells.keys():
        return False
    return (cells["p99_99"] == cells["min"]) & (cells["p99_9999"] == cells["min"]) & (cells["min"] < cells["p99"])


def _is_between(cells: Cells) -> Any:  # noqa: ANN401
    """Whether the last latency and the mean are between the extremes so far; the maximum may have been cut off."""
    low, high = cells["min"], cells.get("max", float("inf"))
    return (low <= cells["last"]) & (cells["last"] <= high) & (low - 1 <= cells["mean"]) & (cells["mean"] <= high + 1)


def _rates_agree(rate: str, mbit: str, messages: float) -> Check:
    """Rate and size must give Mbps, up to the rounding of so many messages."""

    def holds(cells: Cells) -> Any:  # noqa: ANN401
        bits = 8.0 * cells["size"]
        return abs(cells[mbit] * 1e6 - cells[rate] * bits) <= messages * bits + _RATE_SLACK_BIT_PER_S

    return Check("rate, size and Mbps contradict each other", holds)


def share_lost(cells: Cells) -> Any:  # noqa: ANN401
    """Return the percentage of loss that the counts give."""
    return 100.0 * cells["lost"] / at_least(cells["received"] + cells["lost"], 1)


def share_slack(cells: Cells) -> float:
    """Return how far a printed percentage may be from it."""
    return float(_SHARE_SLACK + 10.0 ** -cells.decimals["percent"] / 2 - 0.005)


def _is_none_lost(cells: Cells) -> Any:  # noqa: ANN401
    return (cells["lost"] == 0) & (cells["percent"] == 0)


def _loss_follows(cells: Cells) -> Any:  # noqa: ANN401
    return "percent" not in cells or _is_none_lost(cells) | (abs(cells["percent"] - share_lost(cells)) <= share_slack(cells))


def _rates(statistic: str, rate: str, mbit: str) -> tuple[Field, Field]:
    """A message rate and a goodput; a spreadsheet drops the decimal of 180.0, which says nothing of the resolution."""
    return Field("message_rate", statistic, rate), Field("goodput", statistic, mbit, unit=1e6, resolution=1e5, places=0)


def _cpu(statistic: str) -> Field:
    return Field("cpu_of_machine", statistic, "cpu", places=6)


_COUNTS = (Field.counted("messages_received", "received"), Field.counted("messages_lost", "lost"))
_LOSS = Field("loss", "total", "percent", unit=0.01, places=6, zero=_is_none_lost)
_LOSS_FOLLOWS = Check("the share of loss contradicts the counts", _loss_follows)
_CONTRADICTORY = "the statistics contradict each other"
_LATENCIES = [
    Field("latency", name, group_of(name), unit="unit", unknown=_is_smallest_for_percentiles if name in {"p99.99", "p99.9999"} else None)
    for name in (*STATISTICS[:7], "p99.9", *STATISTICS[7:])
]
_RUNNING_LATENCIES = [Field("latency", name, name, unit="unit") for name in RUNNING]


def _whole(name: str) -> str:
    return rf"(?P<{name}>[0-9]{{1,15}}+)"


def _real(name: str, decimals: int = 1, digits: int = 15) -> str:
    return rf"(?P<{name}>[0-9]{{1,{digits}}}+\.[0-9]{{{decimals}}})"


def _both(shape: str, cpu: str) -> tuple[str, str]:
    """The shape, and the same with the processor time behind it, as options of some versions have it."""
    return shape, shape + cpu


def _text(shape: str) -> tuple[str, str]:
    return _both(shape, f" CPU: ++{_real('cpu', 2, 3)}%")


def _row(names: Sequence[str], decimals: Sequence[int]) -> tuple[str, str]:
    """A row of CSV as C++ pads it."""
    cells = (_real(name, places) if places else _whole(name) for name, places in zip(names, decimals, strict=True))
    return _both(" *+" + ", *+".join(cells), f", *+{_real('cpu', 2, 3)}")


_LOST = rf"Lost: ++{_whole('lost')} \({_real('percent', 2, 3)}%\)"
_SUMMARY_TEXT = (
    rf"Length: ++{_whole('size')} ++Packets: ++{_whole('received')} ++Packets/s\(ave\): ++{_whole('rate')} ++Mbps\(ave\): ++{_real('mbit')} ++{_LOST}"
)
_RUNNING_TEXT = (
    rf" *+Packets: ++{_whole('received')} ++Packets/s: ++{_whole('last_rate')} ++Packets/s\(ave\): ++{_whole('rate')}"
    rf" ++Mbps: ++{_real('last_mbit')} ++Mbps\(ave\): ++{_real('mbit')} ++{_LOST}"
)
_ANSWER_TEXT = (
    rf"One[ -][wW]ay Latency: ++{_whole('last')} us ++Ave ++{_whole('mean')} us ++Std ++{_real('std')} us"
    rf" ++Min ++{_whole('min')} us ++Max ++{_whole('max')}(?: us)?+"
)

SUMMARY = LineRule(
    *_text(_SUMMARY_TEXT),
    *_row(("size", "received", "rate", "mbit", "lost", "percent"), (0, 0, 0, 1, 0, 2)),
    fields=(*_COUNTS, *_rates("mean", "rate", "mbit"), _LOSS, _cpu("mean")),
    record=Record(test="throughput", payload_bytes=None, numbers=(), side="subscriber", conditions=Conditions(definition="rti-throughput")),
    checks=(_rates_agree("rate", "mbit", 1.01), _LOSS_FOLLOWS),
    samples="received",
)
RUNNING_THROUGHPUT = LineRule(
    *_text(_RUNNING_TEXT),
    *_row(("size", "received", "last_rate", "rate", "last_mbit", "mbit", "lost", "percent"), (0, 0, 0, 0, 1, 1, 0, 2)),
    fields=(*_COUNTS, *_rates("mean", "rate", "mbit"), *_rates("last", "last_rate", "last_mbit"), _LOSS, _cpu("last")),
    record=Record(
        test="throughput",
        payload_bytes=None,
        numbers=(),
        scope="interval",
        side="subscriber",
        conditions=Conditions(definition="rti-throughput-running"),
    ),
    # A mean of truncated rates is rounded once more.
    checks=(_rates_agree("rate", "mbit", 1.6), _rates_agree("last_rate", "last_mbit", 1.01), _LOSS_FOLLOWS),
    samples="received",
)
LATENCY = LineRule(
    *_row(("size", *map(group_of, STATISTICS)), (0, 0, 1, 0, 0, 0, 0, 0, 0, 0)),
    fields=(*_LATENCIES, _cpu("mean")),
    record=Record(test="latency", payload_bytes=None, numbers=(), side="publisher", conditions=Conditions(basis="rtt/2", definition="rti-one-way")),
    checks=(Check(_CONTRADICTORY, _is_ordered),),
)
_RUNNING_RECORD = Record(
    test="latency",
    payload_bytes=None,
    numbers=(),
    scope="interval",
    side="publisher",
    conditions=Conditions(basis="rtt/2", definition="rti-one-way-running"),
)
RUNNING_LATENCY = LineRule(
    *_row(("size", *RUNNING), (0, 0, 0, 1, 0, 0)),
    fields=(*_RUNNING_LATENCIES, _cpu("last")),
    record=_RUNNING_RECORD,
    checks=(Check(_CONTRADICTORY, _is_between),),
)
ANSWER = LineRule(
    *_text(_ANSWER_TEXT),
    fields=(*_RUNNING_LATENCIES, _cpu("last")),
    record=_RUNNING_RECORD,
    checks=(Check(_CONTRADICTORY, _is_between),),
    # They can only grow apart while a size lasts: where they do not, another size's intervals have begun.
    order=(Order(GO_BACK, lambda now, before: (now["min"] <= before["min"]) & (now["max"] >= before["max"])),),
)
BULK = tuple(bulk for rule in (SUMMARY, RUNNING_THROUGHPUT, ANSWER, LATENCY, RUNNING_LATENCY) for bulk in rule.bulk)
