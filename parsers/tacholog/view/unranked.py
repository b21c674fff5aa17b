"""What is ranked nowhere, and why: a table of the fastest that leaves others out in silence says more than was measured."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tacholog.render.figures.figures import LOGICAL
from tacholog.render.html import NOTHING, Html, tag
from tacholog.view.comparable import Compared
from tacholog.view.headlines import RANKED_BY
from tacholog.view.numerals import NOT_STATED

_OLDER = "of an older release"
_ALONE = "nothing else was measured on the same machine in the same way and in the same campaign"
_NO_NUMBER = "neither a median or mean latency nor a goodput is stated"
_STATED = {"host": "machine", "definition": "definition", "basis": "basis of a latency"}


def not_listed(everything: Sequence[Compared], newest: Sequence[Compared], listed: Sequence[Compared]) -> Html:
    """Return a list of the systems and transports that no table shows, by the reason; nothing where all are shown."""
    shown, last = {_name(one) for one in listed}, {id(one) for one in newest}
    reasons: dict[tuple[str, str, str], list[str]] = {}
    for one in everything:
        if _name(one) not in shown:
            reasons.setdefault(_name(one), []).append(_why(one) if id(one) in last else _OLDER)
    by_reason: dict[str, list[tuple[str, str, str]]] = {}
    for name, found in reasons.items():
        by_reason.setdefault(min(found, key=_says_least), []).append(name)
    if not by_reason:
        return NOTHING
    items = [tag("li", f"{_names(names)}: {reason}.") for reason, names in by_reason.items()]
    return tag("section", tag("p", tag("strong", "Not listed")), tag("ul", *items), class_="tl-unlisted")


def _says_least(reason: str) -> int:
    """What holds of one side of a measurement, as of the sender, who states no goodput, is not said of all where another says more."""
    return (reason == _OLDER) + 2 * (reason == _NO_NUMBER)


def _name(one: Compared) -> tuple[str, str, str]:
    key = dict(one.series.key)
    return one.system, str(key["release"] or key["system_version"] or ""), one.transport


def _names(names: Collection[tuple[str, str, str]]) -> str:
    by_system: dict[str, list[str]] = {}
    for system, version, transport in names:
        said = f"transport {transport}" if transport == NOT_STATED else transport
        by_system.setdefault(" ".join(filter(None, (system, version))), []).append(said)
    return "; ".join(f"{system} ({', '.join(transports)})" for system, transports in by_system.items())


def _why(one: Compared) -> str:
    key = dict(one.series.key)
    told = [(metric, cells) for metric, statistic in RANKED_BY if (cells := one.series.cells(metric, statistic))]
    if not told:
        return _NO_NUMBER
    asked = [name for name in _STATED if name != "basis" or told[0][0] == "latency"]
    unknown = [_STATED[name] for name in asked if key[name] is None]
    if unknown:
        return f"{' and '.join(unknown)} not stated"
    if all(metric == "goodput" for metric, _ in told) and one.series.has_mark(LOGICAL):
        return "the rate counts bytes that never moved"
    return _ALONE
