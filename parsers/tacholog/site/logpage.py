"""A raw log as a page: every line numbered, classed and escaped, so that a number can link to where it was read."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tacholog.errors import UnreadableInput
from tacholog.evidence import is_there
from tacholog.formats.reading import LineClass, Scan
from tacholog.formats.source import LogText, open_log_in
from tacholog.privacy import logs as logtext
from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.inline import by_line, with_anchors
from tacholog.schema.records import METRICS
from tacholog.view.numerals import size
from tacholog.view.results import ResultRow

SHOWN_LINES = 5000
LINKED_LINES = 20_000  # beyond these, because numbers or problems link to them
_PLACES = 100  # of a withheld stretch that links can lead to, beside its first line
SHOWN_CHARACTERS = 2000  # of one line: a histogram of a few KiB is cut, and the raw file has the rest
_CLASSES: Mapping[LineClass, str] = {"record": "result", "chatter": "chatter", "broken": "broken", "unknown": "unknown"}


def log_page(path: Path, format_name: str | None, wanted: Iterable[int], facts: Sequence[ResultRow] = ()) -> Html:
    """Return the lines of a log.

    Args:
        path: the log file.
        format_name: the format that it was read in; ``None`` if no format fitted.
        wanted: numbers of lines that must be there whatever the log's size, because something links to them.
        facts: the numbers of the log: each has its id where it was printed, and its name where its line does not say what it is.
    """
    if not is_there(path.parent, path.name):
        return tag("p", f"None of the lines of this log is shown: no format reads it, or it is no file. If it is one, {logtext.SHOW_UNKNOWN}.")
    shown = logtext.saved_shown(path.parent, path.name)
    classes = _classes(path, format_name) if shown is None else _Classes.of_shown(shown)
    written = _Written(labels_of(facts), by_line(facts))
    try:
        with open_log_in(path.parent, path.name) as text:
            rows = list(_rows(_counted(text, None if shown is None else shown.lines), classes, _needed(wanted), written))
    except (UnreadableInput, OSError) as error:
        return tag("p", f"The log cannot be shown: {error}.", class_="tl-null")
    if not rows:
        return tag("p", "The log is empty.", class_="tl-null")
    table = tag("ol", *rows, class_="tl-log")
    lines = tag("div", table, class_="tl-scroll tl-logbox", role="region", aria_label="Log lines", tabindex=0)
    return join([_legend(classes.counts), _stripped(logtext.lines_with_controls(path.parent, path.name)), lines])


def _needed(wanted: Iterable[int]) -> set[int]:
    """The lines beyond the first that are shown because something links to them: not more than a page can hold."""
    return set(sorted(set(wanted))[:LINKED_LINES])


def _counted(text: LogText, last: int | None) -> Iterator[tuple[int, str]]:
    """The lines of the log by their numbers; what stands behind the last is what a redacted text says of itself."""
    for line in text.lines():
        if last is not None and line.number > last:
            return
        yield line.number, line.text


class _Classes(NamedTuple):
    """The classes of a log's lines, as ranges of their numbers, and where lines are withheld."""

    ranges: Sequence[tuple[int, int, LineClass]] = ()
    counts: Mapping[LineClass, int] = {}
    withheld: Mapping[int, int] = {}

    @classmethod
    def of_shown(cls, shown: logtext.ShownLines) -> _Classes:
        """Those that were noted when a log was redacted: its format cannot read it any more."""
        ranges = sorted((first, last, kind) for kind, found in shown.kinds.items() for first, last in found)
        counts: Counter[LineClass] = Counter()
        for first, last, kind in ranges:
            counts[kind] += last - first + 1
        return cls(ranges, counts, dict(shown.withheld))

    def of(self, number: int) -> LineClass:
        at = bisect_right(self.ranges, number, key=lambda found: found[0]) - 1
        return self.ranges[at][2] if at >= 0 and number <= self.ranges[at][1] else "unknown" if not self.ranges else "chatter"


def _stripped(count: int) -> Html:
    """Say how many lines are shown without what only controls a terminal, if any are."""
    if not count:
        return NOTHING
    lines = "1 line is shown without the control sequences (colours, moves of the cursor) that it holds"
    if count > 1:
        lines = f"{count} lines are shown without the control sequences (colours, moves of the cursor) that they hold"
    return tag("p", f"{lines}; the raw file has them.", class_="tl-note")


def _classes(path: Path, format_name: str | None) -> _Classes:
    if format_name is None:
        return _Classes()
    ranges: list[tuple[int, int, LineClass]] = []
    counts: Counter[LineClass] = Counter()
    try:
        with open_log_in(path.parent, path.name) as text:
            for event in Scan(text, format_name):
                counts[event.kind] += len(event.lines)
                ranges += [(number, number, event.kind) for number in event.lines if number <= SHOWN_LINES or event.kind != "chatter"]
    except UnreadableInput:
        return _Classes()
    return _Classes(sorted(ranges), counts)


class _Written(NamedTuple):
    """What is known of lines beside their text: the name of a number that stands alone, and the numbers by their ids."""

    labels: Mapping[int, str]
    numbers: Mapping[int, Mapping[str, list[ResultRow]]]


def _rows(lines: Iterable[tuple[int, str]], classes: _Classes, needed: set[int], written: _Written) -> Iterator[Html]:
    left_out = withheld_to = 0
    for number, text in lines:
        if number <= withheld_to:
            continue
        withheld_to = classes.withheld.get(number, 0)
        if number > SHOWN_LINES and number not in needed:
            left_out += max(1, withheld_to - number + 1)
            continue
        if left_out:
            yield _gap(left_out)
            left_out = 0
        yield _withheld(number, withheld_to) if withheld_to else _row(number, text, classes.of(number), written)
    if left_out:
        yield _gap(left_out)


def _withheld(first: int, last: int) -> Html:
    """Return a stretch of lines that are not shown, in the place of each of which a link may lead to it."""
    words = f"{last - first + 1} line{'s' if last > first else ''} withheld ({logtext.line_words([(first, last)])})"
    places = [tag("span", NOTHING, id=f"L{number}") for number in range(first + 1, min(last, first + _PLACES) + 1)]
    link = tag("a", str(first), href=f"#L{first}", class_="tl-number", aria_label=f"Line {first}, withheld")
    return tag("li", link, tag("code", *places, words), id=f"L{first}", class_="tl-unknown")


def _row(number: int, text: str, kind: LineClass, written: _Written) -> Html:
    shown = text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS]
    cut = tag("span", f" … {len(text) - len(shown)} more characters", class_="tl-muted") if len(shown) < len(text) else ""
    link = tag("a", str(number), href=f"#L{number}", class_="tl-number", aria_label=f"Line {number}, {_CLASSES[kind]}")
    label = written.labels.get(number)
    said = tag("span", label, class_="tl-what") if label else NOTHING
    return tag("li", link, tag("code", with_anchors(shown, written.numbers.get(number, {})), cut), said, id=f"L{number}", class_=f"tl-{kind}")


def labels_of(facts: Iterable[ResultRow]) -> dict[int, str]:
    """Return what the number of each line is where a record spans several: a table that a page was extracted to has one cell a line."""
    found: dict[int, list[str]] = {}
    for fact in facts:
        if fact.value_line is not None and fact.last_line not in (None, fact.line):
            words = f"{size(fact.payload_bytes)}: " if fact.payload_bytes is not None else ""
            found.setdefault(fact.value_line, []).append(f"{words}{METRICS[fact.metric].words}, {fact.statistic}")
    return {line: "; ".join(dict.fromkeys(words)) for line, words in found.items()}


def _gap(count: int) -> Html:
    return tag("li", f"{count} lines are not shown here; the raw file has them all", class_="tl-gap")


def _legend(counts: Mapping[LineClass, int]) -> Html:
    if not counts:
        return tag("p", "No format reads this log, so its lines carry no classes.", class_="tl-null")
    items = [tag("li", tag("span", "", class_=f"tl-key tl-{kind}"), f"{words}: {counts.get(kind, 0)}") for kind, words in _CLASSES.items()]
    return tag("ul", *items, class_="tl-legend", aria_label="Classes of lines") if items else NOTHING
