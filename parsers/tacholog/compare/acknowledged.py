"""Known regressions: the reader of ``known.toml``, and the comparison with its acknowledged rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from tacholog.compare.requirements.file import read_entries, size_complaints
from tacholog.compare.result import (
    ACKNOWLEDGED,
    Acknowledgement,
    AcknowledgementState,
    Comparison,
    ComparisonRow,
    Loss,
    RowKey,
    Verdict,
    worse_by,
)
from tacholog.compare.sizes import size_bytes
from tacholog.errors import UnreadableInput
from tacholog.schema.metrics import METRICS

FILE = "known.toml"
_NOT_FIELDS = ("size", "reason", "issue", "until", "until_release", "at_most_percent", "at_most_points")
_WORSE: tuple[Verdict, ...] = ("worse", "differs_worse")
_NOT_WORSE: tuple[Verdict, ...] = ("better", "no_change", "differs_better", "differs_not")
_RELEASE = re.compile(r"v?(\d+(?:\.\d+)*)")
#: The states of a worse row. If several entries name a row, the last of their states in this order counts.
_STATES: tuple[AcknowledgementState, ...] = ("expired", "grown", ACKNOWLEDGED)
Text = Annotated[str, msgspec.Meta(pattern=r"\S", max_length=1000)]
Limit = Annotated[float, msgspec.Meta(gt=0)]
Row = TypeVar("Row", ComparisonRow, Loss)


class KnownRegression(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One entry: ``[[known]]``. It acknowledges each worse row that has all properties of the entry.

    Attributes:
        system, test, transport, data_path, type, participant, publishers, subscribers, payload_bytes, size, demand: as in requirements.
        metric: the metric that is worse, such as ``latency`` or ``loss``.
        statistic: the statistic of the metric, such as ``p99``.
        reason: why the regression is acknowledged.
        issue: the number or the address of the issue about the regression.
        until: the last day on which the entry is valid.
        until_release: the release that must no longer have the regression.
        at_most_percent: the largest change that is acknowledged. Without it, a change of any size is acknowledged.
        at_most_points: the same for the metric ``loss``, in percentage points.
    """

    system: str | None = None
    test: str | None = None
    transport: str | None = None
    data_path: str | None = None
    type: str | None = None
    participant: str | None = None
    publishers: int | None = None
    subscribers: int | None = None
    payload_bytes: int | None = None
    size: str | int | None = None
    demand: int | None = None
    metric: str
    statistic: str | None = None
    reason: Text
    issue: Text | int
    until: date | None = None
    until_release: Text | None = None
    at_most_percent: Limit | None = None
    at_most_points: Limit | None = None

    def names(self, key: RowKey) -> bool:
        """Whether the row has all properties that this entry states."""
        properties = {name: getattr(self, name) for name in self.__struct_fields__ if name not in _NOT_FIELDS}
        if self.size is not None:
            properties["payload_bytes"] = size_bytes(self.size)
        return all(value is None or getattr(key, name) == value for name, value in properties.items())

    def has_expired(self, today: date, releases: Sequence[str]) -> bool:
        """Whether the entry is no longer valid: its last day has passed, or none of ``releases`` is older than the release that it states."""
        if self.until is not None:
            return today > self.until
        end = _release_numbers(self.until_release or "") or ()
        numbers = [number for release in releases if (number := _release_numbers(release)) is not None]
        return bool(numbers) and min(numbers) >= end

    def has_grown(self, row: ComparisonRow | Loss) -> bool:
        """Whether the change of the row is larger than the largest change that this entry acknowledges."""
        if isinstance(row, Loss):
            return self.at_most_points is not None and (row.change or 0.0) * 100 > self.at_most_points
        return self.at_most_percent is not None and row.ratio is not None and worse_by(row.ratio, row.better) * 100 > self.at_most_percent


def read_known(path: Path) -> list[tuple[str, KnownRegression]]:
    """Read a file of known regressions. Each entry is returned with its location.

    Raises:
        UnreadableInput: the file is missing or no TOML, or an entry cannot be used; the message names file, line and key.
    """
    entries = read_entries(path, {"known": KnownRegression})["known"]
    for location, entry in entries:
        for complaint in _complaints(entry):
            raise UnreadableInput(f"{location}: {complaint}")
    return entries


def _complaints(entry: KnownRegression) -> Iterator[str]:
    metric = METRICS.get(entry.metric)
    if metric is None or metric.better is None:
        yield f"metric: {entry.metric!r} cannot become worse; use one of {', '.join(name for name, metric in METRICS.items() if metric.better)}"
    yield from size_complaints(entry.size, entry.payload_bytes)
    if (entry.until is None) == (entry.until_release is None):
        yield "an entry states one of until (the last day, such as 2027-03-31) and until_release (such as '1.4')"
    if entry.until_release is not None and _release_numbers(entry.until_release) is None:
        yield f"until_release: {entry.until_release!r} has no order; write numbers, such as '1.4', or state until"
    name = "at_most_percent" if entry.metric == "loss" else "at_most_points"
    if getattr(entry, name) is not None:
        other = "at_most_points" if entry.metric == "loss" else "at_most_percent"
        yield f"{name}: state {other} for the metric {entry.metric}"


def _release_numbers(release: str) -> tuple[int, ...] | None:
    """Return (1, 4) for 1.4 and for 1.4.0; ``None`` if the name does not consist of numbers, or has more than 100 characters."""
    match = _RELEASE.fullmatch(release) if len(release) <= 100 else None  # noqa: PLR2004 - many digits
    return tuple(map(int, re.sub(r"(\.0+)+$", "", match[1]).split("."))) if match else None


def acknowledge(comparison: Comparison, entries: Sequence[tuple[str, KnownRegression]], today: date) -> Comparison:
    """Return the comparison with an acknowledgement in each worse row that an entry names, and with the state of each entry.

    If an entry acknowledges a row, other entries for this row have no effect. Among rows with the same verdict, acknowledged rows are last.
    """
    releases = comparison.new.releases or comparison.new.versions
    rows = [_acknowledged(row, entries, today, releases) for row in comparison.rows]
    losses = [_acknowledged(loss, entries, today, releases) for loss in comparison.losses]
    order = {verdict: number for number, verdict in enumerate(dict.fromkeys(row.verdict for row in rows))}
    rows.sort(key=lambda row: (order[row.verdict], row.is_acknowledged))
    states = tuple(_state_of(location, entry, [*rows, *losses], entry.has_expired(today, releases)) for location, entry in entries)
    return msgspec.structs.replace(comparison, rows=tuple(rows), losses=tuple(losses), acknowledgements=states)


def _acknowledged(row: Row, entries: Sequence[tuple[str, KnownRegression]], today: date, releases: Sequence[str]) -> Row:
    if row.verdict not in _WORSE:
        return row
    states = [
        _acknowledgement(location, entry, "expired" if entry.has_expired(today, releases) else "grown" if entry.has_grown(row) else ACKNOWLEDGED)
        for location, entry in entries
        if entry.names(row.key)
    ]
    if not states:
        return row
    return msgspec.structs.replace(row, acknowledgement=max(states, key=lambda state: _STATES.index(state.state)))


def _acknowledgement(location: str, entry: KnownRegression, state: AcknowledgementState, rows: int | None = None) -> Acknowledgement:
    return Acknowledgement(
        entry=location,
        state=state,
        reason=entry.reason,
        issue=str(entry.issue),
        until=entry.until.isoformat() if entry.until else f"release {entry.until_release}",
        at_most_percent=entry.at_most_percent,
        at_most_points=entry.at_most_points,
        rows=rows,
    )


def _state_of(location: str, entry: KnownRegression, rows: Sequence[ComparisonRow | Loss], is_expired: bool) -> Acknowledgement:
    named = [row for row in rows if entry.names(row.key)]
    worse = [row for row in named if row.verdict in _WORSE]
    if worse:
        grown = any(entry.has_grown(row) for row in worse)
        return _acknowledgement(location, entry, "expired" if is_expired else "grown" if grown else ACKNOWLEDGED, len(worse))
    if not named:
        return _acknowledgement(location, entry, "no_row", 0)
    is_needed = any(row.verdict not in _NOT_WORSE for row in named)
    return _acknowledgement(location, entry, "no_verdict" if is_needed else "not_needed", len(named))
