"""The JSON of iperf3, read as it comes: each result is known by its place in the document, and keeps the lines that its members stand on.

Source: the JSON reports of iperf3 3.12, and logs of 3.0.11, 3.1.3, 3.6 and 3.12.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tacholog.formats.iperf3.objects import Results, Scalar, ending, is_result
from tacholog.formats.kit import Broken, Facts, Found, Line

_TOKEN = re.compile(
    r"\s*(?:(?P<mark>[{}\[\],:])|(?P<text>\"(?:[^\"\\\x00-\x1f]|\\.)*\")|(?P<number>-?\d{1,20}(?:\.\d{1,25})?(?:[eE][-+]?\d{1,3})?)(?![\w.])|"
    r"(?P<word>true|false|null)\b)"
)
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_DEEPEST = 16
_MEMBERS = 100
_KEPT = {"", "start", "start/test_start", "start/timestamp"}


class _Frame:
    """An object or a list that is open: where it is, and the members and lines of an object that is of interest."""

    def __init__(self, place: str, closing: str) -> None:
        self.place, self.closing = place, closing
        self.key = ""
        self.members: dict[str, Scalar] = {}
        self.lines: list[Line] = []
        self.expects = "first"  # first, key, colon, value, next
        self.is_damaged = False
        self.is_result = closing == "}" and is_result(place)

    def keep(self, value: Scalar) -> None:
        """Take a member's value."""
        if (self.is_result or self.place == "start/test_start") and (self.key in self.members or len(self.members) >= _MEMBERS):
            self.is_damaged = True
        elif self.is_result or (self.place in _KEPT and len(self.members) < _MEMBERS):
            self.members[self.key] = value


class _DamagedError(ValueError):
    """The text is no JSON."""


class IperfDocument:
    """One JSON document after another."""

    def __init__(self) -> None:
        """Wait for a document."""
        self._frames: list[_Frame] = []
        self._results = Results()
        self._lacks_its_end = False
        self._closed: list[Found] = []  # The results that the present line has closed.

    @property
    def is_open(self) -> bool:
        """Whether this is within a document."""
        return bool(self._frames)

    def take(self, line: Line) -> Iterator[Found]:
        """Use one line, the first of which is an opening brace."""
        self._closed = []
        try:
            if line.text.count('"bits_per_second"') + line.text.count('"host_total"') > 1:
                raise _DamagedError("several results on one line: print the JSON with a member a line")  # noqa: TRY301
            self._read(line)
        except _DamagedError as error:
            yield from (found for found in self._closed if line not in {found.line, *found.also})
            yield from self._damaged(line, str(error))
            return
        yield from self._closed
        if not any(frame.lines and frame.lines[-1] is line for frame in self._frames) and not self._is_claimed(line):
            yield Found(line, self._facts())

    def _is_claimed(self, line: Line) -> bool:
        return any(line in {found.line, *found.also} for found in self._closed)

    def close(self) -> Iterator[Found]:
        """The log has ended."""
        if self.is_open:
            yield from self._abandon("the JSON ends within this result")
            yield Found(None, Facts(status="truncated", reason="the JSON ends before its last brace"))

    def _damaged(self, line: Line, reason: str) -> Iterator[Found]:
        """A line that opens and closes nothing costs only the result that it is of; else what follows has no place that is known."""
        frame = self._frames[-1] if self._frames else None
        if frame is not None and frame.closing == "}" and not re.search(r"[{}\[\]]", line.text):
            frame.is_damaged, frame.expects = True, "key"
            if not frame.is_result:
                yield Found(line, Broken(reason))
            elif line not in frame.lines:
                frame.lines.append(line)
            return
        for open_frame in self._frames:
            open_frame.lines = [kept for kept in open_frame.lines if kept is not line]
        yield from self._abandon("the JSON is damaged behind this result")
        yield Found(line, Broken(reason))
        yield Found(None, Facts(status="truncated", reason="the JSON is damaged, and what follows cannot be placed"))

    def _abandon(self, reason: str) -> Iterator[Found]:
        for frame in self._frames:
            if frame.is_result and frame.lines:
                yield Found(frame.lines[0], Broken(reason), tuple(frame.lines[1:]))
        self._frames, self._results = [], Results()

    def _read(self, line: Line) -> None:
        """All tokens of a line."""
        at = 0
        text = line.text.rstrip()
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None or (not line.whole and token.end() == len(text) and token["number"]):
                raise _DamagedError("no JSON, or cut")
            at = token.end()
            if token["mark"] in {"{", "["}:
                self._open(token["mark"])
            elif token["mark"] in {"}", "]"}:
                self._close_frame(token["mark"])
            elif token["mark"]:
                self._separate(token["mark"])
            else:
                self._scalar(token, line)

    def _open(self, mark: str) -> None:
        if not self._frames:
            self._frames, self._lacks_its_end = [_Frame("", "}")], True
            return
        parent = self._frames[-1]
        self._expect_value(parent)
        if len(self._frames) >= _DEEPEST:
            raise _DamagedError("deeper than any report of the tool")
        name = parent.key if parent.closing == "}" else "[]"
        opened = _Frame(f"{parent.place}/{name}".lstrip("/"), "}" if mark == "{" else "]")
        self._lacks_its_end &= opened.place != "end"
        self._frames.append(opened)

    def _close_frame(self, mark: str) -> None:
        frame = self._frames[-1] if self._frames else None
        if frame is None or frame.closing != mark or frame.expects not in {"first", "next", "key"}:
            raise _DamagedError("a bracket that closes nothing")
        if frame.expects == "key":
            frame.is_damaged = True  # A comma without another member: a line is missing.
        self._frames.pop()
        if self._frames:
            self._frames[-1].expects = "next"
        if frame.is_result and frame.lines:
            damaged = Broken("a member of this result is damaged or missing") if frame.is_damaged else None
            self._closed.append(Found(frame.lines[0], damaged or self._results.record(frame.place, frame.members), tuple(frame.lines[1:])))
        if frame.place == "start/test_start":
            self._results.describe({} if frame.is_damaged else frame.members)
        self._results.met(frame.place)
        if not self._frames:
            self._results = Results()

    def _separate(self, mark: str) -> None:
        frame = self._frames[-1] if self._frames else None
        wanted = {",": "next", ":": "colon"}[mark]
        if frame is None or frame.expects != wanted:
            raise _DamagedError("a comma or colon out of its place")
        frame.expects = "value" if mark == ":" or frame.closing == "]" else "key"

    def _scalar(self, token: re.Match[str], line: Line) -> None:
        if not self._frames:
            raise _DamagedError("a value outside of the document")
        frame = self._frames[-1]
        if frame.closing == "}" and frame.expects in {"first", "key"}:
            if token["text"] is None:
                raise _DamagedError("a member without a name")
            frame.key, frame.expects = token["text"][1:-1], "colon"
            return
        self._expect_value(frame)
        frame.keep(_value(token))
        frame.expects = "next"
        if frame.is_result and (not frame.lines or frame.lines[-1] is not line):
            if self._is_claimed(line):
                raise _DamagedError("several results on one line: print the JSON with a member a line")
            frame.lines.append(line)

    def _expect_value(self, frame: _Frame) -> None:
        if frame.expects != "value" and not (frame.closing == "]" and frame.expects == "first"):
            raise _DamagedError("a value out of its place")

    def _facts(self) -> Facts | None:
        """What the members that are known by now say of the run."""
        if not self._frames:
            return Facts(status="truncated", reason="the JSON has no 'end'") if self._lacks_its_end else Facts(status="ok")
        place, members = self._frames[-1].place, self._frames[-1].members
        if place == "" and isinstance(error := members.pop("error", None), str):
            return ending(error)
        if place == "start" and isinstance(version := members.pop("version", None), str):
            self._results.printed_by(version)
            return Facts(tool_version=version.removeprefix("iperf "))
        if place == "start" and isinstance(system := members.pop("system_info", None), str):
            return Facts(environment={"system_info": system})
        if place == "start/timestamp" and isinstance(time := members.pop("time", None), str):
            return Facts(start_time=time)
        return None


def _value(token: re.Match[str]) -> Scalar:
    if token["number"]:
        number = token["number"]
        return int(number) if re.fullmatch(r"-?\d+", number) else float(number)
    if token["text"]:
        try:
            return str(json.loads(token["text"]))
        except ValueError:
            raise _DamagedError("a text with an escape that JSON does not know") from None
    return _WORDS[token["word"]]
