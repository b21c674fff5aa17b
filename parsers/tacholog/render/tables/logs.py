"""Runs and their logs: the facts about each run, the problems in reading its logs, and the files for download."""

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
RUNS_AT_ONCE = 20  # the number of unfolded runs on a page; a row has about 20 elements
_FEW = 5  # If at most this number of runs would be folded, they stay visible.
_MOST_PROBLEMS = 500
_REDACTED = (
    "This log is redacted, here and in the file for download. Pseudonyms such as host-3fa94c and user-1 stand for names, […] for words that are not "
    "known to be public; lines that no format recognises are withheld. Numbers of results and line numbers are unchanged."
)


class OfferedLog(NamedTuple):
    """The file that a site offers for a log: its SHA-256, whether it is readable, and a sentence on withheld lines."""

    sha256: str
    is_readable: bool = True
    withheld: str = ""


FindOfferedLog = Callable[[RunRow, LogRow], OfferedLog]  # The caller provides this function, because this package reads no files.
MoveRowsOut = Callable[[str, Html], Html]  # moves the end of a list (title, HTML) out of the page, and returns the link to it


def runs_table(view: View, links: Links, find_log: FindOfferedLog, move_rows_out: MoveRowsOut | None = None) -> Html:
    """Return a table of all runs with their logs: start, machine, status, and the SHA-256 of each log.

    ``find_log`` returns the offered file of a log. ``move_rows_out`` moves all but the first runs to another page.
    """
    rows, builds = [], any(run.build for run in view.runs.values())
    labels = differing_labels(view.runs.values())
    for run in view.runs.values():
        logs = view.logs_of.get(run.run, ())
        processes = {entry.file: entry.process for entry in manifest.logs} if (manifest := manifest_of(run)) else {}
        files = [
            tag("div", _log_link(run.run, log.log, links), *_process_note(processes.get(log.log)), *_checksums(log, find_log(run, log)))
            for log in logs
        ]
        run_name = tag("code", _manifest_link(run.run, links), class_="tl-run")
        built = [build_words(run.build) if run.build else null()] if builds else []
        ended = _status(run.status, run.reason)
        run_labels = labels_of(run.labels)
        labelled = [run_labels.get(field) or null() for field in labels]
        rows.append([run_name, *labelled, badge(published=run.published), _when(run.start_time), *built, run.host or null(), ended, join(files)])
    head = ("build",) if builds else ()
    heads = ("run", *map(label_name, labels), "kind", "started", *head, "host", "status", "raw log and its SHA-256")
    first = RUNS_AT_ONCE if move_rows_out and len(rows) > RUNS_AT_ONCE + _FEW else 0
    listed, more = first_rows(rows[first:], "runs", "the CSV file of this page lists all")
    if move_rows_out is None or not first:
        return plain_table("Runs", heads, listed) + more
    return plain_table("Runs", heads, rows[:first]) + move_rows_out(f"{len(rows) - first} more runs", plain_table("More runs", heads, listed) + more)


def _process_note(name: str | None) -> Iterator[Html]:
    if name:
        yield tag("span", f" of {name} ", class_="tl-muted")


def _checksums(log: LogRow, offered: OfferedLog) -> Iterator[Html]:
    yield tag("code", (log.sha256 or "")[:_SHA_SHOWN], title=f"SHA-256 of the log as it was read: {log.sha256}")
    # Readers can check only the offered file.
    if log.sha256 and offered.sha256 != log.sha256:
        title = f"SHA-256 of the redacted file that is offered: {offered.sha256}"
        yield tag("span", "offered: ", tag("code", offered.sha256[:_SHA_SHOWN], title=title))


def _manifest_link(run: str, links: Links) -> Html:
    return tag("a", run, href=f"root:{raw_name(run, RUN_FILE)}", title="The run's manifest") if links.logs is not None else esc(run)


def raw_name(run: str, file: str) -> str:
    """Return the address of a manifest. It always ends in .txt, so that no browser renders the file of a stranger as a page."""
    return f"{RAW}/{path_slug(f'{run}/{file}')}.txt"


def raw_log_name(sha256: str) -> str:
    """Return the address of a compressed raw log. All sites that offer the same text use the same address."""
    return f"{RAW}/{sha256[:2]}/{sha256}.gz"


def log_facts(view: View, run: str, log: str, find_log: FindOfferedLog, documents: Collection[str] = ()) -> Html:
    """Return the facts of one log, with a link to its raw file. The machine is linked if ``documents`` contains the page of machines."""
    log_row = next((row for row in view.logs if row.run == run and row.log == log), None)
    if log_row is None:
        return NOTHING
    offered = find_log(view.runs[run], log_row)
    is_redacted = bool(log_row.sha256) and offered.sha256 != log_row.sha256
    pairs = [
        ("run", tag("code", tag("a", run, href=f"root:{raw_name(run, RUN_FILE)}", title="The run's manifest"))),
        ("machine", _machine(view, run, documents)),
        *_facts_in_manifest(view.runs[run], log),
        ("format", log_row.format or null()),
        ("size", size(log_row.bytes) if log_row.bytes is not None else null()),
        ("lines", str(log_row.lines) if log_row.lines is not None else null()),
        ("SHA-256 of the original" if is_redacted else "SHA-256", tag("code", log_row.sha256 or NOT_STATED, class_="tl-sha")),
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


def _facts_in_manifest(run: RunRow, log: str) -> Iterator[tuple[str, str]]:
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
    """Return a table of all lines, logs, manifests and folders that could not be read."""
    if not view.problems:
        return tag("p", "All lines of all logs were recognised.")
    logs = {(log.run, log.log) for log in view.logs}
    rows = [
        [
            _problem_link(problem, links if (problem.run, problem.log) in logs else Links()),
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
    """Return a table of the runs that failed or were interrupted, and of the logs and folders that could not be read at all."""
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


def _problem_link(problem: ProblemRow, links: Links) -> Html:
    name = problem.log or NOT_STATED
    link = links.to_log(problem.run, name)
    line = f"#L{problem.line}" if problem.line else ""
    position = f"{name}:{problem.line}" if problem.line else name
    return tag("a", position, href=f"{link}{line}") if link else esc(position)


def _when(start_time: str | None) -> Html | str:
    if start_time is None:
        return null()
    return start_time if has_zone(start_time) else f"{start_time} (no zone stated, taken as UTC)"


def _status(status: str | None, reason: str | None) -> Html:
    if status is None:
        return null()
    return tag("span", status, class_=f"tl-status tl-status-{'ok' if status == 'ok' else 'bad'}", title=reason)
