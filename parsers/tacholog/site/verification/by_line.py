"""Numbers that stand on their line, although the offered log does not give them any more.

What a number is may be said elsewhere in its log: in the heading of its table, or in the text above it. Privacy masks or withholds such text. Then
the reader finds no result, although the site does not lie. So such a number counts if its own lines, which are offered, print its value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tacholog.formats.source import LogText
from tacholog.privacy.free_text import MASK
from tacholog.privacy.logs import is_withheld

if TYPE_CHECKING:
    import pandas as pd

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SCALES = (1.0, 1e3, 1e6, 1e9, 1e12, 0.01)  # what columns divide numbers by: us, Mbit/s, %, ...
_NEAR = 1e-9
_COLUMNS = ("run", "log", "id", "line", "last_line", "value")
_MOST_LINES = 1000  # of one number


class _Row(NamedTuple):
    """A row of the offered table that the log does not give."""

    id: str
    line: int
    last_line: int
    value: float


def number_texts(text: str) -> list[str]:
    """Return the numbers in a text, as they stand there."""
    return _NUMBER.findall(text.replace("\u202f", "").replace("\u00a0", " "))


def reads(text: str, value: float) -> bool:
    """Whether a number, rounded in any of the units of pages, reads so."""
    half = 0.5 * 10.0 ** -len(text.partition(".")[2])
    return any(abs(float(text) * scale - value) <= half * scale * (1 + _NEAR) for scale in _SCALES)


class OfferedLogs:
    """The offered logs of a site, to ask what stands in them beside what their readers find."""

    def __init__(self, paths: Mapping[tuple[str, str], Path]) -> None:
        """Remember where each log is, by the names of its run and its own. Of one that is gone or damaged there is no file."""
        self._paths = {key: path for key, path in paths.items() if path.is_file()}
        self._are_masked: dict[tuple[str, str], bool] = {}

    def is_masked(self, run: str, log: str) -> bool:
        """Whether any text of a log is masked or withheld."""
        key = run, log
        if key not in self._are_masked:
            self._are_masked[key] = key in self._paths and any(MASK in text or is_withheld(text) for _, text in _lines(self._paths[key]))
        return self._are_masked[key]

    def printed(self, offered: pd.DataFrame, found: Iterable[str]) -> dict[tuple[str, str], set[str]]:
        """Return the ids of numbers that only their lines show, by run and log: those that are not found, in logs of which text is masked.

        Args:
            offered: the numbers that the site offers.
            found: the ids that the logs give.
        """
        by_log: dict[tuple[str, str], list[_Row]] = {}
        missing = offered[~offered["id"].isin(set(found))]
        for run, log, name, line, last_line, value in zip(*(missing[column] for column in _COLUMNS), strict=True):
            if isinstance(line, Integral):
                last = int(last_line) if isinstance(last_line, Integral) else int(line)  # A number of one line states no last one.
                by_log.setdefault((str(run), str(log)), []).append(_Row(str(name), int(line), last, float(value)))
        shown = {key: self._printed(key, rows) for key, rows in by_log.items() if self.is_masked(*key)}
        return {key: ids for key, ids in shown.items() if ids}

    def _printed(self, key: tuple[str, str], rows: Sequence[_Row]) -> set[str]:
        """Return the ids whose values all stand on their lines."""
        wanted = {number for row in rows for number in _numbers(row)}
        texts = {number: number_texts(text) for number, text in _lines(self._paths[key]) if number in wanted}
        wrong = {row.id for row in rows if not _is_on(row, texts)}
        return {row.id for row in rows} - wrong


def _is_on(row: _Row, texts: Mapping[int, Sequence[str]]) -> bool:
    return math.isnan(row.value) or any(reads(text, abs(row.value)) for number in _numbers(row) for text in texts.get(number, ()))


def _numbers(row: _Row) -> range:
    return range(row.line, min(row.last_line, row.line + _MOST_LINES) + 1)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with path.open("rb") as stream:
        for line in LogText(stream).lines():
            yield line.number, line.shown  # What stood before each line may be withheld, so it is not looked for.
