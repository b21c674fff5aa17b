"""The schema: what a log line can say, what a run is, and what each metric means.

A *record* is one result of a log: the conditions that the log itself states, and its numbers. The *results* table is
the tidy form of all records, one row a number. Units are fixed by `METRICS`: latency in ns, rates in bit/s or
messages/s, sizes in bytes. Unknown is ``None`` everywhere, never zero and never a guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

import msgspec

from tacholog.schema.conditions import Basis, Conditions, Count
from tacholog.schema.metrics import METRICS
from tacholog.schema.statistics import is_statistic

Test = Literal["latency", "throughput", "demand"]
Side = Literal["publisher", "subscriber", "both"]
Bound = Literal["=", "~", "<", ">", "range-low", "range-high"]
Scope = Literal["summary", "interval", "resources"]
Status = Literal["ok", "failed", "truncated", "empty"]

#: How bad an ending is.
SEVERITY: dict[Status | None, int] = {"ok": 0, None: 1, "empty": 2, "truncated": 3, "failed": 4}


_BOUNDS = frozenset(get_args(Bound))
_KNOWN: set[tuple[str, str, str]] = set()  # Names of numbers that were found good: metric, statistic and bound.
_MOST_KNOWN = 4096  # There are a few hundred, unless a log names its percentiles with nine digits each.


class Number(msgspec.Struct, frozen=True, kw_only=True):
    """One number of a record.

    ``metric`` is one of `METRICS`, ``statistic`` one of `STATISTICS` or a percentile such as ``p99.9``.
    ``value`` is in the metric's unit; ``None`` means that the log prints something impossible there, or that it cannot be known: ``marks`` say which.
    ``resolution`` is the unit of the last printed place (in the value's unit), ``None`` if the number is exact or it is unknown.
    ``bound`` says what the value is: ``=`` itself, ``<`` a printed 0 of a quantity rounded or truncated to ``value``.
    ``line`` is the line that it stands on, where its record spans several.

    Raises:
        ValueError: there is no such metric, statistic or bound.
    """

    metric: str
    statistic: str
    value: float | None
    resolution: float | None = None
    bound: Bound = "="
    marks: tuple[str, ...] = ()
    line: int | None = None

    def __post_init__(self) -> None:
        """Refuse a name that nobody knows: whatever orders, judges or explains numbers would stumble over it later, far from its cause."""
        name = (self.metric, self.statistic, self.bound)
        if name in _KNOWN:
            return
        if self.metric not in METRICS:
            raise ValueError(f"there is no metric {self.metric!r}: tacholog.schema.metrics.METRICS lists them")
        if not is_statistic(self.statistic):
            raise ValueError(f"there is no statistic {self.statistic!r}: tacholog.schema.statistics.STATISTICS lists them, or 'p99.9'")
        if self.bound not in _BOUNDS:
            raise ValueError(f"there is no bound {self.bound!r}: it is one of {', '.join(sorted(_BOUNDS))}")
        if len(_KNOWN) < _MOST_KNOWN:
            _KNOWN.add(name)

    @property
    def key(self) -> str:
        """The number's name in flat output: metric, statistic and unit, as in ``latency_p99_ns``."""
        unit = METRICS[self.metric].unit
        statistic = "" if self.statistic == "total" else self.statistic
        return "_".join(word for word in (self.metric, statistic, "" if unit in ("messages", "instances", "ratio") else unit) if word)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One result of a log: what was measured, and its numbers.

    ``samples`` is how many messages are behind the statistics. ``payload_bytes_high`` is there where one result stands for a range of sizes,
    whose lower end is then ``payload_bytes``.
    """

    test: Test
    payload_bytes: Count | None
    payload_bytes_high: Count | None = None
    numbers: tuple[Number, ...]
    samples: int | None = None
    scope: Scope = "summary"
    side: Side | None = None
    participant: str | None = None
    conditions: Conditions = Conditions()

    def number(self, metric: str, statistic: str) -> Number | None:
        """The number of that name, or ``None`` if the record has none."""
        return next((n for n in self.numbers if n.metric == metric and n.statistic == statistic), None)


class Histogram(msgspec.Struct, frozen=True, kw_only=True):
    """Part of a latency distribution: ascending bins ``(lower_ns, upper_ns, count)`` of the record that stands before it."""

    payload_bytes: Count
    basis: Basis
    bins: tuple[tuple[int, int, int], ...]


#: Keys of `Facts.environment` that mean the same whichever tool states them. All other keys are the tool's own, and are only kept.
ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        "clock_overhead_ns": "how long one reading of the tool's clock took, in nanoseconds",
        "load_start_load1": "the load average of the last minute when the run began",
        "host_cpu_model": "the model of the processor",
        "host_cpus_online": "how many processors were online",
        "host_memory_bytes": "the size of the memory, in bytes",
        "host_kernel": "the kernel and its version",
        "host_distribution": "the distribution of the operating system",
        "host_clocksource": "the clock source of the kernel",
    }
)


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a log says about its whole run, apart from results.

    Attributes:
        conditions: those that hold for every record of the run, unless a record states others.
        tool_version: the version of the tool that measured.
        system_version: the version of what was measured.
        build: the commit that the measured program was built from.
        start_time: when the run began, as the log writes it.
        environment: what else is known about the machine and the run; `ENVIRONMENT` lists the keys that Tacholog uses.
        status: how the run ended; ``None`` if the log does not say.
        reason: why it ended so.
    """

    conditions: Conditions = Conditions()
    tool_version: str | None = None
    system_version: str | None = None
    build: str | None = None
    start_time: str | None = None
    environment: dict[str, str] = {}
    status: Status | None = None
    reason: str | None = None

    def environment_number(self, key: str) -> float | None:
        """Return a number of the environment; ``None`` if the log does not state it, or not as a number."""
        try:
            return float(self.environment[key])
        except (KeyError, ValueError):
            return None
