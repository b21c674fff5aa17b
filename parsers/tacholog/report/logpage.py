"""A raw log as a page: every line numbered, classed and escaped, so that a number can link to where it was read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tacholog.errors import UnreadableInput
from tacholog.formats.reading import LineClass, Scan
from tacholog.formats.source import open_log
from tacholog.records import METRICS
from tacholog.report import logtext
from tacholog.report.facts import Fact
from tacholog.report.inline import by_line, with_anchors
from tacholog.report.markup import NOTHING, Html, join, tag
from tacholog.report.numerals import size

SHOWN_LINES = 5000
SHOWN_CHARACTERS = 2000  # of one line: a histogram of a few KiB is cut, and the raw file has the rest
_CLASSES: Mapping[LineClass, str] = {"record": "result", "chatter": "chatter", "broken": "broken", "unknown": "unknown"}


def log_page(path: Path, format_name: str | None, wanted: Iterable[int], facts: Sequence[Fact] = ()) -> Html:
    """Return the lines of a log.

    Args:
        path: the log file.
        format_name: the format that it was read in; ``None`` if no format fitted.
        wanted: numbers of lines that must be there whatever the log's size, because something links to them.
        facts: the numbers of the log: each has its id where it was printed, and its name where its line does not say what it is.
    """
    classes = _classes(path, format_name)
    needed = set(wanted)
    written = _Written(labels_of(facts), by_line(facts))
    try:
        with open_log(path) as text:
            rows = list(_rows(((line.number, line.text) for line in text.lines()), classes, needed, written))
    except (UnreadableInput, OSError) as error:
        return tag("p", f"The log cannot be shown: {error}.", class_="tl-null")
    if not rows:
        return tag("p", "The log is empty.", class_="tl-null")
    table = tag("ol", *rows, class_="tl-log")
    return join(
        [_legend(classes), _stripped(path), tag("div", table, class_="tl-scroll tl-logbox", role="region", aria_label="Log lines", tabindex=0)]
    )


def _stripped(path: Path) -> Html:
    """Say how many lines are shown without what only controls a terminal, if any are."""
    count = sum(logtext.plain(line) != line for line in logtext.lines(path))
    if not count:
        return NOTHING
    lines = "1 line is shown without the control sequences (colours, moves of the cursor) that it holds"
    if count > 1:
        lines = f"{count} lines are shown without the control sequences (colours, moves of the cursor) that they hold"
    return tag("p", f"{lines}; the raw file has them.", class_="tl-note")


def _classes(path: Path, format_name: str | None) -> dict[int, LineClass]:
    if format_name is None:
        return {}
    found: dict[int, LineClass] = {}
    try:
        with open_log(path) as text:
            for event in Scan(text, format_name):
                found.update((number, event.kind) for number in event.lines if number <= SHOWN_LINES or event.kind != "chatter")
    except UnreadableInput:
        return {}
    return found


class _Written(NamedTuple):
    """What is known of lines beside their text: the name of a number that stands alone, and the numbers by their ids."""

    labels: Mapping[int, str]
    numbers: Mapping[int, Mapping[str, list[Fact]]]


def _rows(lines: Iterable[tuple[int, str]], classes: Mapping[int, LineClass], needed: set[int], written: _Written) -> Iterator[Html]:
    left_out = 0
    for number, text in lines:
        if number > SHOWN_LINES and number not in needed:
            left_out += 1
            continue
        if left_out:
            yield _gap(left_out)
            left_out = 0
        yield _row(number, text, classes.get(number, "unknown" if not classes else "chatter"), written)
    if left_out:
        yield _gap(left_out)


def _row(number: int, text: str, kind: LineClass, written: _Written) -> Html:
    shown = text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS]
    cut = tag("span", f" … {len(text) - len(shown)} more characters", class_="tl-muted") if len(shown) < len(text) else ""
    link = tag("a", str(number), href=f"#L{number}", class_="tl-number", aria_label=f"Line {number}, {_CLASSES[kind]}")
    label = written.labels.get(number)
    said = tag("span", label, class_="tl-what") if label else NOTHING
    return tag("li", link, tag("code", with_anchors(shown, written.numbers.get(number, {})), cut), said, id=f"L{number}", class_=f"tl-{kind}")


def labels_of(facts: Iterable[Fact]) -> dict[int, str]:
    """Return what the number of each line is where a record spans several: a table that a page was extracted to has one cell a line."""
    found: dict[int, list[str]] = {}
    for fact in facts:
        if fact.value_line is not None and fact.last_line not in (None, fact.line):
            words = f"{size(fact.payload_bytes)}: " if fact.payload_bytes is not None else ""
            found.setdefault(fact.value_line, []).append(f"{words}{METRICS[fact.metric].words}, {fact.statistic}")
    return {line: "; ".join(dict.fromkeys(words)) for line, words in found.items()}


def _gap(count: int) -> Html:
    return tag("li", f"{count} lines are not shown here; the raw file has them all", class_="tl-gap")


def _legend(classes: Mapping[int, LineClass]) -> Html:
    if not classes:
        return tag("p", "No format reads this log, so its lines carry no classes.", class_="tl-null")
    counts = {kind: sum(1 for found in classes.values() if found == kind) for kind in _CLASSES}
    items = [tag("li", tag("span", "", class_=f"tl-key tl-{kind}"), f"{words}: {counts[kind]}") for kind, words in _CLASSES.items()]
    return tag("ul", *items, class_="tl-legend", aria_label="Classes of lines") if items else NOTHING
