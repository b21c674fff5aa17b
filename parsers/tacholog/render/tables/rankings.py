"""The rankings as HTML: a section a machine, a table a group of comparable series, and below all what is ranked nowhere."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from urllib.parse import urlencode

from tacholog.render.html import NOTHING, Html, esc, folded, join, tag
from tacholog.render.marks import Seen, mark_notes
from tacholog.render.remarks import remarks
from tacholog.render.tables.groups import group_table
from tacholog.render.tables.hosts import host_anchor
from tacholog.render.tables.tables import Links, badge
from tacholog.runs.manifest import Host
from tacholog.schema.metrics import METRICS
from tacholog.view.names import build_words
from tacholog.view.numerals import NOT_STATED
from tacholog.view.page_index import PageIndex
from tacholog.view.ranking_groups import common_conditions, no_best_words, runs_of_all
from tacholog.view.rankings import RankedGroup, Unranked, build_of, rankings_of
from tacholog.view.remarks import caveats
from tacholog.view.results import RunRow
from tacholog.view.views import View

_HOSTS, _CHOOSER = "hosts", "compare"  # documents of our own site
_OPEN = (2, 1, 1, 1)  # tables of the first machine, of the second and so on; all others are folded
_ONE_TRANSPORT = "Only one transport was measured: there is nothing to rank it against. These are its numbers."
_NOT_ALIKE = "Nothing can be ranked: no two transports were measured on the same machine, in the same way and in the same campaign."


def rankings(view: View, pages: PageIndex, links: Links, anchor: str, documents: Collection[str] = ()) -> Html:
    """Return a table for each machine and each number that more than one series of it can be ranked by; of a single transport, its numbers.

    Args:
        view: what to show.
        pages: which page shows what.
        links: where the logs are.
        anchor: starts every id.
        documents: which of the pages that are linked to (machines, compare) there are.
    """
    found = rankings_of(view, pages)
    seen: Seen = {}
    shown = [] if found.hosts else [tag("p", _ONE_TRANSPORT if found.alone else _NOT_ALIKE, class_="tl-null")]
    for place, host in enumerate(found.hosts or found.alone):
        tables = [_group(ranked, links, anchor, seen, documents) for ranked in host.tables]
        are_open = _OPEN[place] if place < len(_OPEN) else 0
        tables[are_open:] = [folded(_title(ranked), table) for ranked, table in zip(host.tables[are_open:], tables[are_open:], strict=True)]
        head = machine_heading(host.host, view.hosts.get(host.host), host.published, documents, host.runs())
        shown.append(tag("section", head, remarks(host.runs()), *tables, class_="tl-glance"))
    return join([*shown, unranked_list(found.unranked), mark_notes(seen, anchor)])


def unranked_list(found: Sequence[Unranked]) -> Html:
    """Return a list of the systems and transports that no table shows, by the reason; nothing where all are shown."""
    if not found:
        return NOTHING
    items = [tag("li", f"{one.names}: {one.reason}.") for one in found]
    return tag("section", tag("p", tag("strong", "Not ranked")), tag("ul", *items), class_="tl-unlisted")


def machine_heading(name: str, host: Host | None, published: Collection[bool], documents: Collection[str], runs: Iterable[RunRow] = ()) -> Html:
    """Return the heading of a machine: its name, whether figures are own or published ones, and what a reader must know of it.

    Args:
        name: the id of the machine.
        host: the machine; ``None`` if nobody describes it.
        published: whether figures are published ones: one or both.
        documents: which pages there are.
        runs: the runs that are shown of it.
    """
    known = host.name if host else name
    words = tag("a", known, href=f"doc:{_HOSTS}#{host_anchor(name)}") if host and _HOSTS in documents else esc(known)
    also = tag("code", name) if known != name else NOTHING
    caveat = caveats(host, runs)
    about = tag("span", caveat, class_="tl-caveat") if caveat else NOTHING
    return tag("h2", join([words, also, *(badge(published=kind) for kind in sorted(published)), about], " "), class_="tl-machine")


def _group(ranked: RankedGroup, links: Links, anchor: str, seen: Seen, documents: Collection[str]) -> Html:
    """Return the table of a group, with what holds for all of it above and where to go on from it below."""
    table = group_table(ranked.group, ranked.members, ranked.sizes, links, anchor, seen)
    return join([_caption(ranked), table, _remark(ranked), _more(ranked, documents)])


def _title(ranked: RankedGroup) -> Html:
    """Return the heading of a table that is folded."""
    count = tag("span", f"{len(ranked.members)} series", class_="tl-muted stat-label")
    return tag("h3", ranked.group.words_of(ranked.members), " ", count)


def _caption(ranked: RankedGroup) -> Html:
    systems = list(dict.fromkeys(one.system for one in ranked.members))
    of = f" of {systems[0]}" if len(systems) == 1 else ""
    words = f"{of}: {METRICS[ranked.group.metric].better} is better. Load {ranked.group.load}, definition {ranked.group.definition}."
    if counted := runs_of_all(ranked.group, ranked.members, ranked.sizes):
        two = any(ranked.group.cells(one)[at].groups for one in ranked.members for at in ranked.sizes if at in ranked.group.cells(one))
        words += f" Each number is the median of {counted}{', or of one of their two groups' if two else ''}."
    return tag("p", tag("strong", ranked.group.words_of(ranked.members)), words, _campaign(ranked), class_="tl-ranked")


def _campaign(ranked: RankedGroup) -> str:
    """Return what all runs share so that they can be ranked: the campaign, and for each system one build."""
    of_build: dict[str, set[str]] = {}
    for one in ranked.members:
        if build := build_of(one):
            of_build.setdefault(build_words(str(build)), set()).add(one.system)
    whole = len(of_build) == 1 and len(next(iter(of_build.values()))) > 1  # a campaign with one program over several libraries
    built = "; ".join(f"{'all' if whole else ', '.join(sorted(systems))} built from {build}" for build, systems in sorted(of_build.items()))
    campaign = ranked.group["campaign"]
    named = f"campaign {campaign}" if campaign else ""
    together = ", ".join(filter(None, (named, built)))
    common = common_conditions(ranked.members)
    return "".join((f" {together[0].upper()}{together[1:]}." if together else "", f" In common: {common}." if common else ""))


def _remark(ranked: RankedGroup) -> Html:
    """Return why no best is highlighted, if so, and which sizes the table leaves out. A series alone is not ranked, so it needs no such reason."""
    no_best = no_best_words(ranked.group, ranked.members, ranked.sizes) if ranked.count > 1 else ""
    left_out = f"Sizes that are not in the table, because fewer series have them: {ranked.left_out}." if ranked.left_out else ""
    notes = " ".join(filter(None, (no_best, left_out)))
    return tag("p", notes, class_="tl-note") if notes else NOTHING


def _more(ranked: RankedGroup, documents: Collection[str]) -> Html:
    shown = len(ranked.members)
    left_out = f"The best {shown} of {ranked.count} series are shown. " if ranked.count > shown else ""
    if _CHOOSER not in documents:
        return tag("p", left_out, class_="tl-note") if left_out else NOTHING
    basis = ranked.group["basis"]
    metric = f"{ranked.group.metric}.{ranked.group.statistic}" + (f"@{basis}" if basis else "")
    chosen = {"metric": metric, "host": ranked.group.host} | {name: value or NOT_STATED for name, value in ranked.members[0].labels}
    link = tag("a", "Choose sizes and a baseline", href=f"doc:{_CHOOSER}?{urlencode(chosen)}")
    return tag("p", left_out, link, ".", class_="tl-note")
