"""The lines that say what numbers are based on: release, campaign, machine and runs, and the remarks of those who measured them."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator

from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.tables.hosts import host_anchor
from tacholog.runs.manifest import Host
from tacholog.view.portions import Evidence
from tacholog.view.remarks import Remark, remarks_on
from tacholog.view.results import RunRow
from tacholog.view.views import View

_MOST_REMARKS = 2
_SEVERAL = 2
_LIMITS = {"kept": "other load within its limits", "exceeded": "other load beyond its limits"}


def evidence_lines(found: Iterable[Evidence], view: View, documents: Collection[str] = ()) -> Html:
    """Return a line for each set of runs: what it is, on which machine, how many runs. The machine is linked if ``documents`` has its page."""
    return join([tag("p", join(_parts(one, view, documents), ", "), ".", class_="tl-evidence stat-label") for one in found])


def evidence_remarks(found: Iterable[Evidence], view: View) -> Html:
    """Return the remarks that are on all of these runs, if they are few. All others are shown where the page says how it was measured."""
    shown = common_remarks(found, view)
    return tag("div", *(tag("p", remark.note) for remark in shown), class_="tl-remarks", role="note") if shown else NOTHING


def common_remarks(found: Iterable[Evidence], view: View) -> list[Remark]:
    """Return the first remarks that are on all of these runs."""
    names = {name for one in found for name in one.runs}
    return [remark for remark in remarks_on(view.runs[name] for name in view.runs if name in names) if not remark.runs][:_MOST_REMARKS]


def _parts(one: Evidence, view: View, documents: Collection[str]) -> Iterator[Html | str]:
    release = f"Release {one.release}" if one.release else f"Version {one.version}" if one.version else "Release not stated"
    yield tag("strong", release)
    if one.published:
        yield "published by the vendor, not measured here"
    elif one.campaign:
        yield f"campaign {one.campaign}"
    yield _machine(one, view.hosts.get(one.host or ""), documents)
    if one.last_day:
        yield one.last_day if one.first_day == one.last_day else f"{one.first_day} to {one.last_day}"
    yield f"{_runs(one)} of {one.duration_s:g} s" if one.duration_s else _runs(one)
    if one.is_quick and one.runs_each:
        yield "a quick look"
    if one.limits in _LIMITS:
        yield _LIMITS[one.limits]


def _runs(one: Evidence) -> str:
    """Return how many runs are behind a number: not all series and sizes need have the same."""
    if one.fewest_runs_each < one.most_runs_each:
        return f"{one.fewest_runs_each} to {one.most_runs_each} runs"
    return ("no results", "one run")[one.most_runs_each] if one.most_runs_each < _SEVERAL else f"{one.most_runs_each} runs"


def _machine(one: Evidence, host: Host | None, documents: Collection[str]) -> Html:
    if one.host is None:
        return join(["machine not stated"])
    name = tag("a", one.host, href=f"doc:hosts#{host_anchor(one.host)}") if host and "hosts" in documents else join([one.host])
    if host is None:
        return name
    known = ", ".join(filter(None, (host.name, host.system.get("virtualisation"))))
    return join([name, f" ({known})"])


def remarks(runs: Iterable[RunRow], but: Container[str] = ()) -> Html:
    """Return each remark once, with the runs that it is on where it is not on all; nothing where there is none. ``but`` are shown elsewhere."""
    found = [remark for remark in remarks_on(runs) if remark.note not in but]
    if not found:
        return NOTHING
    shown = [_paragraph(remark) for remark in found if not remark.is_folded]
    folded = [_paragraph(remark) for remark in found if remark.is_folded]
    if folded:
        summary = tag("summary", f"{len(folded)} remarks on how to read the published figures")
        shown.append(tag("details", summary, *folded))
    return tag("div", *shown, class_="tl-remarks", role="note")


def _paragraph(remark: Remark) -> Html:
    return tag("p", join([tag("strong", remark.runs), ": "]) if remark.runs else NOTHING, remark.note)
