"""Lines that state what numbers are based on: release, campaign, machine and runs, and the remarks of the persons who measured them."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator

from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.tables.hosts import host_anchor
from tacholog.runs.manifest import Host
from tacholog.view.names import load_words
from tacholog.view.portions import Evidence
from tacholog.view.remarks import Remark, remarks_on
from tacholog.view.results import ResultRow, RunRow
from tacholog.view.views import View

_MOST_REMARKS = 2
_SEVERAL = 2
_LIMITS = {"kept": "other load within its limits", "exceeded": "other load beyond its limits"}


def evidence_lines(evidence: Iterable[Evidence], view: View, documents: Collection[str] = ()) -> Html:
    """Return a line for each set of runs: release, machine, days and number of runs. The machine is linked if ``documents`` contains its page."""
    return join([tag("p", join(_parts(runs_evidence, view, documents), ", "), ".", class_="tl-evidence stat-label") for runs_evidence in evidence])


def load_line(results: Iterable[ResultRow]) -> Html:
    """Return a sentence that says whether the system was loaded while it was measured."""
    modes = {(result.metric == "latency", result.conditions.load_mode) for result in results}
    of_latencies = [mode for is_latency, mode in modes if is_latency]
    words = load_words(of_latencies or [mode for _, mode in modes], has_latency=bool(of_latencies))
    return tag("p", words, class_="tl-evidence") if words else NOTHING


def evidence_remarks(evidence: Iterable[Evidence], view: View) -> Html:
    """Return the remarks of `common_remarks` as HTML. The page shows all other remarks in its section on the measurement."""
    remarks = common_remarks(evidence, view)
    return tag("div", *(tag("p", remark.note) for remark in remarks), class_="tl-remarks", role="note") if remarks else NOTHING


def common_remarks(evidence: Iterable[Evidence], view: View) -> list[Remark]:
    """Return at most `_MOST_REMARKS` remarks that apply to all of these runs."""
    names = {name for runs_evidence in evidence for name in runs_evidence.runs}
    return [remark for remark in remarks_on(view.runs[name] for name in view.runs if name in names) if not remark.runs][:_MOST_REMARKS]


def _parts(evidence: Evidence, view: View, documents: Collection[str]) -> Iterator[Html | str]:
    release = f"Release {evidence.release}" if evidence.release else f"Version {evidence.version}" if evidence.version else "Release not stated"
    yield tag("strong", release)
    if evidence.published:
        yield "published by the vendor, not measured here"
    elif evidence.campaign:
        yield f"campaign {evidence.campaign}"
    yield _machine(evidence, view.hosts.get(evidence.host or ""), documents)
    if evidence.last_day:
        yield evidence.last_day if evidence.first_day == evidence.last_day else f"{evidence.first_day} to {evidence.last_day}"
    yield _runs(evidence)
    if evidence.is_quick and evidence.runs_each:
        yield "a quick look"
    if evidence.limits in _LIMITS:
        yield _LIMITS[evidence.limits]


def _runs(evidence: Evidence) -> str:
    """Return how many runs there are, and how many of them gave each number if there are fewer."""
    fewest, most, total = evidence.fewest_runs_each, evidence.most_runs_each, len(evidence.runs)
    if not most:
        return "no results"
    duration = f" of {evidence.duration_s:g} s" if evidence.duration_s else ""
    each = f"{fewest} to {most}" if fewest < most else "one" if most < _SEVERAL else str(most)
    return f"{'one run' if total < _SEVERAL else f'{total} runs'}{duration}{f', {each} for each number' if fewest < total else ''}"


def _machine(evidence: Evidence, host: Host | None, documents: Collection[str]) -> Html:
    if evidence.host is None:
        return join(["machine not stated"])
    name = tag("a", evidence.host, href=f"doc:hosts#{host_anchor(evidence.host)}") if host and "hosts" in documents else join([evidence.host])
    if host is None:
        return name
    about = ", ".join(part for part in (host.name, host.system.get("virtualisation")) if part and part != evidence.host)
    return join([name, f" ({about})"]) if about else name


def remarks(runs: Iterable[RunRow], but: Container[str] = ()) -> Html:
    """Return each remark once, with the names of its runs if it does not apply to all runs.

    A remark is left out if its text is in ``but``, because the page already has it.
    """
    remarks_to_show = [remark for remark in remarks_on(runs) if remark.note not in but]
    if not remarks_to_show:
        return NOTHING
    paragraphs = [_paragraph(remark) for remark in remarks_to_show if not remark.is_folded]
    folded = [_paragraph(remark) for remark in remarks_to_show if remark.is_folded]
    if folded:
        summary = tag("summary", f"{len(folded)} remarks on how to read the published figures")
        paragraphs.append(tag("details", summary, *folded))
    return tag("div", *paragraphs, class_="tl-remarks", role="note")


def _paragraph(remark: Remark) -> Html:
    return tag("p", join([tag("strong", remark.runs), ": "]) if remark.runs else NOTHING, remark.note)
