"""What is ranked nowhere, and why: a table of the fastest that left others out silently would mislead."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from tacholog.compare.comparable import is_ranked_nowhere, judge, unknown
from tacholog.view.headlines import RANKED_BY
from tacholog.view.names import with_system
from tacholog.view.numerals import NOT_STATED
from tacholog.view.ranking_groups import Compared, conditions_of
from tacholog.view.refusals import not_stated, refusals

_OLDER = "of an older release"
_ALONE = "no other transport was measured on the same machine, in the same way and in the same campaign"
_NO_NUMBER = "no median latency, mean latency or goodput is stated"

_CONTROL = "a control, which no release changes: it shows whether the machine changed"

_Name = tuple[str, str, str, str]  # system, version, transport, labels that differ


class Unranked(msgspec.Struct, frozen=True):
    """Systems and transports that no ranking shows, and the reason that they share."""

    names: str
    reason: str


def unranked(everything: Sequence[Compared], newest: Sequence[Compared], listed: Sequence[Compared]) -> list[Unranked]:
    """Return the systems and transports that no ranking shows, by the reason.

    Args:
        everything: all series.
        newest: those of the newest releases.
        listed: those that a ranking shows.
    """
    shown, last = {_name(one) for one in listed}, {id(one) for one in newest}
    reasons: dict[_Name, list[str]] = {}
    for one in everything:
        if _name(one) not in shown:
            reasons.setdefault(_name(one), []).append(_why(one, newest) if id(one) in last else _OLDER)
    by_reason: dict[str, list[_Name]] = {}
    for name, found in reasons.items():
        by_reason.setdefault(min(found, key=_says_least), []).append(name)
    return [Unranked(_names(names), reason) for reason, names in by_reason.items()]


def unranked_controls(everything: Sequence[Compared]) -> list[Unranked]:
    """Return the controls among all series, which no ranking shows."""
    names = dict.fromkeys(_name(one) for one in everything if one.is_control)
    return [Unranked(_names(names), _CONTROL)] if names else []


def _says_least(reason: str) -> int:
    """A reason that holds for one side of a measurement only (a sender states no goodput) gives way to one that says more."""
    return (reason == _OLDER) + 2 * (reason == _NO_NUMBER)


def _name(one: Compared) -> _Name:
    key = dict(one.series.key)
    return one.system, str(key["release"] or key["system_version"] or ""), one.transport, one.label_words


def _names(names: Collection[_Name]) -> str:
    by_system: dict[str, list[str]] = {}
    for system, version, transport, labels in names:
        named = f"transport {transport}" if transport == NOT_STATED else transport
        shown = " with ".join(filter(None, ("" if transport.casefold() == system.casefold() else named, labels)))
        by_system.setdefault(" ".join(filter(None, (system, version))), []).append(shown)
    return "; ".join(f"{system} ({', '.join(filter(None, of))})" if any(of) else system for system, of in by_system.items())


def _why(one: Compared, newest: Sequence[Compared]) -> str:
    numbers = [(metric, statistic) for metric, statistic in RANKED_BY if one.series.cells(metric, statistic)]
    if not numbers:
        return _NO_NUMBER
    stated = conditions_of(one.series, numbers[0][0])
    if missing := unknown(stated, "ranking"):
        return not_stated(missing)
    if all(is_ranked_nowhere(conditions_of(one.series, metric)) for metric, _ in numbers):
        return "the rate counts bytes that never moved"
    closest = _closest(one, newest, *numbers[0])
    return f"{_ALONE}. {closest}" if closest else _ALONE


def _closest(one: Compared, newest: Sequence[Compared], metric: str, statistic: str) -> str:
    """Return, as a sentence without its dot, which series differs in the fewest conditions, and in which; nothing if no other has this number."""
    stated = conditions_of(one.series, metric)
    others = [other for other in newest if other is not one and other.series.cells(metric, statistic)]
    judged = [(other, refusals(judge(conditions_of(other.series, metric), stated, comparison="ranking"))) for other in others]
    differing = [(other, reasons) for other, reasons in judged if reasons]
    if not differing:
        return ""
    other, reasons = min(differing, key=lambda found: len(found[1]))
    return f"The most similar is {with_system(other.system, other.transport)}; from it to this one, the difference is {'; '.join(reasons)}"
