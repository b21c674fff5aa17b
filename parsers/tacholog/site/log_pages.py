"""The pages of logs, and the files of raw logs.

A page shows each line of a log with its number and its class, so that every number on the site can link to the line from which it was read. The
download of a log is the log itself, or its redacted copy.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tacholog.errors import UnreadableInput
from tacholog.evidence import is_there, read_evidence
from tacholog.formats.account import LineClass
from tacholog.formats.kit.lines import Line
from tacholog.formats.reading import Scan
from tacholog.formats.registry import computed_of
from tacholog.formats.source import LogText, open_log_in
from tacholog.privacy import logs as logtext
from tacholog.privacy.logs import line_classes_file, line_classes_path, saved_line_classes, sha256_of, withheld_words
from tacholog.render.html import NOTHING, Html, join, tag, visible
from tacholog.render.number_spans import NOWHERE, Span, by_line, spans_of, with_anchors
from tacholog.render.tables.logs import OfferedLog, log_facts, raw_log_name, raw_name
from tacholog.runs.manifest import RUN_FILE, as_toml
from tacholog.schema.metrics import METRICS
from tacholog.schema.records import Record
from tacholog.site.downloads import compressed
from tacholog.site.result_pages import page_groups
from tacholog.site.stamp import FormerSite
from tacholog.store.export import with_ordinal
from tacholog.view.numerals import quantity, size
from tacholog.view.results import LogRow, ProblemRow, ResultRow, RunRow
from tacholog.view.views import View, log_document, manifest_of

SHOWN_LINES = 5000
LINKED_LINES = 20_000  # numbers and problems link to lines after the first SHOWN_LINES; at most this many of these lines are shown
_PLACES = 100  # a withheld range of lines has an anchor for its first line and for this many further lines
WHOLE_CHARACTERS = 800  # A line with more characters is cut.
SHOWN_CHARACTERS = 240  # A cut line shows this number of characters.
BARE_CHARACTERS = 160  # A result line without linked numbers, such as a histogram, shows fewer characters: a site has thousands.
LINKED_CHARACTERS = 2000  # A cut line with a linked number shows at most this number of characters.
_FIELD = re.compile(r"[A-Za-z_]\w*")
_CLASSES: Mapping[LineClass, str] = {"record": "result", "chatter": "chatter", "broken": "broken", "unknown": "unknown"}
_State = tuple[int, ...]


class LogPage(NamedTuple):
    """The page of a log: its document, and the pages of results that link to it, by document and title."""

    document: str
    log: LogRow
    parents: Sequence[tuple[str, str]]

    @property
    def title(self) -> str:
        """The heading."""
        return f"{self.log.run}/{self.log.log}"


def log_pages(view: View, folder: str, fields: tuple[str, ...]) -> list[LogPage]:
    """Return the page of each log in a folder. ``fields`` are the fields that define a page of results."""
    parents: dict[str, list[tuple[str, str]]] = {}
    for page in (page for group in page_groups(view, fields) for page in group.pages):
        for run in view.only(page.selection).runs:
            parents.setdefault(run, []).append((page.document, page.long_name))
    return [LogPage(log_document(folder, log.run, log.log), log, parents.get(log.run, ())) for log in view.logs]


def log_bodies(
    pages: Sequence[LogPage], view: View, documents: Collection[str], digests: Mapping[tuple[str, str], str], is_made: Callable[..., bool]
) -> Iterator[tuple[LogPage, Html]]:
    """Yield each page that is not up to date, with its content below the heading.

    Args:
        pages: all pages of logs.
        view: the view of everything that the site shows.
        documents: the pages of the site.
        digests: the digest of all numbers of each log, by run and log.
        is_made: a function that is called with a page and everything that it shows, and returns whether the site already has this page.
    """
    problems: dict[tuple[str, str], list[ProblemRow]] = {}
    for problem in view.problems:
        problems.setdefault((problem.run, problem.log or ""), []).append(problem)
    for page in pages:
        run, log = view.runs[page.log.run], page.log
        of_log = problems.get((log.run, log.log), ())
        lines = sha256_of(*line_classes_path(Path(run.root), log.log)) if run.root else None
        received = (page.parents, run, log, of_log, view.hosts.get(run.host or ""), offered_log(run, log), lines, digests.get((log.run, log.log)))
        if not is_made(page, *received):
            yield page, _body(page, view, of_log, documents)


def _body(page: LogPage, view: View, problems: Sequence[ProblemRow], documents: Collection[str]) -> Html:
    run, log = view.runs[page.log.run], page.log
    results = [result for result in view.by_run.get(log.run, ()) if result.log == log.log]
    part = View({log.run: results}, {log.run: run}, [log], problems, view.hosts)
    links = [
        join([tag("a", title, href=f"doc:{document}"), ", ", tag("a", "its script", href=f"doc:{document}#run-it-again")])
        for document, title in page.parents
    ]
    facts = log_facts(part, log.run, log.log, offered_log, documents)
    lines = log_page(Path(run.root, log.log), log.format, linked_lines(results, problems), results) if run.root else ""
    return join([tag("p", join(links, " \u00b7 ")) if links else "", facts, lines])


def raw_files(view: View, former: FormerSite) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each raw log and each manifest for download. Logs are named by their content, so equal logs share a file.

    Files that the former site already has are left out.
    """
    written = set[str]()
    for log in view.logs:
        run = view.runs[log.run]
        offered = offered_log(run, log)
        if run.root is None or not offered.is_readable or not offered.sha256:
            continue
        name = raw_log_name(offered.sha256)
        if name not in written:
            written.add(name)
            if former.has(name):
                continue
            with suppress(UnreadableInput):
                yield name, compressed(read_evidence(Path(run.root), log.log))
    for run in view.runs.values():
        name = raw_name(run.run, RUN_FILE)
        if (manifest := manifest_of(run)) and not former.has(name, run.manifest):
            yield name, as_toml(manifest).encode()


def log_page(path: Path, format_name: str | None, wanted: Iterable[int], results: Sequence[ResultRow] = ()) -> Html:
    """Return the lines of a log.

    Args:
        path: the log file.
        format_name: the format in which the log was read; ``None`` if there is none.
        wanted: the numbers of linked lines. These lines are shown even if the log is large.
        results: the numbers of the log. Each gets an anchor at its position in the line, and a label if the line does not name it.
    """
    if not is_there(path.parent, path.name):
        return tag(
            "p", f"No line of this log is shown, because no format reads it or it is not a regular file. For a regular file, {logtext.SHOW_UNKNOWN}."
        )
    line_classes = logtext.saved_line_classes(path.parent, path.name)
    numbers = by_line(results)
    classes = _classes(path, format_name, numbers) if line_classes is None else _Classes.of_shown(line_classes)
    additions = _Additions(labels_of(results), numbers, computed_of(format_name), classes.spans)
    try:
        with open_log_in(path.parent, path.name) as text:
            rows = list(_rows(_lines_up_to(text, None if line_classes is None else line_classes.lines), classes, _needed(wanted), additions))
            prefix = line_classes.prefix if line_classes else text.prefix.words if text.prefix else None
    except (UnreadableInput, OSError) as error:
        return tag("p", f"The log cannot be shown: {error}.", class_="tl-null")
    if not rows:
        return tag("p", "The log is empty.", class_="tl-null")
    table = tag("ol", *rows, class_="tl-log")
    lines = tag("div", table, class_="tl-scroll tl-logbox", role="region", aria_label="Log lines", tabindex=0)
    return join([_legend(classes.counts), _note_on_prefix(prefix), _note_on_controls(logtext.lines_with_controls(path.parent, path.name)), lines])


def linked_lines(results: Iterable[ResultRow], problems: Iterable[ProblemRow]) -> set[int]:
    """Return the numbers of the lines to which something on the site links."""
    lines = [*(line for result in results for line in (result.line, result.number_line)), *(problem.line for problem in problems)]
    return {line for line in lines if line}


def _needed(wanted: Iterable[int]) -> set[int]:
    return set(sorted(set(wanted))[:LINKED_LINES])


def _lines_up_to(text: LogText, last: int | None) -> Iterator[Line]:
    # The redaction added all lines after the line ``last``.
    return (line for line in text.lines() if last is None or line.number <= last)


class _Classes(NamedTuple):
    """The class of each line.

    ``ranges`` and ``withheld`` contain ranges of line numbers. ``spans`` is a mapping from the anchor of a number to the position of the number in
    its line. The mapping is empty if the format does not state positions.
    """

    ranges: Sequence[tuple[int, int, LineClass]] = ()
    counts: Mapping[LineClass, int] = {}
    withheld: Mapping[int, int] = {}
    spans: Mapping[str, Span] = NOWHERE

    @classmethod
    def of_shown(cls, line_classes: logtext.LineClasses) -> _Classes:
        """Return the classes of a redacted log. They were stored during the redaction, because the format cannot read the redacted text."""
        ranges = sorted((first, last, kind) for kind, ranges_of_kind in line_classes.kinds.items() for first, last in ranges_of_kind)
        counts: Counter[LineClass] = Counter()
        for first, last, kind in ranges:
            counts[kind] += last - first + 1
        return cls(ranges, counts, dict(line_classes.withheld))

    def class_of(self, number: int) -> LineClass:
        index = bisect_right(self.ranges, number, key=lambda line_range: line_range[0]) - 1
        return self.ranges[index][2] if index >= 0 and number <= self.ranges[index][1] else "unknown" if not self.ranges else "chatter"


def _note_on_prefix(prefix: str | None) -> Html:
    return tag("p", f"Each line begins with {prefix}, which was taken off before the line was read.", class_="tl-note") if prefix else NOTHING


def _note_on_controls(count: int) -> Html:
    if not count:
        return NOTHING
    lines = "1 line is shown without its control sequences (colours, cursor movements)"
    if count > 1:
        lines = f"{count} lines are shown without their control sequences (colours, cursor movements)"
    return tag("p", f"{lines}; the raw file contains them.", class_="tl-note")


def _classes(path: Path, format_name: str | None, numbers: Mapping[int, Mapping[str, ResultRow]]) -> _Classes:
    if format_name is None:
        return _Classes()
    ranges: list[tuple[int, int, LineClass]] = []
    counts: Counter[LineClass] = Counter()
    ordinals: Counter[str] = Counter()
    spans: dict[str, Span] = {}
    anchors = {anchor for results_by_anchor in numbers.values() for anchor in results_by_anchor}
    try:
        with open_log_in(path.parent, path.name) as text:
            for event in Scan(text, format_name):
                counts[event.kind] += len(event.lines)
                ranges += [(number, number, event.kind) for number in event.lines if number <= SHOWN_LINES or event.kind != "chatter"]
                for number in event.what.numbers if isinstance(event.what, Record) else ():
                    name = f"L{event.line}:{number.metric}.{number.statistic}"
                    ordinals[name] += 1
                    anchor = with_ordinal(name, ordinals[name])
                    if number.value_start is not None and number.value_end is not None and anchor in anchors:
                        spans[anchor] = (number.value_start, number.value_end)
    except UnreadableInput:
        return _Classes()
    return _Classes(sorted(ranges), counts, spans=spans)


class _Additions(NamedTuple):
    """What a page adds to the lines of a log.

    Attributes:
        labels: a label for each line that consists of one number, by line.
        numbers: the numbers of each line, by line and anchor.
        formulas: the formulas of computed numbers, by metric and statistic.
        spans: the position of each number in its line, by anchor; empty if the format does not state positions.
    """

    labels: Mapping[int, str]
    numbers: Mapping[int, Mapping[str, ResultRow]]
    formulas: Mapping[tuple[str, str], Sequence[str]]
    spans: Mapping[str, Span]


def _rows(lines: Iterable[Line], classes: _Classes, needed: set[int], additions: _Additions) -> Iterator[Html]:
    left_out = withheld_to = 0
    for line in lines:
        number = line.number
        if number <= withheld_to:
            continue
        withheld_to = classes.withheld.get(number, 0)
        if number > SHOWN_LINES and number not in needed:
            left_out += max(1, withheld_to - number + 1)
            continue
        if left_out:
            yield _gap(left_out)
            left_out = 0
        yield _withheld_row(number, withheld_to) if withheld_to else _row(line, classes.class_of(number), additions)
    if left_out:
        yield _gap(left_out)


def _withheld_row(first: int, last: int) -> Html:
    words = f"{last - first + 1} line{'s' if last > first else ''} withheld ({logtext.line_words([(first, last)])})"
    anchors = [tag("span", NOTHING, id=f"L{number}") for number in range(first + 1, min(last, first + _PLACES) + 1)]
    link = tag("a", str(first), href=f"#L{first}", aria_label=f"Line {first}, withheld")
    return tag("li", link, tag("code", *anchors, words), id=f"L{first}", class_="tl-unknown")


def _row(line: Line, kind: LineClass, additions: _Additions) -> Html:
    number, text = line.number, line.text
    before = visible(line.shown.removesuffix(text))
    numbers, label = additions.numbers.get(number, {}), additions.labels.get(number)
    cut_off = len(line.shown) - len(text)
    stated_spans = {anchor: (span[0] - cut_off, span[1] - cut_off) for anchor in numbers if (span := additions.spans.get(anchor))}
    spans = spans_of(text, numbers, stated_spans) if numbers else {}
    if numbers and additions.formulas:
        label = "; ".join(filter(None, [label, *_formulas_of_computed_numbers(text, numbers, spans, additions.formulas)]))
    is_plain = kind == "chatter"  # Most lines are chatter and get no class, to save bytes.
    link = tag("a", str(number), href=f"#L{number}", aria_label=None if is_plain else f"Line {number}, {_CLASSES[kind]}")
    row_class = None if is_plain else f"tl-{kind}"
    is_bare = kind == "record" and not numbers
    limit = BARE_CHARACTERS if is_bare else WHOLE_CHARACTERS
    if not numbers and not label and len(text) <= limit:  # as most lines
        return tag("li", link, tag("code", before, visible(text)), id=f"L{number}", class_=row_class)
    visible_text = text if len(text) <= limit else text[:BARE_CHARACTERS] if is_bare else text[: _shown_length(spans)]
    cut = tag("span", f" … {len(text) - len(visible_text)} more characters", class_="tl-muted") if len(visible_text) < len(text) else ""
    name = tag("span", label, class_="tl-what") if label else NOTHING
    return tag("li", link, tag("code", before, with_anchors(visible_text, spans), cut), name, id=f"L{number}", class_=row_class)


def _formulas_of_computed_numbers(
    text: str, numbers: Mapping[str, ResultRow], spans: Mapping[str, Span | None], formulas: Mapping[tuple[str, str], Sequence[str]]
) -> Iterator[str]:
    """Yield the formula of each linked number that is computed and not printed. A formula is left out if the line lacks one of its fields."""
    for anchor, result in numbers.items():
        candidates = formulas.get((result.metric, result.statistic), ())
        formula = next((formula for formula in candidates if all(f" {field}=" in text for field in _FIELD.findall(formula))), None)
        if formula is not None and result.value and spans[anchor] is None:  # for a share of 0, the line already says that 0 were lost
            metric = METRICS[result.metric]
            yield f"{metric.words}: {quantity(result.value, metric.unit)} = {formula}"


def _shown_length(spans: Mapping[str, Span | None]) -> int:
    """Return how many characters of a long line are shown: up to the last linked number, but not more than `LINKED_CHARACTERS`."""
    return max([SHOWN_CHARACTERS, *(span[1] for span in spans.values() if span and span[1] <= LINKED_CHARACTERS)])


def labels_of(results: Iterable[ResultRow]) -> dict[int, str]:
    """Return a label for each line that consists of one number.

    Such lines are in logs from documents: the tables of the document were extracted with one cell per line.
    """
    words_by_line: dict[int, list[str]] = {}
    for result in results:
        if result.value_line is not None and result.last_line not in (None, result.line):
            words = f"{size(result.payload_bytes)}: " if result.payload_bytes is not None else ""
            words_by_line.setdefault(result.value_line, []).append(f"{words}{METRICS[result.metric].words}, {result.statistic}")
    return {line: "; ".join(dict.fromkeys(words)) for line, words in words_by_line.items()}


def _gap(count: int) -> Html:
    return tag("li", f"{count} lines are not shown here; the raw file has them all", class_="tl-gap")


def _legend(counts: Mapping[LineClass, int]) -> Html:
    if not counts:
        return tag("p", "No format reads this log, so its lines have no classes.", class_="tl-null")
    items = [tag("li", tag("span", "", class_=f"tl-key tl-{kind}"), f"{words}: {counts.get(kind, 0)}") for kind, words in _CLASSES.items()]
    return tag("ul", *items, class_="tl-legend", aria_label="Classes of lines") if items else NOTHING


def offered_log(run: RunRow, log: LogRow) -> OfferedLog:
    """Return the description of the file that the site offers for a log."""
    if run.root is None:
        return OfferedLog(log.sha256 or "", is_readable=False)
    return _offered(run.root, log.log, log.sha256, (_file_state(f"{run.root}/{log.log}"), _file_state(line_classes_file(run.root, log.log))))


@lru_cache(maxsize=1 << 14)  # cached, because several pages name the same log
def _offered(folder: str, log: str, sha256: str | None, _states: tuple[_State, _State]) -> OfferedLog:
    root = Path(folder)
    line_classes = saved_line_classes(root, log)
    offered = sha256_of(root, log) or sha256
    return OfferedLog(offered or "", is_there(root, log), withheld_words(line_classes.withheld) if line_classes and line_classes.withheld else "")


def _file_state(path: str) -> _State:
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
