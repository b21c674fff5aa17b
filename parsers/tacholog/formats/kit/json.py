"""JSON with the line of each value: a document is read line by line, in bounded memory, and damage affects as few results as possible.

A value is identified by its path: the names of the members that lead to it, joined by ``/``. ``[]`` stands for any element of a list, as in
``jobs/[]/write/clat_ns/mean``. In a name, ``/`` is replaced by ``~1``, and ``~`` by ``~0``.

Source: RFC 8259 (JSON); RFC 6901 (JSON Pointer) for names with a ``/``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tacholog.formats.kit.findings import Finding
from tacholog.formats.kit.lines import Broken, Cell, Line
from tacholog.formats.kit.numbers import COUNT_LIMIT, VALUE_LIMIT, at_cell, converted, impossible, unit_of_last_decimal
from tacholog.schema.records import Facts, Number, Record

JsonScalar = str | int | float | bool | None
JsonResult = Record | Facts | Broken | None

_TOKEN = re.compile(
    r"\s*(?:(?P<mark>[{}\[\],:])|(?P<text>\"(?:[^\"\\\x00-\x1f]|\\.)*\")|(?P<number>-?[0-9]{1,20}(?:\.[0-9]{1,25})?(?:[eE][-+]?[0-9]{1,3})?)(?![\w.])|"
    r"(?P<word>true|false|null)\b)"
)
# A line that another program printed into a document. In JSON, no member and no element begins with a letter, except for the words true, false and
# null.
_FOREIGN = re.compile(r"(?!\s*+(?:true|false|null)\b)\s*+[^\W\d_][^\"{}\[\]]*+")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_DEEPEST = 16
_MOST_MEMBERS = 4096
_HELD_LINES = 4000  # A format must claim each line within 4096 lines.


class JsonMember(NamedTuple):
    """A value that is neither an object nor a list: the value, its printed text, and its line."""

    value: JsonScalar
    text: str
    line: Line


class JsonObject(NamedTuple):
    """An object: its path, its values by their names, and the lines of these values.

    Values of nested objects and lists have names like ``clat_ns/mean`` and ``bins/0``. ``is_damaged``: a value is missing or garbled.
    ``damaged_line`` is its line, if it is known.
    """

    path: str
    members: Mapping[str, JsonMember]
    lines: tuple[Line, ...]
    is_damaged: bool = False
    damaged_line: Line | None = None

    @property
    def place(self) -> str:
        """The path. Formats that were written for version 0.4.0 use this name, because that version had no other name for the path."""
        return self.path

    def found(self, what: JsonResult) -> Finding:
        """Make a finding on the lines of this object. A broken result is shown at its damaged line."""
        if isinstance(what, Broken) and self.damaged_line in self.lines:
            return Finding(self.damaged_line, what, tuple(line for line in self.lines if line is not self.damaged_line))
        return Finding(self.lines[0] if self.lines else None, what, self.lines[1:])

    def whole(self, name: str) -> int | None:
        """Return a whole number below 2^63; ``None`` if the object has no such number with this name."""
        value = self.members[name].value if name in self.members else None
        return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < COUNT_LIMIT else None

    def real(self, name: str) -> float | None:
        """Return a number; ``None`` if the object has no number with this name."""
        value = self.members[name].value if name in self.members else None
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= VALUE_LIMIT else None

    def text(self, name: str) -> str | None:
        """Return a text; ``None`` if the object has no text with this name."""
        value = self.members[name].value if name in self.members else None
        return value if isinstance(value, str) else None

    def number(self, name: str, metric: str, statistic: str, unit: float = 1.0, *, is_binned: bool = False) -> Number | None:
        """Return the number of a record; ``None`` if there is none with this name. ``unit`` converts the printed value to the metric's unit.

        The number stores its line. Its resolution is the unit of
        its last printed digit. If ``is_binned`` is true (a percentile from a histogram), the number has more digits than were measured, and its
        resolution is unknown. A number below zero is impossible. A printed 0 may be an exact 0.
        """
        value = self.real(name)
        if value is None:
            return None
        text = self.members[name].text
        if value < 0:
            return impossible(metric, statistic, line=self.members[name].line.number, cell=text)
        resolution = None if is_binned or "e" in text.lower() else unit_of_last_decimal(text) * unit
        return at_cell(
            Number(metric=metric, statistic=statistic, value=converted(value, unit), resolution=resolution, line=self.members[name].line.number), text
        )


class JsonLine(NamedTuple):
    """The contents of one line of a document.

    Attributes:
        members: the values on the line, each with its path. Values in kept objects are left out.
        opened: the paths of the objects and lists that begin on the line.
        closed: the objects that end on the line.
        damage: the error in the line; ``None`` if there is no error.
        lost: the kept objects that cannot be completed.
        is_foreign: true if the line is no part of the document, because another program printed the line.
    """

    members: list[tuple[str, JsonMember]]
    opened: list[str]
    closed: list[JsonObject]
    damage: str | None = None
    lost: tuple[JsonObject, ...] = ()
    is_foreign: bool = False


class _OpenValue:
    def __init__(self, path: str, closing: str, keeps: bool) -> None:
        self.path, self.closing, self.keeps = path, closing, keeps
        self.key = ""
        self.members: dict[str, JsonMember] = {}
        self.lines: list[Line] = []
        self.count = 0  # the number of elements of a list
        self.expects = "first"  # what may be next: "first" (the first item, or the end), "key", "colon", "value", or "next" (a comma, or the end)
        self.is_damaged = False
        self.damaged_line: Line | None = None

    def damage(self, line: Line | None = None) -> None:
        self.is_damaged = True
        self.damaged_line = self.damaged_line or line

    def keep(self, name: str, member: JsonMember) -> None:
        """Add a value. If its name is repeated, or the object has too many values, the object is damaged."""
        if name in self.members or len(self.members) >= _MOST_MEMBERS:
            self.damage(member.line)
        else:
            self.members[name] = member
        self.stand_on(member.line)

    def stand_on(self, line: Line) -> None:
        if not self.stands_on(line) and len(self.lines) < _HELD_LINES:
            self.lines.append(line)

    def stands_on(self, line: Line) -> bool:
        return bool(self.lines) and self.lines[-1] is line

    def object(self) -> JsonObject:
        return JsonObject(self.path, self.members, tuple(self.lines), self.is_damaged, self.damaged_line)


class _DamagedError(ValueError):
    """The text is not JSON."""


class JsonReader:
    """Reads one document after another, line by line. The values of an object are kept if ``keeps`` returns true for its path.

    ``nested``: whether a kept object also keeps the values of the objects and lists within it. ``shares_lines``: whether several kept objects may be
    on the same line.
    """

    def __init__(self, keeps: Callable[[str], bool], *, nested: bool = True, shares_lines: bool = True) -> None:
        self._keeps, self._nested, self._shares_lines = keeps, nested, shares_lines
        self._frames: list[_OpenValue] = []
        self._line = JsonLine([], [], [])

    @property
    def is_open(self) -> bool:
        """Whether a document is open."""
        return bool(self._frames)

    def holders(self, line: Line) -> list[str]:
        """Return the paths of kept objects that are still open and whose latest value is on this line."""
        return [frame.path for frame in self._frames if frame.lines and frame.lines[-1] is line]

    def take(self, line: Line) -> JsonLine:
        """Read a line. The first line of a document begins with its opening brace or bracket."""
        self._line = JsonLine([], [], [])
        if self.is_open and _FOREIGN.fullmatch(line.text):
            return self._line._replace(is_foreign=True)
        try:
            self._read(line)
        except _DamagedError as error:
            return self.spoil(line, str(error))
        return self._line

    def spoil(self, line: Line, damage: str) -> JsonLine:
        """Treat a line as damaged. Only the object of this line is lost, unless the line has a brace or bracket: then all later paths are unknown."""
        frame = self._frames[-1] if self._frames else None
        if frame is not None and frame.closing == "}" and not re.search(r"[{}\[\]]", line.text):
            frame.expects = "key"
            keeper = self._keeper() or frame
            keeper.damage(line)
            if keeper.keeps:
                keeper.stand_on(line)
            return self._line._replace(damage=damage)
        for open_frame in self._frames:
            open_frame.lines = [own_line for own_line in open_frame.lines if own_line is not line]
        return self._line._replace(damage=damage, lost=self.abandon())

    def abandon(self) -> tuple[JsonObject, ...]:
        """Leave the document, and return the kept objects that were still open."""
        lost = tuple(frame.object() for frame in self._frames if frame.keeps and frame.lines)
        self._frames = []
        return lost

    def _keeper(self) -> _OpenValue | None:
        frames = self._frames
        if self._nested:
            return next((frame for frame in frames if frame.keeps), None)
        return frames[-1] if frames and frames[-1].keeps else None

    def _read(self, line: Line) -> None:
        position = 0
        text = line.text.rstrip()
        end = len(text)
        while position < end:
            token = _TOKEN.match(text, position)
            kind = token.lastgroup if token else None
            if token is None or kind is None or (not line.whole and token.end() == end and kind == "number"):
                raise _DamagedError("no JSON, or cut")
            position, printed = token.end(), token[kind]
            if kind != "mark":
                self._scalar(kind, Cell(printed, token.start(kind), line.number) if kind != "word" else printed, line)
            elif printed in ",:":
                self._separate(printed)
            elif printed in "{[":
                self._open(printed)
            else:
                self._close(printed)

    def _open(self, mark: str) -> None:
        if not self._frames:
            self._frames = [_OpenValue("", "}" if mark == "{" else "]", mark == "{" and self._keeps(""))]
            return
        parent = self._frames[-1]
        self._expect_value(parent)
        if len(self._frames) >= _DEEPEST:
            raise _DamagedError("nested more deeply than any report of the tool")
        path = f"{parent.path}/{_name_or_index(parent, any_element=True)}".lstrip("/")
        self._frames.append(_OpenValue(path, "}" if mark == "{" else "]", mark == "{" and self._keeps(path)))
        self._line.opened.append(path)

    def _close(self, mark: str) -> None:
        frame = self._frames[-1] if self._frames else None
        if frame is None or frame.closing != mark or frame.expects not in {"first", "next", "key"}:
            raise _DamagedError("a bracket that closes nothing")
        if frame.expects == "key":  # After a comma, another member must follow, so a line is missing.
            (self._keeper() or frame).is_damaged = frame.is_damaged = True
        self._frames.pop()
        if self._frames:
            self._frames[-1].expects, self._frames[-1].count = "next", self._frames[-1].count + 1
        if frame.closing == "}":
            self._line.closed.append(frame.object())

    def _separate(self, mark: str) -> None:
        frame = self._frames[-1] if self._frames else None
        if frame is None or frame.expects != ("next" if mark == "," else "colon"):
            raise _DamagedError("a comma or colon in the wrong place")
        frame.expects = "value" if mark == ":" or frame.closing == "]" else "key"

    def _scalar(self, kind: str, text: str, line: Line) -> None:
        if not self._frames:
            raise _DamagedError("a value outside of the document")
        frame = self._frames[-1]
        if frame.closing == "}" and frame.expects in {"first", "key"}:
            if kind != "text":
                raise _DamagedError("a member without a name")
            frame.key, frame.expects = text[1:-1], "colon"
            return
        self._expect_value(frame)
        member = JsonMember(_value(kind, text), text, line)
        if keeper := self._keeper():
            if not (self._shares_lines or keeper.stands_on(line)) and any(line in item.lines for item in self._line.closed):
                raise _DamagedError("several results on one line: print the JSON with one member on each line")
            keeper.keep(self._name_in(keeper), member)
        else:
            self._line.members.append((f"{frame.path}/{_name_or_index(frame, any_element=True)}".lstrip("/"), member))
        frame.expects, frame.count = "next", frame.count + 1

    def _name_in(self, keeper: _OpenValue) -> str:
        """Return the name of the current value within ``keeper``, an open object that contains the value."""
        if keeper is self._frames[-1]:
            return _name_or_index(keeper, any_element=False)
        inner = self._frames[self._frames.index(keeper) :]
        return "/".join(_name_or_index(frame, any_element=False) for frame in inner)

    def _expect_value(self, frame: _OpenValue) -> None:
        if frame.expects != "value" and not (frame.closing == "]" and frame.expects == "first"):
            raise _DamagedError("a value in the wrong place")


def _name_or_index(frame: _OpenValue, *, any_element: bool) -> str:
    if frame.closing == "]":
        return "[]" if any_element else str(frame.count)
    return frame.key.replace("~", "~0").replace("/", "~1") if "/" in frame.key or "~" in frame.key else frame.key


def _value(kind: str, text: str) -> JsonScalar:
    if kind == "number":
        return int(text) if text.removeprefix("-").isdigit() else float(text)
    if kind == "word":
        return _WORDS[text]
    try:
        return str(json.loads(text))
    except ValueError:
        raise _DamagedError("a text with an escape that JSON does not know") from None


def json_findings(
    lines: Iterable[Line],
    results: Mapping[str, Callable[[JsonObject], Iterable[JsonResult]]],
    facts: Callable[[str, JsonScalar], Facts | None] = lambda _path, _value: None,
) -> Iterator[Finding]:
    """Yield the findings in a log of JSON documents: a complete ``parse`` for a tool that prints JSON.

    Args:
        lines: the lines of the log. Lines outside of documents stay unknown.
        results: the functions that read results. The key is the path of the object that is a result, such as ``jobs/[]``. A damaged object is a
            broken line, and no function gets it.
        facts: a function that gets the path and the value of each other member. It returns the facts about the run that the member states, or
            ``None``.
    """
    reader = JsonReader(results.__contains__)
    for line in lines:
        if not reader.is_open and not line.text.lstrip().startswith("{"):
            continue
        read = reader.take(line)
        if read.is_foreign:
            continue
        done = [item for item in read.closed if item.path in results and item.lines and (read.damage is None or line not in item.lines)]
        for item in done:
            yield from _results(item, results[item.path])
        for item in read.lost:
            yield item.found(Broken("the JSON is damaged after this result"))
        is_claimed = any(line in item.lines for item in done) or bool(reader.holders(line))
        if read.damage and not is_claimed:
            yield Finding(line, Broken(read.damage))
        stated_facts = [fact for path, member in read.members if (fact := facts(path, member.value))]
        yield from (Finding(line, fact) for fact in stated_facts)
        if not (is_claimed or stated_facts or read.damage):
            is_stray = any(path in results for path, _ in read.members)
            yield Finding(line, Broken("a value instead of a result") if is_stray else None)
        if read.damage and not reader.is_open:
            yield Finding(None, Facts(status="truncated", reason="the JSON is damaged, so the lines after the damage cannot be read"))
    if reader.is_open:
        yield from (item.found(Broken("the JSON ends within this result")) for item in reader.abandon())
        yield Finding(None, Facts(status="truncated", reason="the JSON ends before its last brace"))


def _results(item: JsonObject, read: Callable[[JsonObject], Iterable[JsonResult]]) -> Iterator[Finding]:
    if item.is_damaged:
        yield item.found(Broken("a member of this result is damaged or missing"))
        return
    if item.lines[-1].number - item.lines[0].number > _HELD_LINES:
        yield item.found(Broken("this result has too many lines"))
        return
    results = list(read(item))
    yield from map(item.found, results or [None])


def settings_text(settings: Mapping[str, str]) -> str | None:
    """Return settings in the form of the condition ``settings``: a JSON object with sorted names. ``None`` if there are no settings."""
    return json.dumps(dict(sorted(settings.items())), ensure_ascii=False) if settings else None


def parse_json(text: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any] | None:
    """Parse a text that is one JSON object; ``None`` if it is no object, or contains a repeated name, NaN, infinity or a too large number."""
    try:
        value = json.loads(text, parse_float=parse_float, parse_constant=_refuse_constant, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError, ArithmeticError):  # Decimal raises ArithmeticError for an exponent of twenty digits.
        return None
    return value if isinstance(value, dict) else None


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _without_doubles(members: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(members)
    if len(unique) != len(members):
        raise ValueError("two members with the same name")
    return unique
