"""Split a history of github-action-benchmark (``data.js``) into logs, so that it is imported like a folder of logs.

The history is a script: ``window.BENCHMARK_DATA = {"entries": {"SUITE": [{...}, ...]}}``. It is read as JSON and never executed. Each entry becomes a
log: exactly the bytes of the entry in the history. Its release is the beginning of the id of its commit.
Source: benchmark-action/github-action-benchmark, src/write.ts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tacholog.errors import UnreadableInput
from tacholog.formats.source import UTF8_MARK
from tacholog.runs.importing.fields import LABEL, typed
from tacholog.runs.importing.patterns import read_pattern
from tacholog.runs.importing.rules import PreparedRule, Rules

_MOST_BYTES = 256 << 20
_COMMIT_CHARACTERS = 10
_START = re.compile(r"\s*(?:window\.BENCHMARK_DATA\s*=\s*)?(?=\{)")
_BLANKS = re.compile(r"\s*")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_PROJECT = re.compile(r"https?://[^/\s]+/(?:[^/\s]+/)*(?P<name>[\w.-]+?)(?:\.git)?/?")
_SUITE = LABEL + "suite"


class BenchmarkHistory(NamedTuple):
    """What a history states about all its entries.

    Attributes:
        project: the last part of the address of the repository; ``None`` if it is not stated.
        suites: the names of the suites, in the order of the history.
        entries: the number of entries.
    """

    project: str | None
    suites: tuple[str, ...]
    entries: int

    def rules(self, user: Rules) -> Rules:
        """Return the rules that import the logs of this history. ``user`` contains the rules that the user states, such as ``--set``."""
        rules = []
        for number, suite in enumerate(self.suites):
            values = {_SUITE: typed(_SUITE, suite)} if len(self.suites) > 1 else {}
            rules.append(PreparedRule(read_pattern(f"{number}/{{release}}/{{*}}.json", "history"), values, None, True))
        return user._replace(rules=tuple(rules), defaults={**({"system": self.project} if self.project else {}), **user.defaults})


def split_history(path: Path, folder: Path) -> BenchmarkHistory:
    """Write each entry of a history to a file ``SUITE/RELEASE/NUMBER.json`` in an empty folder. The suite is a number.

    Raises:
        UnreadableInput: the file is no such history, or is too large.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UnreadableInput(f"{path}: larger than {_MOST_BYTES >> 20} MiB, the limit of a history")
        text = path.read_bytes().removeprefix(UTF8_MARK).decode()
        return _split(text, folder)
    except OSError as error:
        raise UnreadableInput(f"{path}: {error.strerror}") from error
    except (ValueError, IndexError, RecursionError) as error:
        reason = str(error) if isinstance(error, _NoHistoryError) else f"no complete JSON ({type(error).__name__})"
        wanted = "'window.BENCHMARK_DATA = {...}' with 'entries'"
        words = f"no history of github-action-benchmark, which is {wanted}: {reason}; to import single logs, name their folder"
        raise UnreadableInput(f"{path}: {words}") from None


class _NoHistoryError(ValueError):
    """The text is no history; the message says why."""


def _split(text: str, folder: Path) -> BenchmarkHistory:
    start = _START.match(text)
    if start is None:
        raise _NoHistoryError("the file does not begin like this")
    members: dict[str, int] = {}
    project, entries, last = None, 0, 0
    for name, value, begin, end in _members(text, start.end()):
        members[name] = begin
        last = end
        if name == "repoUrl" and isinstance(value, str) and (match := _PROJECT.fullmatch(value)):
            project = match["name"]
    if "entries" not in members:
        raise _NoHistoryError("it has no 'entries'")
    if text[last:].strip().rstrip(";").strip() != "}":
        raise _NoHistoryError("there is text after the last brace of the data")
    suites: list[str] = []
    for suite, _, begin, _ in _members(text, members["entries"]):
        for value, first, end in _elements(text, begin):
            commit = value.get("commit") if isinstance(value, dict) else None
            commit_id = commit.get("id") if isinstance(commit, dict) else None
            if not isinstance(commit_id, str) or not _COMMIT.fullmatch(commit_id):
                raise _NoHistoryError(f"entry {entries + 1} has no commit with an id")
            log = folder / str(len(suites)) / commit_id[:_COMMIT_CHARACTERS] / f"{entries + 1:06}.json"
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(text[first:end], encoding="utf-8", newline="")
            entries += 1
        suites.append(suite)
    return BenchmarkHistory(project, tuple(suites), entries)


_DECODER = json.JSONDecoder()


def _members(text: str, start: int) -> Iterator[tuple[str, object, int, int]]:
    """Yield the name and the value of each member of an object, and the positions where the value starts and ends."""
    position = _opened(text, start, "{")
    while text[position] != "}":
        name, position = _DECODER.raw_decode(text, position)
        position = _after_blanks(text, position)
        if not isinstance(name, str) or text[position] != ":":
            raise ValueError("a member without a name")
        begin = _after_blanks(text, position + 1)
        value, end = _DECODER.raw_decode(text, begin)
        yield name, value, begin, end
        position = _next(text, end)


def _elements(text: str, start: int) -> Iterator[tuple[object, int, int]]:
    """Yield each element of a list, and the positions where the element starts and ends."""
    position = _opened(text, start, "[")
    while text[position] != "]":
        value, end = _DECODER.raw_decode(text, position)
        yield value, position, end
        position = _next(text, end)


def _opened(text: str, start: int, bracket: str) -> int:
    if text[start] != bracket:
        raise ValueError("an object or a list is missing")
    return _after_blanks(text, start + 1)


def _next(text: str, end: int) -> int:
    """Return the position of the next element, or of the closing bracket."""
    position = _after_blanks(text, end)
    return _after_blanks(text, position + 1) if text[position] == "," else position


def _after_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return match.end() if match else position
