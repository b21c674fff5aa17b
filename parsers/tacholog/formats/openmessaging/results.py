"""The common parts of the JSON and the log of OpenMessaging Benchmark: the kinds of results, and the rule for a rate that was not sustained."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tacholog.formats.kit import Conditions, Finding, Line, Number, Record, Tally

MILLISECOND = 1e6  # in nanoseconds
DROPS = "drops_samples"
NOT_SUSTAINED = "not_sustained"

RATES = Record(
    test="throughput", payload_bytes=None, numbers=(), scope="interval", side="both", conditions=Conditions(definition="omb-rates", load_mode="paced")
)
END_TO_END = Record(
    test="latency", payload_bytes=None, numbers=(), side="subscriber", conditions=Conditions(basis="one-way", definition="omb-end-to-end")
)


def published(numbers: Sequence[Number], *, has_delay: bool) -> Record:
    """Return a record of publish latencies.

    Old versions print no delays of the publish call. If the log has no such delays, the load mode is unknown.
    """
    conditions = (
        Conditions(basis="pub-to-ack", definition="omb-publish", load_mode="paced")
        if has_delay
        else Conditions(basis="pub-to-ack", definition="omb-publish-2017")
    )
    return Record(test="latency", payload_bytes=None, numbers=tuple(numbers), side="publisher", conditions=conditions)


class Rates:
    """The rates and the backlog of the intervals of one test."""

    def __init__(self) -> None:
        self._tally: Tally | None = None
        self._count = 0
        self._backlogs: list[Number] = []  # the first and the last backlog

    def add(self, line: Line, record: Record) -> None:
        """Add an interval. All intervals take 10 s."""
        self._tally = self._tally or Tally(line, record)
        self._tally.add(line, record, stamp=float(self._count), whole=True)
        self._count += 1
        if (backlog := record.number("backlog", "last")) and backlog.value is not None:
            self._backlogs = [(self._backlogs or [backlog])[0], backlog]

    @property
    def is_sustained(self) -> bool:
        """Whether the backlog grew by at most as many messages as are published in one second; also true if a figure is unknown."""
        rate = next((number.value for number in self._tally.numbers() if number.metric == "acknowledged_rate"), None) if self._tally else None
        if not self._backlogs or rate is None:
            return True
        first, last = (number.value or 0.0 for number in self._backlogs)
        return last - first <= rate

    def summary(self) -> Finding | None:
        """Return the rates of the whole test: the means of the intervals, and the last backlog; ``None`` if there is no interval."""
        if self._tally is None:
            return None
        finding = self._tally.found(self._backlogs[1:])
        if finding is None or not isinstance(finding.what, Record) or self.is_sustained:
            return finding
        return finding._replace(what=marked(finding.what, NOT_SUSTAINED))


def marked(record: Record, mark: str) -> Record:
    """Return the record with a mark on each of its numbers."""
    return replace(record, numbers=tuple(replace(number, marks=tuple(sorted({*number.marks, mark}))) for number in record.numbers))
