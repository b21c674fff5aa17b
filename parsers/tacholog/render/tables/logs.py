"""Runs and their logs: what is known of each, what could not be read, and which file is offered for download."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import PurePath
from typing import NamedTuple

from tacholog.render.html import NOTHING, Html, esc, join, tag, visible
from tacholog.render.links import Links
from tacholog.render.table import first_rows, null, plain_table
from tacholog.render.tables.hosts import host_anchor
from tacholog.render.tables.results import badge
from tacholog.runs.labels import label_name, labels_of
from tacholog.runs.manifest import RUN_FILE
from tacholog.runs.moments import has_zone
from tacholog.runs.problems import ALTERED
from tacholog.slugs import path_slug
from tacholog.view.names import build_words
from tacholog.view.numerals import NOT_STATED, size
from tacholog.view.page_index import RAW
from tacholog.view.remarks import caveats
from tacholog.view.results import LogRow, ProblemRow, RunRow
from tacholog.view.views import View, differing_labels, manifest_of

_SHA_SHOWN = 12
RUNS_AT_ONCE = 20  # on a page that can fold the others; a row has some 20 elements
_FEW = 5  # more than that are not worth a click
_MOST_PROBLEMS = 500
_REDACTED = (
    "This log is redacted, here and in the file for download. Pseudonyms such as host-3fa94c and user-1 stand for names, […] for words that are not "
    "known to be public; lines that no format recognises are withheld. Numbers of results and line numbers are unchanged."
)


class OfferedLog(NamedTuple):
    """The file that a site offers for a log: its SHA-256, whether it can be read, and which lines are withheld, in words."""

    sha256: str
    is_readable: bool = True
    withheld: str = ""


FindOfferedLog = Callable[[RunRow, LogRow], OfferedLog]  # looks the file up: nothing in this room reads files
MoveRowsOut = Callable[[str, Html], Html]  # takes the end of a list, in words and as HTML, out of the page, and returns what leads to it


def runs_table(view: View, links: Links, offer: FindOfferedLog, rest: MoveRowsOut | None = None) -> Html:
    """Return every run with its logs: when and where it was made, how it ended, and the SHA-256 of each log.

    ``rest`` takes all but the first runs out of the page.
    """
    rows, builds = [], any(run.build for run in view.runs.values())
    labels = differing_labels(view.runs.values())
    for run in view.runs.values():
        logs = view.logs_of.get(run.run, ())
        processes = {entry.file: entry.process for entry in manifest.logs} if (manifest := manifest_of(run)) else {}
        files = [tag("div", _log_link(run.run, log.log, links), *_process(processes.get(log.log)), *_checksums(log, offer(run, log))) for log in logs]
        shown = tag("code", _manifest_link(run.run, links), class_="tl-run")
        built = [build_words(run.build) if run.build else null()] if builds else []
        ended = _status(run.status, run.reason)
        given = labels_of(run.labels)
        labelled = [given.get(field) or null() for field in labels]
        rows.append([shown, *labelled, badge(published=run.published), _when(run.start_time), *built, run.host or null(), ended, join(files)])
    head = ("build",) if builds else ()
    heads = ("run", *map(label_name, labels), "kind", "started", *head, "host", "status", "raw log and its SHA-256")
    first = RUNS_AT_ONCE if rest and len(rows) > RUNS_AT_ONCE + _FEW else 0
    listed, more = first_rows(rows[first:], "runs", "the CSV file of this page names all")
    if rest is None or not first:
        return plain_table("Runs", heads, listed) + more
    return plain_table("Runs", heads, rows[:first]) + rest(f"{len(rows) - first} more runs", plain_table("More runs", heads, listed) + more)


def _process(name: str | None) -> Iterator[Html]:
    """Yield the process that wrote a log, if the run has several."""
    if name:
        yield tag("span", f" of {name} ", class_="tl-muted")


def _checksums(log: LogRow, offered: OfferedLog) -> Iterator[Html]:
    """Yield the SHA-256 of a log and, if the log is redacted, of the file that is offered: readers can only check the latter."""
    yield tag("code", (log.sha256 or "")[:_SHA_SHOWN], title=f"SHA-256 of the log as it was read: {log.sha256}")
    if log.sha256 and offered.sha256 != log.sha256:
        title = f"SHA-256 of the redacted file that is offered: {offered.sha256}"
        yield tag("span", "offered: ", tag("code", offered.sha256[:_SHA_SHOWN], title=title))


def _manifest_link(run: str, links: Links) -> Html:
    return tag("a", run, href=f"root:{raw_name(run, RUN_FILE)}", title="The run's manifest") if links.logs is not None else esc(run)


def raw_name(run: str, file: str) -> str:
    """Return the address of a manifest. It always ends in .txt, so that no browser displays a file from outside as a page."""
    return f"{RAW}/{path_slug(f'{run}/{file}')}.txt"


def raw_log_name(sha256: str) -> str:
    """Return the address of a compressed raw log. It is the same in all sites that offer the same text."""
    return f"{RAW}/{sha256[:2]}/{sha256}.gz"


def log_facts(view: View, run: str, log: str, offer: FindOfferedLog, documents: Collection[str] = ()) -> Html:
    """Return the facts of one log, and a link to its raw file. The machine is linked if ``documents`` contains the page of machines."""
    found = next((row for row in view.logs if row.run == run and row.log == log), None)
    if found is None:
        return NOTHING
    offered = offer(view.runs[run], found)
    is_redacted = bool(found.sha256) and offered.sha256 != found.sha256
    pairs = [
        ("run", tag("code", tag("a", run, href=f"root:{raw_name(run, RUN_FILE)}", title="The run's manifest"))),
        ("machine", _machine(view, run, documents)),
        *_written_by(view.runs[run], log),
        ("format", found.format or null()),
        ("size", size(found.bytes) if found.bytes is not None else null()),
        ("lines", str(found.lines) if found.lines is not None else null()),
        ("SHA-256 of the original" if is_redacted else "SHA-256", tag("code", found.sha256 or NOT_STATED, class_="tl-sha")),
        *([("SHA-256 of the file offered here", tag("code", offered.sha256, class_="tl-sha"))] if is_redacted else []),
        ("raw file", _download(log, offered) if offered.is_readable and offered.sha256 else "cannot be read"),
    ]
    facts = tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs), class_="tl-facts")
    altered = [problem for problem in view.problems if (problem.run, problem.log, problem.kind) == (run, log, ALTERED)]
    notes = [f"This is not the log that was recorded: {problem.reason}." for problem in altered]
    notes += [_REDACTED] if is_redacted else []
    notes += [f"{offered.withheld}."] if offered.withheld else []
    return join([facts, *(tag("p", note, class_="tl-note") for note in notes)])


def _download(log: str, offered: OfferedLog) -> Html:
    name = f"{PurePath(log).name}.gz"
    return tag("a", name, href=f"root:{raw_log_name(offered.sha256)}", download=name)


def _written_by(run: RunRow, log: str) -> Iterator[tuple[str, str]]:
    """Yield the process that wrote a log, and whether it holds results, where the manifest of the run says it."""
    manifest = manifest_of(run)
    entry = next((entry for entry in manifest.logs if entry.file == log), None) if manifest else None
    if manifest is None or entry is None:
        return
    if entry.process:
        role = next((f" ({command.role})" for command in manifest.commands if command.name == entry.process), "")
        yield "process", f"{entry.process}{role}"
    if not entry.results:
        yield "results", "none: this output is kept, and no results are read from it"


def _machine(view: View, run: str, documents: Collection[str]) -> Html:
    host = view.runs[run].host
    if host is None:
        return null()
    name = tag("a", host, href=f"doc:hosts#{host_anchor(host)}") if host in view.hosts and "hosts" in documents else esc(host)
    caveat = caveats(view.hosts.get(host), [view.runs[run]])
    return join([name, tag("span", caveat, class_="tl-caveat")], " ") if caveat else name


def problems_table(view: View, links: Links) -> Html:
    """Return every line, log, manifest and folder that could not be read."""
    if not view.problems:
        return tag("p", "All lines of all logs were recognised.")
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
    listed, more = first_rows(rows, "lines and files", "the pages of the logs mark all lines", _MOST_PROBLEMS)
    return plain_table("Problems", ("where", "run", "kind", "reason", "text"), listed) + more


def bad_runs_table(view: View) -> Html:
    """Return the runs that failed or were cut off, and the logs and folders that could not be read at all."""
    bad = [run for run in view.runs.values() if run.status not in ("ok", None)]
    if not bad and not view.unread:
        return tag("p", "No run is known to have failed.")
    rows = [[tag("code", run.run), run.system or null(), _status(run.status, None), run.reason or null()] for run in bad]
    rows += [[tag("code", log.run or log.log), null(), _status("not read", None), log.reason or null()] for log in view.unread]
    listed, more = first_rows(rows, "runs", "the page of each transport says how its runs ended")
    return plain_table("Runs that did not end well", ("run", "system", "status", "reason"), listed) + more


def _log_link(run: str, log: str, links: Links) -> Html:
    link = links.to_log(run, log)
    return tag("a", log, href=link) if link else esc(log)


def _place(problem: ProblemRow, links: Links) -> Html:
    """Return the place of a problem as ``log:line``, linked if the log has a page."""
    name = problem.log or NOT_STATED
    link = links.to_log(problem.run, name)
    line = f"#L{problem.line}" if problem.line else ""
    shown = f"{name}:{problem.line}" if problem.line else name
    return tag("a", shown, href=f"{link}{line}") if link else esc(shown)


def _when(start_time: str | None) -> Html | str:
    if start_time is None:
        return null()
    return start_time if has_zone(start_time) else f"{start_time} (no zone stated, taken as UTC)"


def _status(status: str | None, reason: str | None) -> Html:
    if status is None:
        return null()
    return tag("span", status, class_=f"tl-status tl-status-{'ok' if status == 'ok' else 'bad'}", title=reason)
