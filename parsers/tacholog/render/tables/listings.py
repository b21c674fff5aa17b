"""Tables of words: what there is, runs and their logs, problems, definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tacholog.dataset.quality import MARKS
from tacholog.evidence import is_there
from tacholog.privacy.logs import saved_shown, sha256_of, withheld_words
from tacholog.render.html import NOTHING, Html, esc, join, tag, visible
from tacholog.render.marks import in_order, mark_of
from tacholog.render.named_statistics import STATISTICS
from tacholog.render.tables.hosts import host_anchor
from tacholog.render.tables.tables import Links, badge, linked_number, scroller
from tacholog.runs.manifest import RUN_FILE
from tacholog.schema.records import METRICS
from tacholog.view.comparable import Compared, compared
from tacholog.view.headlines import headline, headline_statistic
from tacholog.view.names import CONDITION_WORDS, build_words, title, words
from tacholog.view.numerals import NOT_STATED, grouped, size
from tacholog.view.rankings import newest_release
from tacholog.view.results import LogRow, ProblemRow, RunRow
from tacholog.view.run_groups import MARK as TWO_GROUPS
from tacholog.view.series import LOGICAL, LOSS, REFERENCE, Cell, Series
from tacholog.view.slugs import path_slug
from tacholog.view.views import Selection, View

_SHA_SHOWN = 12
_TOLD = {"p50": "median", "range-low": "lower end of a range", "min": "least"}
_REDACTED = (
    "The text shown here and offered for download is redacted: pseudonyms such as host-3fa94c, user-1, address-1 and path-1 stand for names that the "
    "site's owner does not show. Each stands for one original throughout the run. […] stands for words that are not known to be public. Lines that "
    "no format understands are withheld. Every number of a result, and the number of every line, is as it was written."
)


def plain_table(label: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """Return a table of words in its own scrolling region; the first cell of a row is its heading. On a phone each cell says its column itself."""
    head = tag("tr", *(tag("th", words_, scope="col", class_="tl-text") for words_ in heads))
    body = [tag("tr", tag("th", row[0], scope="row"), *map(_cell, row[1:], heads[1:])) for row in rows]
    return scroller(label, tag("table", tag("thead", head), tag("tbody", *body), class_="tl-table tl-words"))


def _cell(content: object, head: str) -> Html:
    """Write a cell; what is plain text there are words and names, and no number of a result."""
    return tag("td", content, class_="tl-text" if isinstance(content, Html) else "tl-text stat-label", data_head=head)


def runs_table(view: View, links: Links) -> Html:
    """Return every run with its logs: when, where, how it ended, and the identity of each log's bytes."""
    rows, builds = [], any(run.build for run in view.runs.values())
    for run in view.runs.values():
        logs = [log for log in view.logs if log.run == run.run]
        files = [tag("div", _log_link(run.run, log.log, links), *_checksums(run, log)) for log in logs]
        shown = tag("code", _manifest_link(run.run, links), class_="tl-run")
        built = [build_words(run.build) if run.build else null()] if builds else []
        ended = _status(run.status, run.reason)
        rows.append([shown, badge(published=run.published), run.start_time or null(), *built, run.host or null(), ended, join(files)])
    head = ("build",) if builds else ()
    return plain_table("Runs", ("run", "kind", "started", *head, "host", "status", "raw log and its SHA-256"), rows)


def _checksums(run: RunRow, log: LogRow) -> Iterator[Html]:
    """Yield the SHA-256 of a log, and of the file that is offered where names were taken out of it: only that one can be checked."""
    yield tag("code", (log.sha256 or "")[:_SHA_SHOWN], title=f"SHA-256 of the log as it was written: {log.sha256}")
    offered = offered_sha256(run, log)
    if offered != log.sha256:
        yield tag("span", "offered: ", tag("code", offered[:_SHA_SHOWN], title=f"SHA-256 of the redacted file that is offered: {offered}"))


def offered_sha256(run: RunRow, log: LogRow) -> str:
    """Return the SHA-256 of the file that is offered for a log: its own, or that of its copy without names."""
    if run.root is None or log.sha256 is None:
        return log.sha256 or ""
    return sha256_of(Path(run.root), log.log) or log.sha256


def _manifest_link(run: str, links: Links) -> Html:
    return tag("a", run, href=f"root:{raw_name(run, RUN_FILE)}", title="The run's manifest") if links.logs is not None else esc(run)


def raw_name(run: str, log: str) -> str:
    """Return where the raw file is offered. It ends in .txt whatever its name, so that no browser takes a stranger's file for a page."""
    return f"raw/{path_slug(f'{run}/{log}')}.txt"


def log_facts(view: View, run: str, log: str, documents: Collection[str] = ()) -> Html:
    """Return what is known of one log, and the raw file for download; the machine is linked where ``documents`` has a page of machines."""
    found = next((one for one in view.logs if one.run == run and one.log == log), None)
    if found is None:
        return NOTHING
    root = view.runs[run].root
    readable = root is not None and is_there(Path(root), log)
    offered = offered_sha256(view.runs[run], found)
    changed = offered != (found.sha256 or "")
    pairs = [
        ("run", tag("code", tag("a", run, href=f"root:{raw_name(run, RUN_FILE)}", title="The run's manifest"))),
        ("machine", _machine(view, run, documents)),
        ("format", found.format or null()),
        ("size", quantity_bytes(found.bytes)),
        ("lines", str(found.lines) if found.lines is not None else null()),
        ("SHA-256 of the original" if changed else "SHA-256", tag("code", found.sha256 or NOT_STATED, class_="tl-sha")),
        *([("SHA-256 of the file offered here", tag("code", offered, class_="tl-sha"))] if changed else []),
        ("raw file", tag("a", log, href=f"root:{raw_name(run, log)}", download=Path(log).name) if readable else "cannot be read"),
    ]
    facts = tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs), class_="tl-facts")
    shown = saved_shown(Path(root), log) if root is not None else None
    notes = [_REDACTED] if changed else []
    notes += [f"{withheld_words(shown.withheld)}."] if shown and shown.withheld else []
    return join([facts, *(tag("p", note, class_="tl-note") for note in notes)])


def _machine(view: View, run: str, documents: Collection[str]) -> Html:
    host = view.runs[run].host
    if host is None:
        return null()
    return tag("a", host, href=f"doc:hosts#{host_anchor(host)}") if host in view.hosts and "hosts" in documents else esc(host)


def problems_table(view: View, links: Links) -> Html:
    """Return every line, log, manifest and folder that could not be read."""
    if not view.problems:
        return tag("p", "Every line of every log was understood.")
    logs = {(log.run, log.log) for log in view.logs}
    rows = [
        [
            _place(problem, links if (problem.run, problem.log) in logs else Links()),
            tag("code", problem.run),
            problem.kind,
            problem.reason or "",
            tag("code", visible(problem.text or "")),
        ]
        for problem in view.problems
    ]
    return plain_table("Problems", ("where", "run", "kind", "reason", "text"), rows)


def bad_runs_table(view: View) -> Html:
    """Return the runs that did not end well, and what could not be read at all."""
    bad = [run for run in view.runs.values() if run.status not in ("ok", None)]
    if not bad and not view.unread:
        return tag("p", "No run ended badly.")
    rows = [[tag("code", run.run), run.system or null(), _status(run.status, None), run.reason or null()] for run in bad]
    rows += [[tag("code", lost.run or lost.log), null(), _status("not read", None), lost.reason or null()] for lost in view.unread]
    return plain_table("Runs that did not end well", ("run", "system", "status", "reason"), rows)


def marks_table(view: View) -> Html:
    """Return every mark: how many numbers carry it, and its sentence."""
    counts = Counter(mark for fact in view.results for mark in fact.marks)
    counts[TWO_GROUPS] = _in_two_groups(view).total()
    rows = [[_mark_words(name), _count(counts[name]), tag("span", mark.sentence, class_="stat-limit")] for name, mark in MARKS.items()]
    return plain_table("Quality marks", ("mark", "numbers", "why"), rows)


def doubts_table(view: View, pages: Mapping[tuple[str, str], str]) -> Html:
    """Return the marks that any number carries, the pages on which those numbers are, and why they are not to be trusted blindly."""
    places: dict[str, Counter[tuple[str, str]]] = {}
    for fact in view.results:
        for mark in fact.marks:
            places.setdefault(mark, Counter())[fact.run.system or NOT_STATED, fact.conditions.transport or NOT_STATED] += 1
    if grouped_ := _in_two_groups(view):
        places[TWO_GROUPS] = grouped_
    if not places:
        return tag("p", "No number carries a mark.")
    rows = [
        [_mark_words(name), _count(places[name].total()), tag("span", mark_of(name).sentence, class_="stat-limit"), _places(places[name], pages)]
        for name in in_order(places)
    ]
    return plain_table("Numbers with marks", ("mark", "numbers", "why", "where"), rows)


def _in_two_groups(view: View) -> Counter[tuple[str, str]]:
    """Count the numbers of runs that fall into two groups, by system and transport: a mark of several runs together, which none carries alone."""
    found: Counter[tuple[str, str]] = Counter()
    for one in compared(view, {}):
        for metric, statistic in one.series.statistics():
            found[one.system, one.transport] += sum(len(cell.results) for cell in one.series.cells(metric, statistic).values() if cell.groups)
    return +found


def _mark_words(name: str) -> Html:
    return join([tag("span", mark_of(name).sign, class_="tl-sign"), " ", mark_of(name).title])


def _places(counts: Counter[tuple[str, str]], pages: Mapping[tuple[str, str], str]) -> Html:
    """Return the systems with their transports, each with its count and linked to its page."""
    by_system: dict[str, list[Html]] = {}
    for (system, transport), count in sorted(counts.items()):
        document = pages.get((system, transport))
        named = tag("a", transport, href=f"doc:{document}") if document else esc(transport)
        by_system.setdefault(system, []).append(join([named, "\u00a0(", _count(count), ")"]))
    return join([tag("div", f"{system}: ", tag("span", join(found, ", ")), class_="tl-wraps") for system, found in by_system.items()])


def metrics_table() -> Html:
    """Return the registry of metrics: unit, which direction is better."""
    better = {"lower": "lower is better", "higher": "higher is better", None: "neither"}
    rows = [[metric.words, tag("code", name), _unit_words(metric.unit), better[metric.better]] for name, metric in METRICS.items()]
    return plain_table("Metrics", ("metric", "name in the data", "unit in the data", "direction"), rows)


def conditions_table() -> Html:
    """Return every condition that the schema knows, and what it means."""
    return plain_table(
        "Conditions", ("condition", "name in the data", "what it says"), [[title(n), tag("code", n), w] for n, w in CONDITION_WORDS.items()]
    )


def statistics_table() -> Html:
    """Return the statistics that pages show beside the values of runs."""
    rows = [[one.name, tag("code", name), one.sentence] for name, one in STATISTICS.items()]
    return plain_table("Statistics", ("statistic", "class of its element", "what it says"), rows)


def definitions_table() -> Html:
    """Return the definitions of metrics by tool: who starts the clock, who stops it, what counts."""
    from tacholog.formats.registry import formats

    rows = [
        [name, tag("code", definition), sentence]
        for name, format_ in sorted(formats().items())
        for definition, sentence in getattr(format_, "DEFINITIONS", {}).items()
    ]
    return plain_table("Definitions by tool", ("format", "definition", "what it means"), rows)


def shared_conditions(view: View) -> Html:
    """Return the conditions that all numbers of a view share; those that differ are named, and stand in the series' labels."""
    found = [fact.conditions for fact in view.summaries()]
    pairs: list[tuple[str, object]] = []
    for name in CONDITION_WORDS:
        values = {getattr(conditions, name) for conditions in found}
        if len(values) > 1:
            known = [*sorted({words(name, value) for value in values if value is not None}), *([NOT_STATED] if None in values else [])]
            pairs.append((title(name), tag("em", f"differs: {'; '.join(known)}")))
        elif values:
            value = next(iter(values))
            pairs.append((title(name), words(name, value) if value is not None else null()))
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs), class_="tl-facts")


def overview(view: View, pages: dict[tuple[str, str], str], links: Links) -> Html:
    """Return systems and transports at a glance. ``pages`` maps them to their documents."""
    found: dict[tuple[str, str], list[Compared]] = {}
    for one in compared(view, pages):
        found.setdefault((one.system, one.transport), []).append(one)
    rows = [_overview_row(view, pair, document, found.get(pair, ()), links) for pair, document in pages.items()]
    best = ("lowest latency, newest release", "highest goodput, newest release, loss up to 1\u202f%")
    heads = ("transport", "system", "kind", *best, "runs", "numbers, all releases", "hosts")
    return plain_table("Systems and transports", heads, rows)


def _overview_row(view: View, pair: tuple[str, str], document: str, members: Sequence[Compared], links: Links) -> list[object]:
    """``members`` is all that the page of the transport shows. Each best figure names its release: the newest in which that metric was measured."""
    system, transport = pair
    part = view.only(Selection(system=system, transport=transport))
    kinds = sorted({run.published for run in part.runs.values()})
    return [
        tag("a", transport, href=f"doc:{document}"),  # the heading of its row
        system,
        join([badge(published=published) for published in kinds], " "),
        _best(members, "latency", "ns", links),
        _best(members, "goodput", "bit_per_s", links),
        _count(len(part.runs)),
        _count(len(part.results)),
        ", ".join(sorted({run.host or NOT_STATED for run in part.runs.values()})),
    ]


def _count(number: int) -> Html:
    return tag("span", grouped(number), class_="stat-count", data_v=number)


def null() -> Html:
    """Return the words for what nobody states."""
    return tag("span", NOT_STATED, class_="tl-null")


def quantity_bytes(count: int | None) -> object:
    """Return a file's size."""
    return null() if count is None else size(count)


def _best(members: Sequence[Compared], metric: str, unit: str, links: Links) -> Html:
    """Return the best number of the newest release, named with its size: of latency the lowest, of goodput the highest that bytes moved for."""
    measured = [one for one in members if _candidates(one.series, metric)]
    found = [(*each, one) for one in newest_release(measured) for each in _candidates(one.series, metric)]
    if not found:
        return tag("span", "not measured", class_="tl-null")
    found = [one for one in found if REFERENCE not in one[1].marks] or found
    value, cell, told, of = (min if metric == "latency" else max)(found, key=lambda one: one[0])
    version = dict(of.series.key)["system_version"] or dict(of.series.key)["release"]
    released = f", {version}" if version else f", release {NOT_STATED}"
    return tag(
        "span",
        linked_number(cell, unit, links),
        tag("span", f" {cell.size_words}{told}{released}", class_="tl-muted stat-label"),
        data_v=f"{value:.12g}",
    )


def _candidates(series: Series, metric: str) -> list[tuple[float, Cell, str]]:
    """Return the numbers that may be the best: each with the value that it is ranked by, and what stands beside it."""
    if metric == "goodput" and series.has_mark(LOGICAL):
        return []
    cells = headline(series, metric)
    # A rate that most messages were lost at is no headline, unless there is no other.
    whole = {at: cell for at, cell in cells.items() if LOSS not in cell.marks}
    told = _told(series, metric, headline_statistic(series, metric) or "") if whole else ", more than 1\u202f% lost"
    return [(cell.value, cell, told) for cell in (whole or cells).values() if cell.value is not None]


def _told(series: Series, metric: str, statistic: str) -> str:
    """Return what must stand beside a number so that nobody compares a round trip with half of one, or a mean with a median."""
    if metric != "latency":
        return ""
    basis = dict(series.key).get("basis")
    parts = [_TOLD.get(statistic, statistic), words("basis", basis) if basis else "basis not stated"]
    return "".join(f", {part}" for part in [*parts, *(["of a reference"] if series.has_mark(REFERENCE) else [])])


def _log_link(run: str, log: str, links: Links) -> Html:
    link = links.to_log(run, log)
    return tag("a", log, href=link) if link else esc(log)


def _place(problem: ProblemRow, links: Links) -> Html:
    """Return the place of a problem as ``log:line``, linked where the log has a page."""
    name = problem.log or NOT_STATED
    link = links.to_log(problem.run, name)
    line = f"#L{problem.line}" if problem.line else ""
    shown = f"{name}:{problem.line}" if problem.line else name
    return tag("a", shown, href=f"{link}{line}") if link else esc(shown)


def _status(status: str | None, reason: str | None) -> Html:
    if status is None:
        return null()
    return tag("span", status, class_=f"tl-status tl-status-{'ok' if status == 'ok' else 'bad'}", title=reason)


def _unit_words(unit: str) -> str:
    return {"ratio": "share, 0 to 1"}.get(unit, unit.replace("_per_", "/").replace("_", " "))
