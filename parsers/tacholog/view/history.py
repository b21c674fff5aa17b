"""The history of a metric: one line for each row, over all releases of a system, with the verdict between neighbouring releases.

A value is the median of the runs that the comparison uses. In a comparison of pairs, these are only the paired runs. A release that was measured in
two campaigns has a line for each campaign, because a median over both would merge two builds or two days into one value.

This module also determines the order of the releases and the list of the newest releases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from tacholog.compare.changepoints import Change, changes
from tacholog.compare.policy import TESTED
from tacholog.compare.result import Comparison, ComparisonRow, Controls, Difference, RowKey
from tacholog.runs.moments import instant
from tacholog.schema.metrics import METRICS
from tacholog.slugs import slug
from tacholog.view.names import row_name
from tacholog.view.numerals import alphabetical, by_version
from tacholog.view.page_index import DIFFS, HISTORY, PageIndex
from tacholog.view.ranking_groups import system_series
from tacholog.view.results import RunRow
from tacholog.view.series import LOGICAL

if TYPE_CHECKING:
    from tacholog.view.views import Selection, View
from tacholog.runs.moments import last_day
from tacholog.view.numerals import NOT_STATED
from tacholog.view.views import View

Compare = Callable[[str, str, str], Comparison]  # a system, its older release and its newer release
METRICS_SHOWN = tuple((metric, statistic) for metric, statistics in (*TESTED.items(), ("latency", ("mean", "typical"))) for statistic in statistics)


class HistoryPoint(msgspec.Struct, frozen=True):
    """The value of a release in a line, and the row that compares it with the previous release.

    ``runs`` are the values of the runs from which the median was computed.
    """

    release: int
    value: float
    row: ComparisonRow | None
    runs: tuple[float, ...]


class HistoryLine(msgspec.Struct):
    """The values of one row over all releases in which it was measured in the same way on one machine.

    ``begun_by`` or ``other_runs_of`` states why the line begins. Both are null if the line begins with the first release of the row. ``begun_by`` is
    the row that compares the first point with the previous release.

    A release is part of two comparisons: with the previous release, and with the next release. If these comparisons use different runs of the
    release, a new line begins at the release. ``other_runs_of`` is then the name of this release.
    """

    key: RowKey
    points: list[HistoryPoint]
    begun_by: ComparisonRow | None = None
    other_runs_of: str | None = None


def releases_of(runs: Iterable[RunRow]) -> dict[str, list[str]]:
    """Return the releases of each system in order.

    They are ordered by the time of their first run if all times are known, or else by the numbers in their names.
    """
    return in_order_of_time((run.system, run.release, run.start_time) for run in runs)


def newest_by_name(runs: Iterable[tuple[str | None, str | None, str | None]]) -> dict[str, tuple[str, str]]:
    """Return the newest release of each system whose releases are ordered by name, and the reason for this order in words.

    Args:
        runs: system, release and start time of each run.
    """
    times = _first_starts(runs)
    undated = {system: [release for release, when in of_system.items() if when is None] for system, of_system in times.items()}
    return {
        system: (_ordered(times[system])[-1], f"no run {'' if len(names) == len(times[system]) else f'of {names[0]} '}has a start time")
        for system, names in undated.items()
        if names and len(times[system]) > 1
    }


def in_order_of_time(runs: Iterable[tuple[str | None, str | None, str | None]]) -> dict[str, list[str]]:
    """Return the releases of each system in the order of `releases_of`. ``runs`` are tuples of system, release (or version) and start time."""
    return {system: _ordered(times) for system, times in sorted(_first_starts(runs).items(), key=lambda item: alphabetical(item[0]))}


def _first_starts(runs: Iterable[tuple[str | None, str | None, str | None]]) -> dict[str, dict[str, float | None]]:
    """Return the earliest start time of each release, by system and release. The time is ``None`` if no run of the release has a start time."""
    first: dict[tuple[str, str], float | None] = {}
    for system, release, time in runs:  # A loop, because this is called many times with all runs of a site.
        if system and release:
            earliest = first.get((system, release))
            when = instant(time)
            if earliest is None or (when is not None and when < earliest):
                first[system, release] = when if when is not None else earliest
    by_system: dict[str, dict[str, float | None]] = {}
    for (system, release), when in first.items():
        by_system.setdefault(system, {})[release] = when
    return by_system


def _ordered(times: Mapping[str, float | None]) -> list[str]:
    if all(when is not None for when in times.values()):
        return sorted(times, key=lambda release: (times[release] or 0.0, by_version(release)))
    return sorted(times, key=by_version)


def neighbours(runs: Iterable[RunRow]) -> list[tuple[str, str, str]]:
    """Return the pairs of neighbouring releases, each with its system."""
    return [(system, old, new) for system, names in releases_of(runs).items() for old, new in pairwise(names)]


def since(runs: Iterable[RunRow]) -> list[tuple[str, str, str]]:
    """Return the pairs of releases that users compare if they skip releases. An entry has a system, an older release and the newest release.

    The older release is not a neighbour of the newest release.
    """
    return [(system, old, names[-1]) for system, names in releases_of(runs).items() for old in reversed(names[:-2])]


def latest(runs: Sequence[RunRow]) -> list[tuple[str, str, str]]:
    """Return the system and the two releases of each of the newest comparisons.

    The first comparison is between the most recent own release and the release before it. Further comparisons are added for each other system whose
    newest release has the same name as this most recent release. These further comparisons are sorted by system.

    A release is as recent as its first run, because a later campaign can measure an older release again.
    """
    own_runs = [run for run in runs if not run.published]
    began: dict[tuple[str | None, str | None], float] = {}
    for run in own_runs:
        if (when := instant(run.start_time)) is not None:
            began[run.system, run.release] = min(began.get((run.system, run.release), when), when)
    newest = {system: (system, old, new) for system, old, new in neighbours(own_runs)}  # the last pair of each system
    dated = [(began[system, new], (system, old, new)) for system, old, new in neighbours(own_runs) if (system, new) in began]
    if not dated:
        return []
    first = max(dated)[1]
    return [first, *(pair for system, pair in sorted(newest.items()) if system != first[0] and pair[2] == first[2])]


def _is_replaced(number: tuple[str, str], numbers: set[tuple[str, str]]) -> bool:
    """Return whether comparisons test a different number in place of this number, for example a median in place of a mean.

    ``number`` is a metric with its statistic, and has no history if it is replaced. ``numbers`` are all numbers of the system.
    """
    metric, statistic = number
    if metric == "latency" and statistic not in TESTED["latency"]:
        return any((metric, better) in numbers for better in TESTED["latency"])
    return metric == "message_rate" and ("goodput", "mean") in numbers and ("message_rate", "unmoved") not in numbers


def diff_documents(runs: Collection[RunRow]) -> dict[tuple[str, str, str], str]:
    """Return the name of each page that compares two releases.

    The names are different even for systems `X` and `x`, and for releases `1-rc` and `1-RC`.
    """
    documents: dict[tuple[str, str, str], str] = {}
    used = set[str]()
    for pair in sorted({*neighbours(runs), *since(runs)}):
        system, old, new = pair
        first = slug(f"{system} {old} to {new}")
        name = next(name for name in (first, *(f"{first}-{number}" for number in range(2, len(used) + 3))) if name not in used)
        used.add(name)
        documents[pair] = f"{DIFFS}/{name}"
    return documents


def history_document(metric: str, statistic: str) -> str:
    """Return the name of the page with a metric's history."""
    return f"{HISTORY}/{slug(f'{metric} {statistic}')}"


def metrics_in(view: View) -> Sequence[tuple[str, str]]:
    """Return the metrics that have a history page, each with its statistic. Comparisons of neighbouring releases test these metrics."""
    return view.once("metrics with history", lambda: _metrics_in(view))


def _metrics_in(view: View) -> list[tuple[str, str]]:
    """Return the metrics that have a history page, each with its statistic.

    The function asks each series only which statistics it has, because this is faster than reading all numbers.
    """
    pairs = {(system, release) for system, *releases in neighbours(view.runs.values()) for release in releases}
    by_system: dict[str | None, set[tuple[str, str]]] = {}
    for member in system_series(view, PageIndex()):
        run = member.series.results[0].run
        if (run.system, run.release) in pairs:
            numbers = by_system.setdefault(run.system, set())
            numbers.update(member.series.statistics())
            numbers.update([("message_rate", "unmoved")] if member.series.has_mark(LOGICAL) else [])
    tested = {number for numbers in by_system.values() for number in numbers if not _is_replaced(number, numbers)}
    return [number for number in METRICS_SHOWN if number in tested]


def lines(reports: Sequence[Comparison], metric: str, statistic: str) -> list[HistoryLine]:
    """Join the rows of neighbouring comparisons into lines.

    Two neighbouring comparisons have one release in common. A line continues if both comparisons have the same value for this release.
    """
    joined = _Lines([], {})
    for index, report in enumerate(reports):
        chosen = [row for row in report.rows if (row.key.metric, row.key.statistic) == (metric, statistic)]
        # Rows without a comparison come last. Otherwise they could begin a second line for the same value.
        for row in sorted(chosen, key=lambda row: not _may_join_releases(row)):
            _add(joined, index, row, report.old.name)
    return sorted(joined.all, key=lambda line: (_name(line.key), line.points[0].release))


class HistoryChange(msgspec.Struct, frozen=True):
    """A step or a drift in a line, with its size and its significance.

    ``ratio`` is the value after the change divided by the value before the change. The 95 % confidence interval of the ratio is from ``low`` to
    ``high``. ``before`` is the last release before the change. ``release`` is the first release after a step, or the last release of a drift. ``p``
    is an upper bound of the probability that a page without any real change shows a change as clear as this one.

    ``reason`` is the possible cause of a step, according to the controls of the comparison at this step:

    - ``host``: the host changed, and this change may explain the step.
    - ``release``: the host did not change, and the step is larger than a change of the host that the controls could miss.
    - ``release or host``: the controls do not decide between the two causes.
    """

    line: HistoryLine
    kind: Literal["step", "drift"]
    before: int
    release: int
    ratio: float
    low: float
    high: float
    p: float
    reason: Literal["release", "host", "release or host"]


def changes_of(lines: Sequence[tuple[HistoryLine, Sequence[Comparison]]]) -> list[HistoryChange]:
    """Return the steps and drifts in all lines of a page, beginning with the clearest.

    Args:
        lines: the lines of all systems, each with its comparisons. They are judged together, because each further line makes a change less
            significant.
    """
    positive = [entry for entry in lines if all(value > 0 for point in entry[0].points for value in (point.value, *point.runs))]
    histories = [[point.runs or (point.value,) for point in line.points] for line, _ in positive]
    return [_change(*positive[change.history], change) for change in changes(histories, [_largest_rounding_error(line) for line, _ in positive])]


def _largest_rounding_error(line: HistoryLine) -> float:
    """Return half of the last printed digit of the least precise value, as a logarithm of a ratio."""
    sides = [side for point in line.points if point.row for side in (point.row.old, point.row.new)]
    half = max((side.resolution or 0.0 for side in sides if side), default=0.0) / 2
    least = min(value for point in line.points for value in (point.value, *point.runs))
    return -math.log1p(-half / least) if half < least else math.inf


def _change(line: HistoryLine, reports: Sequence[Comparison], change: Change) -> HistoryChange:
    step = change.kind == "step"
    before, release = (line.points[index].release for index in ((change.first - 1, change.first) if step else (change.first, change.last)))
    controls = reports[release - 1].controls if step and release - before == 1 else None
    return HistoryChange(
        line=line,
        kind=change.kind,
        before=before,
        release=release,
        ratio=math.exp(change.shift),
        low=math.exp(change.low),
        high=math.exp(change.high),
        p=change.p,
        reason=_reason(controls, change.shift if METRICS[line.key.metric].better == "lower" else -change.shift),
    )


def _reason(controls: Controls | None, worse: float) -> Literal["release", "host", "release or host"]:
    """Return the possible cause of a step: the release, the host, or either of them if the controls do not decide between them.

    ``worse`` is the logarithm of the step. It is positive if the new value is worse.
    """
    if controls is None or controls.moved is None or controls.alone is None:
        return "release or host"
    low, high = controls.alone
    within = (low is None or worse >= math.log1p(low)) and (high is None or worse <= math.log1p(high))
    return "release or host" if within != controls.moved else "host" if controls.moved else "release"


class SystemHistory(msgspec.Struct, frozen=True):
    """The history of a metric for one system: its sorted releases, its lines, and their steps and drifts, the clearest first."""

    releases: tuple[str, ...]
    lines: tuple[HistoryLine, ...]
    changes: tuple[HistoryChange, ...]


def histories(runs: Iterable[RunRow], metric: str, statistic: str, compare: Compare) -> dict[str, SystemHistory]:
    """Return the history of a metric for each system that has lines. The changes of all systems are judged together."""
    releases = releases_of(runs)
    reports = {system: [compare(system, old, new) for old, new in pairwise(names)] for system, names in releases.items()}
    by_system = {system: lines(members, metric, statistic) for system, members in reports.items()}
    changes = changes_of([(line, reports[system]) for system, members in by_system.items() for line in members])

    def of_system(members: Sequence[HistoryLine]) -> tuple[HistoryChange, ...]:
        return tuple(change for change in changes if any(change.line is line for line in members))

    return {system: SystemHistory(tuple(releases[system]), tuple(members), of_system(members)) for system, members in by_system.items() if members}


def histories_in(view: View, metric: str, statistic: str, compare: Compare, wanted: Selection) -> Mapping[str, SystemHistory]:
    """Return the histories of a metric for the ``wanted`` part of a dataset, computed once for pages and feeds."""

    def made() -> Mapping[str, SystemHistory]:
        runs = [run for run in view.runs.values() if wanted.system in (None, run.system)]
        return histories(runs, metric, statistic, compare)

    return view.once(("histories", metric, statistic, wanted), made)


def _may_join_releases(row: ComparisonRow) -> bool:
    """Return whether a line may join the two releases of a comparison. Releases on two machines are not joined.

    A comparison accepts two machines with the same stated hardware, with a note. A line has no place for such a note, so readers could take the
    difference between two machines for a trend.
    """
    return row.old is not None and row.new is not None and row.verdict != "not_comparable" and other_machine(row) is None


def other_machine(row: ComparisonRow) -> Difference | None:
    """Return the machines of both sides if they differ. Their stated hardware may still be equal."""
    return next((difference for difference in row.differences if difference.field == "host"), None)


class _Lines(NamedTuple):
    """All lines that were begun so far.

    ``alike`` is an index of these lines by row. With this index, the time to find a line does not grow with the number of lines.
    """

    all: list[HistoryLine]
    alike: dict[RowKey, list[HistoryLine]]

    def add(self, line: HistoryLine) -> HistoryLine:
        self.all.append(line)
        self.alike.setdefault(_without_apart(line.key), []).append(line)
        return line

    def like(self, key: RowKey) -> list[HistoryLine]:
        """Return the lines of a row."""
        return [line for line in self.alike.get(_without_apart(key), ()) if _is_same_row(line.key, key)]


def _add(lines: _Lines, index: int, row: ComparisonRow, release: str) -> None:
    line = _continued_line(lines, index, row, release)
    new = row.new.median if row.new else None
    if row.new is None or new is None:
        return
    if line is not None and _may_join_releases(row):
        line.points.append(HistoryPoint(index + 1, new, row, row.new.values))
    else:
        lines.add(HistoryLine(row.new_key or row.key, [HistoryPoint(index + 1, new, None, row.new.values)], row))


def _continued_line(lines: _Lines, index: int, row: ComparisonRow, release: str) -> HistoryLine | None:
    """Return the line that a row continues; ``None`` if there is no such line.

    This is the line that ends with the runs of the older release of the row. If no line ends with these runs, a new line is begun and returned. No
    new line is begun if the values of the row cannot be joined and the older release already has a point in a line of this row.
    """
    if row.old is None or row.old.median is None:
        return None
    old = HistoryPoint(index, row.old.median, None, row.old.values)
    there = [line for line in lines.like(row.key) if any(point.release == index for point in line.points)]
    line = _line_ending_with_runs_of(there, old)
    if line is None and (_may_join_releases(row) or not there):
        line = lines.add(HistoryLine(row.key, [old], other_runs_of=release if there else None))
    return line


def _without_apart(key: RowKey) -> RowKey:
    return msgspec.structs.replace(key, apart=())


def _is_same_row(first: RowKey, second: RowKey) -> bool:
    """Return whether two keys name the same row.

    ``apart`` has the conditions that tell similar rows of one comparison apart. One comparison may need more of them than another comparison.
    Therefore a condition counts only if both keys have it.
    """
    values = dict(second.apart)
    return all(values.get(name, value) == value for name, value in first.apart)


def _line_ending_with_runs_of(lines: Sequence[HistoryLine], start: HistoryPoint) -> HistoryLine | None:
    """Return the line whose last point has the same runs as the point ``start``; ``None`` if there is no such line.

    The runs are compared, not only their medians, because runs of two campaigns can have the same median by chance.
    """
    return next((line for line in lines if _same_runs(line.points[-1], start)), None)


def _same_runs(end: HistoryPoint, start: HistoryPoint) -> bool:
    """Return whether two points show the same runs of a release. The runs are compared by their values.

    If the numbers of values differ, only the medians are compared, because points of pairs or sessions have fewer values than points of all runs.
    """
    alike = end.release == start.release and math.isclose(end.value, start.value)
    return alike and (len(end.runs) != len(start.runs) or sorted(end.runs) == sorted(start.runs))


def _name(key: RowKey) -> tuple[object, ...]:
    return row_name(msgspec.structs.replace(key, payload_bytes=None)), key.payload_bytes or 0


_MOST = 5


def news(view: View) -> list[dict[str, object]]:
    """Return the newest groups of runs of one system, version and kind, the latest first. Runs without a start time are left out."""
    groups: dict[tuple[str, str, bool], list[RunRow]] = {}
    for run in view.runs.values():
        if run.start_time:
            version = run.system_version or run.release or ""
            groups.setdefault((run.system or NOT_STATED, version, run.published), []).append(run)
    items = [_item(f"{system} {version}".strip(), published, runs) for (system, version, published), runs in groups.items()]
    return sorted(items, key=lambda item: (str(item["day"]), str(item["words"])), reverse=True)[:_MOST]


def _item(words: str, published: bool, runs: list[RunRow]) -> dict[str, object]:
    hosts = ", ".join(sorted({run.host for run in runs if run.host}))
    day = last_day(run.start_time for run in runs)
    return {"day": day, "words": words, "kind": "published" if published else "own", "runs": len(runs), "hosts": hosts}
