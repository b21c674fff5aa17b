"""RTI Perftest's JSON, read line by line: the C++ program omits the start and the end of the document, and mixes the document with other output.

Every value has its own line, so an object consists of the lines between its braces. An object is complete if it has all its keys, in the order in
which the tool prints them. JSON does not state the unit of time: it is assumed to be the microsecond, as in all normal builds, and the figures are
marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import inf

from tacholog.formats.kit import Broken, Cell, Finding, Line, LineRule, Record, finding_on
from tacholog.formats.rti import rules
from tacholog.formats.rti.banner import Banner
from tacholog.formats.rti.rules import COSTS, LATENCIES, LATENCY, RATES, RUNNING, RUNNING_LATENCY, RUNNING_RATES, RUNNING_THROUGHPUT, SUMMARY, unit_ns

_LENGTH = re.compile(r'\s*"length":(?P<size>[0-9]{1,40}),\s*')  # Within an interval, a blank follows the colon.
_OPENING = re.compile(r'\s*"(?P<what>intervals|summary)":\s*[\[{]\s*')
_FIELD = re.compile(r'\s*"(?P<key>[a-zA-Z0-9_./]{1,20})": (?P<value>-?[0-9]{1,40}(?:[.,][0-9]{1,3})?)(?P<comma>,?)\s*')
_DOCUMENT = re.compile(r'\s*\{\s*"perftest":\s*')
_STRUCTURE = re.compile(r"(?P<signs>(?>[\s{}\[\],]*[{}\[\],]))(?P<rest>.*)")
MISSING = Broken("keys of this object are missing or out of place")
_OPEN_LINES = 400
_TIMES = ("latency_ave", "latency_std", "latency_min", "latency_max")
_PERCENTILES = ("latency_50", "latency_90", "latency_99", "latency_99.99", "latency_99.9999")
_COSTS = ("serialize", "deserialize", "total_s")
# The rule for each kind of object. The key lists the names of the object's values. The value of the mapping is the rule, and the names that the rule
# has for these values, in the order of the key. The last entry is for a kind of object that only RTI's design document shows.
_OBJECTS: Mapping[tuple[str, ...], tuple[LineRule, tuple[str, ...]]] = {
    (*_TIMES, *_PERCENTILES): (LATENCY, LATENCIES),
    (*_TIMES, *_PERCENTILES, *_COSTS): (LATENCY, (*LATENCIES, *COSTS)),
    ("latency", *_TIMES): (RUNNING_LATENCY, RUNNING),
    ("length", "packets", "packets/s", "packets/s_ave", "mbps", "mbps_ave", "lost", "lost_percent"): (RUNNING_THROUGHPUT, RUNNING_RATES),
    ("packets", "packets/sAve", "mbpsAve", "lost", "lostPercent"): (SUMMARY, RATES[1:]),
    ("packets", "packets/s_ave", "mbps_ave", "lost", "lost_percent"): (SUMMARY, RATES[1:]),
}


class JsonOutput:
    """Reads the document. It stores the current size, and the lines and the values of the open object."""

    def __init__(self, banner: Banner) -> None:
        """Create a reader for a new document. ``banner`` recognises other output of the tool that is on the same line as a brace."""
        self._banner = banner
        self._size: str | None = None
        self._inside = self._intervals = False
        self._sizes = 0  # How many sizes still wait for their summary. If there are several, two documents are mixed.
        self._test: str | None = None
        self._extremes: tuple[float, float] | None = None
        self._object: str | None = None
        self._lines: list[Line] = []
        self._values: dict[str, Cell] = {}
        self._ended = False  # Whether no comma was after the latest value.

    def take(self, line: Line) -> list[Finding] | None:
        """Read a line of the document; ``None`` for any other line."""
        text = line.text
        if begin := _LENGTH.fullmatch(text) or _DOCUMENT.fullmatch(text):
            return self._take_beginning(line, begin.groupdict().get("size"))
        if opening := _OPENING.fullmatch(text):
            return self._take_opening(line, opening["what"])
        if field := _FIELD.fullmatch(text):
            return self._take_value(line, field)
        if not self._inside:
            return [Finding(line, None)] if text in {",", "\t\t{"} else None
        structure = _STRUCTURE.fullmatch(text)
        if structure is None or not self._is_known(line, structure["rest"]):
            return None
        return self._take_structure(line, structure["signs"])

    def close(self, reason: str) -> Iterator[Finding]:
        """Close the open object, if there is one, and yield the object as broken."""
        if self._lines:
            yield finding_on(self._lines, Broken(reason))
            self._size = None  # Later objects may belong to another size, whose start is lost.
        self._object, self._lines, self._values, self._ended = None, [], {}, False

    def noise(self, line: Line) -> list[Finding]:
        """Handle a line that is not part of the document. After too many such lines, the open object is broken."""
        is_too_long = bool(self._lines) and line.number - self._lines[0].number > _OPEN_LINES
        return list(self.close("the object does not end")) if is_too_long else []

    def _is_known(self, line: Line, behind: str) -> bool:
        """Whether a text may follow braces on the same line: the tool may print other output without a line end after the braces."""
        return not behind or self._lines != [] or self._banner.take(line._replace(text=behind)) is not None

    def _take_beginning(self, line: Line, size: str | None) -> list[Finding]:
        done = list(self.close("another size begins within this object"))
        self._inside, self._intervals, self._extremes, self._test, self._ended = True, False, None, None, False
        self._sizes = self._sizes + 1 if size else 0
        self._size = size if self._sizes == 1 else None
        return [*done, Finding(line, None)]

    def _take_opening(self, line: Line, what: str) -> list[Finding]:
        done = list(self.close("another object begins within this one"))
        if self._size is None or (what == "intervals" and self._extremes is not None):
            return [*done, Finding(line, Broken("there is no length before this object"))]
        self._intervals = what == "intervals"
        if self._intervals:
            self._extremes = (inf, -inf)
            return [*done, Finding(line, None)]
        self._object, self._lines = what, [line]
        return done

    def _take_value(self, line: Line, field: re.Match[str]) -> list[Finding]:
        if self._object is None or field["key"] in self._values or self._ended:
            done = list(self.close("values of this object are missing or repeated"))
            return [*done, Finding(line, Broken("a value outside of an object"))]
        self._lines.append(line)
        self._values[field["key"]] = Cell(field["value"], field.start("value"), line.number)
        self._ended = not field["comma"]
        return []

    def _take_structure(self, line: Line, signs: str) -> list[Finding]:
        done: list[Finding] = []
        mine = False
        for sign in signs:
            if sign == "{" and self._intervals:
                done += self.close("another object begins within this one")
                self._object, self._lines, mine = "interval", [line], True
            elif sign == "}" and self._lines and not mine:
                done.append(self._close_object(line))
                mine = True
            elif sign == "]":
                self._intervals = False
        return done if mine else [*done, Finding(line, None)]

    def _close_object(self, line: Line) -> Finding:
        lines = (*self._lines, line)
        summary = self._object == "summary"
        what = self._check_order(_record(self._size or "0", self._values, summary=summary)) if self._ended else MISSING
        if summary:
            self._size, self._sizes = None, max(self._sizes - 1, 0)  # The length must be stated again before the next object.
        self._object, self._lines, self._values, self._ended = None, [], {}, False
        return finding_on(lines, what)

    def _check_order(self, record: Record | Broken) -> Record | Broken:
        """Check a result against earlier results of the same size.

        The minimum never grows, and the maximum never shrinks. The summary repeats the last minimum and maximum.
        """
        if isinstance(record, Broken):
            return record
        if self._test not in {None, record.test}:
            return Broken("another program printed this object than the objects before it")
        self._test = record.test
        if record.test != "latency" or self._extremes is None:
            return record
        low, high = (float(self._values[f"latency_{name}"].replace(",", ".")) for name in ("min", "max"))
        old_low, old_high = self._extremes
        are_same = (low, high) == (old_low, old_high)
        if low > old_low or high < old_high or (record.scope == "summary" and not are_same):
            self._size = None
            return Broken("the minimum grew or the maximum shrank: this object belongs to another size than the objects before it")
        self._extremes = (low, high)
        return record


def _record(size: str, values: Mapping[str, Cell], *, summary: bool) -> Record | Broken:
    keys = tuple(values)
    last = "cpu" if keys[-1:] in {("cpu",), ("CPU",)} else None
    keys = keys[:-1] if last else keys
    rule, groups = _OBJECTS.get(keys, (None, ()))
    if rule is None or (rule.like.scope == "summary") != summary:
        return MISSING
    texts = dict(zip((*groups, "cpu"), values.values(), strict=False))
    if any(text.startswith("-") for name, text in texts.items() if name not in {*COSTS, "cpu"}) or size == "0":
        return Broken("an impossible value in this object")
    if texts.setdefault("size", Cell(size, 0)) != size:
        return MISSING
    is_assumed = rule in (LATENCY, RUNNING_LATENCY) and not re.search("[.,]", texts["min"])
    return rules.record(rule, texts, ("unit_assumed",) if is_assumed else (), unit=unit_ns("us"), has_names=1)
