"""Redact a raw log for a site: uncompressed, line by line, with the line numbers of the original.

Each run has a folder of redacted logs, and beside it a folder with the classes of their lines (`LogFolder`).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.evidence import open_evidence, read_evidence
from tacholog.formats.account import LineClass
from tacholog.formats.prefixes import Prefix
from tacholog.formats.reading import Scan
from tacholog.formats.registry import formats, name_without_unit
from tacholog.formats.source import CHUNK_BYTES, LINE_BYTES, Damaged, LogText, compression_of, expanded, utf16_of, without_sequences
from tacholog.privacy.native_log import native_line
from tacholog.privacy.redactor import Redactor
from tacholog.privacy.tokens import has_look_alikes, plain
from tacholog.store.cache import open_cache
from tacholog.store.digests import digests_in
from tacholog.visible import INVISIBLE

_HIDDEN = re.compile(f"[{INVISIBLE}]")
_SEQUENCE = re.compile("\x1b\\[[0-9;]{0,100}[A-Za-z]")
LINES = ".lines"  # the suffix of the folder with the line classes of redacted logs
WITHHELD = "[withheld]"
_HIDDEN_WITHHELD = "[withheld: hidden characters]"
SHOW_UNKNOWN = 'unknown_lines = "show" under [privacy] in site.toml shows them'
_NOT_SHOWN = "[This log is not shown: it is encoded as UTF-16, and tacholog cannot hide confidential names in this encoding.]\n"
_CODES: tuple[LineClass, ...] = ("unknown", "record", "chatter", "broken")
OnBytes = Callable[[int], object]
Ranges = list[tuple[int, int]]


class OriginalLog(NamedTuple):
    """An original log: the folder of its run, its name, and its format."""

    root: Path
    name: str
    format_name: str | None


class LineClasses(msgspec.Struct, frozen=True):
    """The classes of the lines of a redacted log.

    Attributes:
        lines: the number of lines.
        kinds: the ranges of line numbers of each class.
        withheld: the ranges of the withheld lines.
        cut: the number of lines that are shown only in part.
        trouble: the reason why the whole log is withheld.
        prefix: the name of the prefix that was removed from each line before it was read.
    """

    lines: int
    kinds: dict[LineClass, Ranges] = {}
    withheld: Ranges = []
    cut: int = 0
    trouble: str | None = None
    prefix: str | None = None


def plain_lines(folder: Path, name: str, on_bytes: OnBytes | None = None) -> Iterator[str]:
    """Yield the lines of a log in the form of `plain`, each cut to the length that may be shown. Yield nothing for an unreadable file."""
    try:
        with open_evidence(folder, name) as stream:
            yield from (plain(_text(line.removesuffix(b"\n"))) for line, _ in _lines(stream, LINE_BYTES, on_bytes))
    except (UnreadableInput, OSError):
        return


def write_redacted(log: OriginalLog, redactor: Redactor, target: BinaryIO, on_bytes: OnBytes | None = None) -> LineClasses:
    """Write the redacted log of an own run to ``target``, and return its lines by class.

    Raises:
        UnreadableInput: the log cannot be read, or is not a regular file in its folder.
    """
    with open_evidence(log.root, log.name) as stream:
        if utf16_of(next(_chunks(stream, None), b"")):
            target.write(_NOT_SHOWN.encode())
            return LineClasses(lines=1, withheld=[(1, 1)], trouble="the log is UTF-16")
        stream.seek(0)
        kinds, prefix = _kinds(stream, log.format_name)
        stream.seek(0)
        made = _LineRedactor(redactor, log.format_name, kinds, prefix)
        target.writelines(made.line(line, is_whole) for line, is_whole in _lines(stream, _limit(log.format_name), on_bytes))
    target.write(made.closing())
    return made.line_classes()


class _LineRedactor:
    def __init__(self, redactor: Redactor, format_name: str | None, kinds: bytearray, prefix: Prefix | None) -> None:
        self._redactor, self._privacy = redactor, redactor.privacy
        self._prefix = prefix
        self._is_native = format_name == "native"
        self._kinds, self._number, self._cut = kinds, 0, 0
        self._by_kind: dict[LineClass, Ranges] = {}
        self._withheld: Ranges = []

    def line(self, raw: bytes, is_whole: bool) -> bytes:
        self._number += 1
        code = self._kinds[self._number] if self._number < len(self._kinds) else 0
        kind = _CODES[code]
        _add(self._by_kind.setdefault(kind, []), self._number)
        if kind == "unknown" and self._privacy.unknown_lines == "withhold" and raw.strip():
            _add(self._withheld, self._number)
            return f"{WITHHELD}\n".encode()
        end = b"\n" if raw.endswith(b"\n") else b""
        written = raw[: len(raw) - len(end)].decode("utf-8", "surrogateescape")
        text = written.removesuffix("\r")
        if not is_whole:
            self._cut += 1
        more = "" if is_whole else " [the rest of this line is not shown]"
        redacted = self._redactor.redacted_as_seen(text, lambda visible: self._redacted(visible, kind))
        if redacted != text and kind != "record" and (_HIDDEN.search(without_sequences(text)) or has_look_alikes(text)):
            # The hidden characters were removed. Without them, the line could look like a result, although it is none in the original log.
            return f"{_HIDDEN_WITHHELD}\n".encode()
        published = written if redacted == text else redacted
        return (published + more).encode("utf-8", "surrogateescape") + end

    def _redacted(self, text: str, kind: LineClass) -> str:
        if self._prefix and (match := self._prefix.match(text)):
            return f"{self._shown_prefix(self._prefix, match[0])}{self._shown_text(text[match.end() :], kind)}"
        return self._shown_text(text, kind)

    def _shown_prefix(self, prefix: Prefix, text: str) -> str:
        """Return the prefix of a line as it may be published.

        The prefix is treated like an unknown line, because the tool did not write the prefix. If unknown lines are withheld, the names in the prefix
        are withheld. The time and the log level of the prefix are still shown, because they are not names.
        """
        if self._privacy.unknown_lines == "withhold":
            return prefix.without_names(text, WITHHELD)
        return self._redactor.text(text)

    def _shown_text(self, text: str, kind: LineClass) -> str:
        if kind in ("record", "chatter") and self._is_native:
            return native_line(text, self._redactor)
        # The tool itself writes the words and numbers of a result line. An unknown line is treated like a result line, because it is only shown if
        # the owner wants this. Any other line is free text.
        return self._redactor.text(text) if kind in ("record", "unknown") else self._redactor.free(text)

    def closing(self) -> bytes:
        """Return the last line, which states the withheld lines. It is the last, so that all other lines keep their numbers."""
        return f"[{withheld_words(self._withheld)}]\n".encode() if self._withheld else b""

    def line_classes(self) -> LineClasses:
        prefix = self._prefix.words if self._prefix else None
        return LineClasses(lines=self._number, kinds=self._by_kind, withheld=self._withheld, cut=self._cut, prefix=prefix)


def is_withheld(text: str) -> bool:
    """Whether this line of a redacted log replaces a line that is withheld."""
    return text in (WITHHELD, _HIDDEN_WITHHELD)


def withheld_words(ranges: Ranges) -> str:
    """Return a sentence on the withheld lines: how many lines, which line numbers, and how to show the lines."""
    count = sum(last - first + 1 for first, last in ranges)
    return f"{count} line{'s' if count > 1 else ''} withheld ({line_words(ranges)}): {SHOW_UNKNOWN}"


def line_words(ranges: Ranges, most: int = 20) -> str:
    """Return line numbers as words: ``lines 12, 40 to 41``."""
    words = [str(first) if first == last else f"{first} to {last}" for first, last in ranges[:most]]
    more = f" and {len(ranges) - most} more places" if len(ranges) > most else ""
    several = len(ranges) > 1 or (ranges and ranges[0][0] != ranges[0][1])
    return f"line{'s' if several else ''} {', '.join(words)}{more}"


def lines_with_controls(folder: Path, log: str) -> int:
    """Return the number of lines with terminal control sequences."""
    with open_evidence(folder, log) as stream:
        return sum(b"\x1b" in line and bool(_SEQUENCE.search(_text(line))) for line, _ in _lines(stream, LINE_BYTES, None))


def save_line_classes(folder: Path, log: str, classes: LineClasses) -> None:
    """Save the classes of the lines of a redacted log, beside the folder of redacted logs."""
    folder_of_classes, name = line_classes_path(folder, log)
    content = msgspec.json.encode(classes)
    there = sha256_of(folder_of_classes, name)
    if there == hashlib.sha256(content).hexdigest():
        # Each build saves the classes of all logs. If the file already has this content, it is not written again, because reading is much faster.
        return
    path = folder_of_classes / name
    if there is None:
        path.unlink(missing_ok=True)  # There may be a link in place of the file.
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def saved_line_classes(folder: Path, log: str) -> LineClasses | None:
    """Read the file that `save_line_classes` wrote; return ``None`` if the log has no such file."""
    try:
        return msgspec.json.decode(read_evidence(*line_classes_path(folder, log)), type=LineClasses)
    except (UnreadableInput, msgspec.DecodeError):
        return None


def line_classes_file(folder: str, log: str) -> str:
    """Return the path of the file that `save_line_classes` writes, as a text: a `Path` would be slow for thousands of logs."""
    return f"{folder}{LINES}/{_shown_name(log)}"


def line_classes_path(folder: Path, log: str) -> tuple[Path, str]:
    """Return the folder and the name of the file that `save_line_classes` writes."""
    return Path(f"{folder}{LINES}"), _shown_name(log)


@lru_cache(maxsize=1 << 10)  # Many runs have logs with the same name.
def _shown_name(log: str) -> str:
    return f"{hashlib.sha256(log.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.json"


def sha256_of(folder: Path, log: str) -> str | None:
    """Return the SHA-256 of a file; ``None`` if it cannot be read."""
    if "/" in log:
        return _read_sha256(folder, log)  # No folder in the path may be a link. `open_evidence` checks this when it opens the folders.
    (digest,) = digests_in(open_cache()).all_sha256([f"{folder}/{log}"], lambda _path: _read_sha256(folder, log))
    return digest


def _read_sha256(folder: Path, log: str) -> str | None:
    try:
        with open_evidence(folder, log) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]  # every open file has readinto
    except (UnreadableInput, OSError):
        return None


def _kinds(stream: BinaryIO, format_name: str | None) -> tuple[bytearray, Prefix | None]:
    """Return the class of each line as a code, and the prefix of the lines.

    The code at index 12 is the class of line 12. Code 0 means that the class is not known. A code takes one byte, because a log may have millions
    of lines.
    """
    codes = bytearray(1)
    if format_name is None:
        return codes, None
    try:
        text = LogText(stream)
        for event in Scan(text, format_name):
            code = _CODES.index(event.kind)
            if not code:
                continue
            for number in event.lines:
                if number >= len(codes):
                    codes.extend(bytes(max(number + 1 - len(codes), len(codes))))
                codes[number] = code
    except UnreadableInput:
        return bytearray(1), None  # If a format fails in the middle of a log, the classes of the earlier lines are not used either.
    return codes, text.prefix


def _limit(format_name: str | None) -> int:
    """Return the number of bytes of a line that the format reads. Other bytes are not shown."""
    limit: int = LINE_BYTES if format_name is None else getattr(formats().get(name_without_unit(format_name)), "LINE_BYTES", LINE_BYTES)
    return limit


def _lines(stream: BinaryIO, limit: int, on_bytes: OnBytes | None) -> Iterator[tuple[bytes, bool]]:
    """Yield each line with its line end, and whether the line is complete. A line over the limit is cut, but keeps its line end."""
    tail, is_whole = b"", True
    try:
        for chunk in _chunks(stream, on_bytes):
            *lines, last = chunk.split(b"\n")
            for line in lines:
                cut, is_whole = _clipped(tail + line, limit, is_whole)
                yield cut + b"\n", is_whole
                tail, is_whole = b"", True
            tail, is_whole = _clipped(tail + last, limit, is_whole)
    except Damaged:
        pass  # the lines before the damaged part are used
    if tail:
        yield tail, is_whole


def _clipped(raw: bytes, limit: int, is_whole: bool) -> tuple[bytes, bool]:
    return (raw, is_whole) if len(raw) <= limit else (raw[:limit], False)


def _chunks(stream: BinaryIO, on_bytes: OnBytes | None) -> Iterator[bytes]:
    start = stream.read(CHUNK_BYTES)
    compression = compression_of(start)
    pieces: Iterable[bytes] = _with_rest(start, stream)
    for chunk in expanded(compression, iter(pieces)) if compression else pieces:
        if on_bytes:
            on_bytes(len(chunk))
        yield chunk


def _with_rest(start: bytes, stream: BinaryIO) -> Iterator[bytes]:
    yield start
    while chunk := stream.read(CHUNK_BYTES):
        yield chunk


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape").removesuffix("\r")


def _add(ranges: Ranges, number: int) -> None:
    if ranges and ranges[-1][1] == number - 1:
        ranges[-1] = (ranges[-1][0], number)
    else:
        ranges.append((number, number))


class LogFolder:
    """The folder of redacted logs during a build."""

    def __init__(self, folder: Path) -> None:
        """``folder`` may contain the logs of the previous build."""
        self._folder = folder
        self._names: set[str] = set()  # the names of the folders of runs

    def of_run(self, run: str) -> Path:
        """Return the folder of the redacted logs of a run."""
        return self._folder / hashlib.sha256(run.encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def keep(self, of_run: Path, logs: Collection[str]) -> None:
        """Keep the published logs of a run, and delete all other logs in its folder."""
        _delete_others(os.fspath(of_run), logs)
        _delete_others(f"{of_run}{LINES}", {_shown_name(name) for name in logs})
        self._names.add(of_run.name)

    def close(self) -> None:
        """Delete the logs of other runs."""
        for name in os.listdir(self._folder) if self._folder.is_dir() else ():  # noqa: PTH208 - there are thousands, and they need no `Path`
            if name.removesuffix(LINES) not in self._names:
                shutil.rmtree(self._folder / name)


def _delete_others(folder: str, names: Collection[str]) -> None:
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as files:
        for file in files:
            if file.name not in names:
                Path(file).unlink()
