"""Accept a number that is on its log line, although the reader of the offered log does not find it.

The meaning of a number may be stated on another line, for example in the heading of its table. If the redaction has masked or withheld this heading,
the reader finds no result, although the site is correct. So the number is accepted if its own lines in the offered log contain its value.
"""

from __future__ import annotations

import gzip
import math
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tacholog.errors import UnreadableInput
from tacholog.evidence import open_evidence, read_evidence
from tacholog.formats.source import LogText
from tacholog.privacy.free_text import MASK
from tacholog.privacy.logs import is_withheld

if TYPE_CHECKING:
    import pandas as pd

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SCALES = (1.0, 1e3, 1e6, 1e9, 1e12, 0.01)  # factors by which columns divide numbers: us, Mbit/s, %, ...
_NEAR = 1e-9
_MOST_LINES = 1000  # of one number


def number_texts(text: str) -> list[str]:
    """Return the numbers in a text, as they are written there."""
    return _NUMBER.findall(text.replace("\u202f", "").replace("\u00a0", " "))


def reads(text: str, value: float) -> bool:
    """Whether a text shows this value. The text may be rounded, and may have any of the units that pages use."""
    half = 0.5 * 10.0 ** -len(text.partition(".")[2])
    return any(abs(float(text) * scale - value) <= half * scale * (1 + _NEAR) for scale in _SCALES)


class OfferedLogs:
    """The logs that a site offers, to look for single numbers on the lines of these logs.

    If text of a log is masked, reading the log again may not find all numbers of the log. But their values may still be on its lines.
    """

    def __init__(self, paths: Mapping[tuple[str, str], Path]) -> None:
        """Remember the path of each log by its run and name. A log that is missing or damaged has no file."""
        self._paths = {key: path for key, path in paths.items() if path.is_file()}
        self._are_masked: dict[tuple[str, str], bool] = {}

    def is_masked(self, run: str, log: str) -> bool:
        """Whether any text of a log is masked or withheld."""
        key = run, log
        if key not in self._are_masked:
            self._are_masked[key] = key in self._paths and any(MASK in text or is_withheld(text) for _, text in _lines(self._paths[key]))
        return self._are_masked[key]

    def printed(self, offered: pd.DataFrame, logged_ids: Iterable[str]) -> dict[tuple[str, str], set[str]]:
        """Return the ids of numbers that are on the lines of masked logs, although no reader found the numbers there. The ids are by run and log.

        A reader may not find a number if the text that explains the number is masked. But the number is accepted if the line contains the value.

        Args:
            offered: the numbers that the site offers.
            logged_ids: the ids of the numbers that were read from the logs.
        """
        missing = offered[~offered["id"].isin(set(logged_ids)) & offered["line"].notna()]
        by_log = missing.assign(last_line=missing["last_line"].fillna(missing["line"])).groupby(["run", "log"], sort=False)
        masked = {(str(run), str(log)): rows for (run, log), rows in by_log if self.is_masked(str(run), str(log))}
        return {key: ids for key, rows in masked.items() if (ids := self._printed(key, rows))}

    def _printed(self, key: tuple[str, str], rows: pd.DataFrame) -> set[str]:
        """Return the ids of those numbers of a log whose values are on their lines in the log.

        Several numbers may have the same id. Such an id is only returned if the value of each of these numbers is on the lines of that number.
        """
        line_ranges = [range(first, min(last, first + _MOST_LINES) + 1) for first, last in zip(rows["line"], rows["last_line"], strict=True)]
        wanted = {line for lines in line_ranges for line in lines}
        texts = {line: number_texts(text) for line, text in _lines(self._paths[key]) if line in wanted}
        wrong = {
            number
            for number, lines, value in zip(rows["id"], line_ranges, rows["value"], strict=True)
            if not (math.isnan(value) or any(reads(text, abs(value)) for line in lines for text in texts.get(line, ())))
        }
        return {*rows["id"]} - wrong


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with path.open("rb") as stream:
        for line in LogText(stream).lines():
            yield line.number, line.shown  # without the prefix, which may be withheld


_MOST_READ = 2**28  # The limit in bytes for a file that is read as a whole, such as a page.
# Compressed data can expand a thousandfold. The texts of real sites expanded 56-fold.
_LEAST_UNPACKED, _MOST_TIMES = 2**26, 200
_MOST_UNPACKED = 2**32
_PIECE_BYTES = 2**20


def read_foreign(site: Path, name: str) -> bytes:
    """Return the bytes of a file of a site.

    Raises:
        UnreadableInput: the file is missing, is not a regular file, is behind a link, or is too large.
    """
    content = read_evidence(site, name, _MOST_READ + 1)
    if len(content) > _MOST_READ:
        raise UnreadableInput(f"it is larger than {_MOST_READ >> 20} MiB")
    return content


def unpacked_pieces(site: Path, name: str) -> Iterator[bytes]:
    """Yield the content of a file that is compressed with gzip, in pieces.

    Raises:
        UnreadableInput: the file cannot be read, or the unpacked content is larger than `most_unpacked` allows for a file of this size.
    """
    size = 0
    with open_evidence(site, name) as stream:
        limit = most_unpacked(os.fstat(stream.fileno()).st_size)
        try:
            with gzip.GzipFile(fileobj=stream) as packed:
                while piece := packed.read(_PIECE_BYTES):
                    size += len(piece)
                    if size > limit:
                        raise UnreadableInput(f"the unpacked content has more than {limit >> 20} MiB, too much for a file of this size")
                    yield piece
        except (OSError, EOFError, zlib.error) as error:
            raise UnreadableInput(f"it cannot be read: {error}") from error


def most_unpacked(size_bytes: int) -> int:
    """Return the largest allowed size of the content of a file with this size."""
    return min(_LEAST_UNPACKED + _MOST_TIMES * size_bytes, _MOST_UNPACKED)
