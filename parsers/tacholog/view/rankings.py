"""The choice of the series to rank: series of the newest release. They are from one build, and from the campaign with the most measurements.

Series without a ranking are listed with the reason, because a table that silently omits series would mislead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import msgspec

from tacholog.compare.comparable import LABELS, is_ranked_nowhere, judge, unknown
from tacholog.compare.policy import MIN_RUNS
from tacholog.runs.moments import latest_instant
from tacholog.view.history import in_order_of_time
from tacholog.view.numerals import NOT_STATED
from tacholog.view.ranking_groups import RANKED_BY, Group, SystemSeries, conditions_of, group_of, groups
from tacholog.view.refusals import not_stated, refusals
from tacholog.view.results import RunRow

_OF_A_CAMPAIGN = ("planned_duration_s", "warmup", "settings", "campaign", "build")
_SHARED_BY_CAMPAIGN = ("host", "release", "system_version", "campaign", "definition", "basis", "load_mode")
_OF_A_RELEASE = ("release", "system_version", "tool_version", "run", *_OF_A_CAMPAIGN)


def ranked_groups(last: Sequence[SystemSeries], *, least: int = 2, across: Collection[str] = ()) -> dict[Group, list[SystemSeries]]:
    """Return the groups to rank. Members of a group may differ in the conditions ``across``.

    If several campaigns measured the same, the campaign with the most series is used. If they have equally many series, the one with the most sizes
    is used.
    """
    measured = {group: best_measured(candidates) for group, candidates in groups(last, least=least, across=across).items()}
    measured = {group: members for group, members in measured.items() if len(members) >= least}
    main: dict[object, Group] = {}
    for group, members in measured.items():
        conditions = group.of_any_campaign()
        if conditions not in main or _breadth(group, members) > _breadth(main[conditions], measured[main[conditions]]):
            main[conditions] = group
    return {group: measured[group] for group in main.values()}


def _breadth(group: Group, members: Sequence[SystemSeries]) -> tuple[int, int]:
    return len(members), sum(len(group.cells(member)) for member in members)


def of_last_releases(members: Sequence[SystemSeries]) -> list[SystemSeries]:
    """Return the series of the last releases, from all campaigns."""
    return [member for alike in _last_releases(members) for member in alike]


def newest_release(members: Sequence[SystemSeries]) -> list[SystemSeries]:
    """Return the series of the newest release of one system, from all campaigns and machines."""
    order = _order_of(members)
    ages = [_release_index(member, order.get(member.system, ())) for member in members]
    return [member for member, age in zip(members, ages, strict=True) if age == max(ages)]


def main_campaigns(members: Sequence[SystemSeries]) -> set[str]:
    """Return the ids of the series that represent their release. If several campaigns measured the same conditions, one of these campaigns is chosen.

    Only one campaign is chosen, because series of different campaigns would differ not only in their transports. The criteria are, in this order: the
    most series in the campaign, enough runs for a verdict, the most sizes, the latest time.
    """
    breadth = Counter(_campaign_of(member) for member in members)

    def evidence(member: SystemSeries) -> tuple[object, ...]:
        return (breadth[_campaign_of(member)], len(member.series.runs) >= MIN_RUNS, *_age(member, ()))

    alike: dict[object, list[SystemSeries]] = {}
    for member in members:
        conditions = tuple((name, value) for name, value in member.series.key if name not in (*_OF_A_CAMPAIGN, "run"))
        alike.setdefault((member.system, member.transport, member.series.results[0].test, conditions), []).append(member)
    main = (alike_series if alike_series[0].series.published else [max(alike_series, key=evidence)] for alike_series in alike.values())
    return {member.id for alike_series in main for member in alike_series}


def _campaign_of(member: SystemSeries) -> tuple[object, ...]:
    key = dict(member.series.key)
    return (member.system, member.series.results[0].test, *(key[name] for name in _SHARED_BY_CAMPAIGN))


def best_measured(members: Sequence[SystemSeries]) -> list[SystemSeries]:
    """Return the series of the last releases, from one build of each system: the build with the most series; of several such builds, the latest."""
    last_ids = {id(member) for member in of_last_releases(members)}
    last = [member for member in members if id(member) in last_ids]
    builds: dict[tuple[str, bool], dict[object, list[SystemSeries]]] = {}
    for member in last:
        builds.setdefault((member.system, member.series.published), {}).setdefault(build_of(member), []).append(member)
    chosen = {system: max(of_build, key=lambda build: (len(of_build[build]), _latest(of_build[build]))) for system, of_build in builds.items()}
    return [member for member in last if build_of(member) == chosen[member.system, member.series.published]]


def build_of(member: SystemSeries) -> object:
    """Return the commit from which the programs of a series were built; ``None`` if it is not stated."""
    return dict(member.series.key)["build"]


def _latest(members: Iterable[SystemSeries]) -> float:
    return latest_instant(run.start_time for member in members for run in member.series.runs)


def _last_releases(members: Sequence[SystemSeries]) -> list[list[SystemSeries]]:
    """Return a list for each way of measuring: the series of the last release that was measured in this way.

    Each list is sorted by the number of measured sizes, and then by time. So its last series has the most sizes.
    """
    order = _order_of(members)
    alike: dict[object, list[SystemSeries]] = {}
    for member in members:
        conditions = tuple((name, value) for name, value in member.series.key if name not in _OF_A_RELEASE)
        alike.setdefault((member.system, member.transport, member.series.results[0].test, conditions), []).append(member)
    rows = []
    for alike_series in alike.values():
        ages = {id(member): _age(member, order.get(member.system, ())) for member in alike_series}
        last = max(ages.values())[0]
        rows.append(sorted((member for member in alike_series if ages[id(member)][0] == last), key=lambda member: ages[id(member)]))
    return rows


def _age(member: SystemSeries, order: Sequence[str]) -> tuple[int, int, float]:
    """Return a sort key for series: the index of the release, then the number of measured sizes, then the time of the latest run.

    The time comes last for a reason. A comparison of two builds measures the older build again, at a later time and at fewer sizes. The series of
    such a comparison must not replace the series of the campaign that measured all sizes.
    """
    return _release_index(member, order), len(member.series.sizes()), latest_instant(run.start_time for run in member.series.runs)


def _order_of(members: Sequence[SystemSeries]) -> dict[str, list[str]]:
    return in_order_of_time((run.system, _release_or_version(run), run.start_time) for member in members for run in member.series.runs)


def _release_index(member: SystemSeries, order: Sequence[str]) -> int:
    return max(order.index(label) if (label := _release_or_version(run)) in order else -1 for run in member.series.runs)


def _release_or_version(run: RunRow) -> str | None:
    return run.release or run.system_version


_OLDER = "of an older release"
_NARROWER = "another campaign measured more transports on the same machine, in the same way"
_ALONE = "no other transport was measured on the same machine, in the same way and in the same campaign"
_NO_NUMBER = "no median latency, mean latency or goodput is stated"

_CONTROL = "a control, which no release changes: it shows whether the machine changed"

_Name = tuple[str, str, str, str]  # system, version, transport, labels that differ


class Unranked(msgspec.Struct, frozen=True):
    """Systems and transports without a ranking, and their common reason."""

    names: str
    reason: str


def unranked(everything: Sequence[SystemSeries], newest: Sequence[SystemSeries], listed: Sequence[SystemSeries]) -> list[Unranked]:
    """Return the systems and transports without a ranking, by their reason.

    Args:
        everything: all series.
        newest: the series of the newest releases.
        listed: the series in rankings.
    """
    ranked_names, last = {_name(member) for member in listed}, {id(member) for member in newest}
    reasons: dict[_Name, list[str]] = {}
    for member in everything:
        if _name(member) not in ranked_names:
            reasons.setdefault(_name(member), []).append(_why(member, newest) if id(member) in last else _OLDER)
    by_reason: dict[str, list[_Name]] = {}
    for name, reasons_of_name in reasons.items():
        by_reason.setdefault(min(reasons_of_name, key=_order_of_reason), []).append(name)
    return [Unranked(_names(names), reason) for reason, names in by_reason.items()]


def unranked_controls(everything: Sequence[SystemSeries]) -> list[Unranked]:
    """Return the controls in these series. Controls have no ranking."""
    names = dict.fromkeys(_name(member) for member in everything if member.is_control)
    return [Unranked(_names(names), _CONTROL)] if names else []


def _order_of_reason(reason: str) -> int:
    """The reasons that explain least come last. For example, a missing number explains little."""
    return (reason == _OLDER) + 2 * (reason == _NO_NUMBER)


def _name(member: SystemSeries) -> _Name:
    key = dict(member.series.key)
    return member.system, str(key["release"] or key["system_version"] or ""), member.transport, member.label_words


def _names(names: Collection[_Name]) -> str:
    by_system: dict[str, list[str]] = {}
    for system, version, transport, labels in names:
        named = f"transport {transport}" if transport == NOT_STATED else transport
        phrase = " with ".join(filter(None, ("" if transport.casefold() == system.casefold() else named, labels)))
        by_system.setdefault(" ".join(filter(None, (system, version))), []).append(phrase)
    return "; ".join(f"{system} ({', '.join(filter(None, phrases))})" if any(phrases) else system for system, phrases in by_system.items())


def _why(member: SystemSeries, newest: Sequence[SystemSeries]) -> str:
    numbers = [(metric, statistic) for metric, statistic in RANKED_BY if member.series.cells(metric, statistic)]
    if not numbers:
        return _NO_NUMBER
    conditions = conditions_of(member.series, numbers[0][0])
    if missing := unknown(conditions, "ranking"):
        return not_stated(missing)
    if all(is_ranked_nowhere(conditions_of(member.series, metric)) for metric, _ in numbers):
        return "the rate counts bytes that never moved"
    rivals = [other for other in newest if other is not member and other.label_words != member.label_words]
    mine = group_of(member, (LABELS, "campaign"))
    if mine is not None and any(group_of(other, (LABELS, "campaign")) == mine for other in rivals):
        return _NARROWER
    closest = _difference_from_closest(member, newest, *numbers[0])
    return f"{_ALONE}. {closest}" if closest else _ALONE


def _difference_from_closest(member: SystemSeries, newest: Sequence[SystemSeries], metric: str, statistic: str) -> str:
    """Return how ``member`` differs in its conditions from the closest series; an empty text if no series differs.

    The text is a sentence without its full stop. Each condition has the value of the other series first.
    """
    conditions = conditions_of(member.series, metric)
    others = [other for other in newest if other is not member and other.series.cells(metric, statistic)]
    judged = [(other, refusals(judge(conditions_of(other.series, metric), conditions, comparison="ranking"))) for other in others]
    differing = [(other, reasons) for other, reasons in judged if reasons]
    if not differing:
        return ""
    other, reasons = min(differing, key=lambda pair: len(pair[1]))
    return f"Not measured in the same way as {_names([_name(other)])} (there -> here): {'; '.join(reasons)}"
