"""Prefixes of the lines of a log. Tools that measure do not print them: log collectors, launchers, mail programs and editors add them.

A prefix consists of parts, such as a time and the name of a service. It is recognised from the text alone: nine of ten lines that are not blank must
begin with the same parts. A tool never prints some of these parts, such as a date and time before each line. A tool may print other parts, such as a
word and a colon. Such parts are a prefix only if the formats recognise more lines of the log without them than with them.

No log can make the patterns slow. A pattern matches only at the start of a line, and only a bounded number of characters. Two repetitions in a
pattern never match the same text.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from tacholog.formats.kit.lines import DAYS, MONTHS

Surety = Literal["certain", "likely", "possible"]

_LOOKED_AT = 4096  # The number of characters in which the first lines are searched for a prefix.
_FIRST_LINES = 12
_SEEN_LINES = 2000  # In a longer log, only this number of lines determines the prefix.
_JUDGED, _JUDGED_LINES = 1 << 16, 400  # The formats get at most this number of characters and lines.
_MOST_PARTS = 8
_SHARE = 0.9  # Of the lines that are not blank, at least this share must have the prefix.
_NAMED_SHARE = 0.5  # If at least this share has the prefix, but less than `_SHARE`, a message names the prefix.
_LITERAL_LINES = 3  # If fewer lines have the same first word, the word is no prefix.
_MOST_WORDS = 4
_EXAMPLE_CHARACTERS = 60


class Part(NamedTuple):
    """One part of a prefix.

    Attributes:
        words: a description for messages.
        pattern: a regular expression for the text of the part.
        sure: how sure it is that the part is a prefix, and not output of the tool. "certain": the part is always a prefix, because no tool prints
            such a text before each line. For the other two values, the formats read the lines with the part and without the part. "likely": the part
            is a prefix if removing the part does not reduce the number of recognised lines. "possible": the part is a prefix only if removing the
            part increases this number.
        public: whether the part can never contain the name of a person or of a machine.
        only_behind: the parts that may stand directly before this part. An empty name stands for the start of the line. If the tuple is empty, the
            part may be anywhere in the prefix.
    """

    words: str
    pattern: str
    sure: Surety = "likely"
    public: bool = True
    only_behind: tuple[str, ...] = ()


_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}"
_FRACTION = r"(?:[.,][0-9]{1,9}+)?"
_MONTH = f"(?:{'|'.join(MONTHS)})"
_END = r"(?:[ \t]|$)"
_LEVELS = "TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL"
_WORD = r"[^\s:|\[\]]{1,200}+"


def _time(inner: str) -> str:
    return rf"[\[(]?(?P<time>{inner})[\])]?:?{_END}"


_TIME = "a time"
_ZONE = r"(?:Z| ?(?:UTC|[+-](?:0[0-9]|1[0-4]):?[0-9]{2}))?"
_DATE_AND_TIME = rf"[0-9]{{4}}[-/][0-9]{{2}}[-/][0-9]{{2}}[T ]{_CLOCK}{_FRACTION}{_ZONE}"
# RFC 5424: host, program, process, kind of message, and structured data: none, or up to four [ID NAME="VALUE" ...].
_SYSLOG = rf"<[0-9]{{1,3}}+>1 (?P<time>{_DATE_AND_TIME}) (?:[^ ]{{1,255}}+ ){{4}}(?:-|(?:\[[^]]{{1,500}}+\]){{1,4}}){_END}"
_PARTS = (
    Part("a head of syslog", _SYSLOG, "certain", public=False),
    Part(_TIME, _time(_DATE_AND_TIME), "certain"),
    Part(_TIME, _time(rf"(?:{'|'.join(DAYS)}) {_MONTH} [ 0-9][0-9] {_CLOCK}(?: (?:UTC|GMT))? [0-9]{{4}}"), "certain"),
    Part(_TIME, _time(rf"{_MONTH} [ 0-9][0-9] {_CLOCK}{_FRACTION}"), "certain"),
    Part(_TIME, _time(r"[12][0-9]{9}(?:[0-9]{3}|[.,][0-9]{1,9}+)?")),
    Part(_TIME, _time(rf"{_CLOCK}{_FRACTION}")),
    Part(_TIME, rf"\[ {{0,9}}+[0-9]{{1,9}}+\.[0-9]{{3,9}}+\]{_END}"),
    Part("a quote mark", r"> ?", "certain"),
    Part("a priority", r"<[0-9]{1,3}+>(?:1 )?"),
    Part("a level", rf"(?:\[(?i:{_LEVELS})\]:?|(?:{_LEVELS}):?){_END}"),
    Part("the name of a stream", rf"\[(?i:stdout|stderr|output|out|err)\]{_END}", "certain"),
    Part("the name of a stream", rf"(?:std(?:out|err)(?: [FP]|:)?|[0-9]{{2}}[OE]){_END}"),
    Part("the name of a stream", r"[0-9]{2}[OE]\+"),
    Part("the number of a process", r"\[[0-9]{1,9}+,[0-9]{1,9}+\]<std(?:out|err|diag)>:?"),
    Part("the number of a step", rf"#[0-9]{{1,6}}+ [0-9]{{1,9}}+\.[0-9]{{1,9}}+{_END}"),
    Part("the names of a host and a program", rf"{_WORD} {_WORD}(?:\[[0-9]{{1,10}}+\])?:{_END}", public=False, only_behind=(_TIME, "a priority")),
    Part("a name in brackets", rf"\[[A-Za-z][\w./:@#=-]{{0,250}}+\]:?{_END}", "possible", public=False),  # logs of iceoryx2 have such a part
    Part("the name of a service", rf"[A-Za-z][\w./-]{{0,200}}+ {{0,60}}+\|{_END}", public=False),
    Part("a name", rf"\w[\w.-]{{0,200}}+(?:/[\w.:-]{{1,200}}+){{1,5}}{_END}", public=False),
    Part("a dash", rf"[-|]{_END}", only_behind=(_TIME, "a level", "a name in brackets")),
    Part("a column", r"[^\t\n]{1,200}+\t", "possible", public=False, only_behind=("", "a column")),
)
_COMPILED = tuple(re.compile(part.pattern, re.ASCII) for part in _PARTS)
# One pattern for all parts that may be first. Most lines have no prefix, so one search is enough for such a line.
_ANY = re.compile("|".join(part.pattern.replace("(?P<time>", "(?:") for part in _PARTS if not part.only_behind or "" in part.only_behind), re.ASCII)
_INDENTATION = "an indentation"
_LEADING = re.compile(r"[ \t]{0,200}+")
_FIRST_WORD = re.compile(r"(?P<word>[^\s\\\x00-\x1f\x7f]{1,200}+)(?P<blanks>[ \t]{0,60}+)")


class Prefix:
    """The text that precedes each line of a log. It consists of one or several parts."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        # Only the first time in the prefix is the time of the line. Another program may have added a later time.
        patterns = [part.pattern if index == self._timed else part.pattern.replace("(?P<time>", "(?:") for index, part in enumerate(parts)]
        self.pattern = re.compile("".join(f"(?:{pattern})" for pattern in patterns), re.ASCII)
        self.has_time = self._timed is not None
        self.example = ""

    @property
    def _timed(self) -> int | None:
        return next((index for index, part in enumerate(self.parts) if "(?P<time>" in part.pattern), None)

    @property
    def words(self) -> str:
        """A description of the prefix, without any text of the log."""
        *others, last = dict.fromkeys(part.words for part in self.parts)
        return f"{', '.join(others)} and {last}" if others else last

    @property
    def label(self) -> str:
        """A description of the prefix, with an example from the log."""
        return f"{self.words} ({self.example[:_EXAMPLE_CHARACTERS]!r})"

    @property
    def command(self) -> str:
        """A shell command that removes the prefix."""
        plain = re.sub(r"\(\?(?:P<time>|:)", "(", self.pattern.pattern.replace("}+", "}"))
        plain = re.sub(
            r"\{([01]),[0-9]{3,}\}", lambda match: "*" if match[1] == "0" else "+", plain
        )  # sed expands each counted repetition, and would need gigabytes of memory.
        plain = re.sub(r"\(\?i:([^()]*)\)", lambda match: f"({match[1].lower()}|{match[1].upper()})", plain)
        plain = plain.replace(r"[^\s:|\[\]]", "[^][:space:]:|[]").replace(r"[\w", "[[:alnum:]_")
        plain = plain.replace(r"\w", "[[:alnum:]_]").replace(r"[\[(]", "[[(]").replace(r"[\])]", "[])]")
        mark = next((mark for mark in "/;~!%@,#&=" if mark not in plain), None)
        return "sed -E " + shlex.quote(f"s{mark}^{plain}{mark}{mark}") if mark else "an editor"

    def match(self, text: str) -> re.Match[str] | None:
        """Return the match of the prefix at the start of a line."""
        return self.pattern.match(text)

    def without_names(self, text: str, instead: str) -> str:
        """Return the prefix of a line. Each part that can name a person or a machine is replaced by ``instead``."""
        pieces, position = [], 0
        for part in self.parts:
            match = re.compile(part.pattern, re.ASCII).match(text, position)
            if match is None:
                return instead
            blanks = match[0][len(match[0].rstrip()) :]
            pieces.append(match[0] if part.public else f"{instead}{blanks}")
            position = match.end()
        return "".join(pieces)


class FormatQueries(NamedTuple):
    """Questions to the formats about the first lines of a log.

    Attributes:
        fit: whether any format fits the lines.
        claimed: the number of lines that the fitting formats recognise; -1 if no format fits.
    """

    fit: Callable[[Sequence[str]], bool]
    claimed: Callable[[Sequence[str]], int]


def prefix_of(head: str, queries: FormatQueries) -> Prefix | None:
    """Return the prefix of the lines of a log; ``None`` if there is no prefix, or none is certain enough.

    Args:
        head: the start of the log, in complete lines.
        queries: the questions to the formats.
    """
    if not _may_be_prefixed(_lines(head[:_LOOKED_AT])[:_FIRST_LINES]):
        return None
    prefix = _chosen(_lines(head), _first(head), queries)
    if prefix is not None:
        prefix.example = next(match[0] for line in _lines(head) if (match := prefix.match(line)))
    return prefix


def lacking_prefix(head: str, queries: FormatQueries) -> tuple[Prefix, int, int] | None:
    """Return a prefix that many lines have, but too few for `prefix_of`.

    Returns:
        The prefix, the number of lines with this prefix, and the number of lines that are not blank. ``None`` if no prefix is on many lines, or if
        the text is output of the tool.

    Two rules decide whether a text at the start of many lines is output of the tool:

    - The text is output of the tool if removing the text does not increase the number of lines that the formats recognise.
    - Tools themselves may print a word before each line. Therefore, a word is a prefix only if no format fits the log as it is, but a format fits the
      log if the word is removed.
    """
    lines = _lines(head)
    parts, count = _common(lines, _NAMED_SHARE)
    if not any(part.sure != "possible" for part in parts):
        parts, count = _lacking_word(lines)
        if not parts or queries.fit(lines) or not queries.fit([*_behind(parts, lines)]):
            return None
    if count >= _SHARE * len(lines):
        return None
    prefix = Prefix(parts)
    first = _first(head)
    if (claimed := queries.claimed(first)) > 0 and queries.claimed(_without(prefix, first)) <= claimed:
        return None
    prefix.example = next(match[0] for line in lines if (match := prefix.match(line)))
    return prefix, count, len(lines)


def _lacking_word(lines: Sequence[str]) -> tuple[Sequence[Part], int]:
    """Return the word with which at least half of the lines begin, and the number of these lines."""
    words = Counter(match["word"] for line in lines if (match := _FIRST_WORD.match(line)))
    word, count = words.most_common(1)[0] if words else ("", 0)
    having = [line for line in lines if (match := _FIRST_WORD.match(line)) and match["word"] == word]
    return next(_with_words((), having), ()) if count >= _NAMED_SHARE * len(lines) else (), count


def _lines(head: str) -> list[str]:
    return [line for line in head.split("\n", _SEEN_LINES)[:_SEEN_LINES] if line and not line.isspace()]


def _first(head: str) -> list[str]:
    return head[:_JUDGED].split("\n")[:_JUDGED_LINES]


def _may_be_prefixed(first: Sequence[str]) -> bool:
    if _common(first, _NAMED_SHARE)[0]:
        return True
    enough = _NAMED_SHARE * len(first)
    if sum(line[0] in " \t" for line in first) >= enough:
        return True
    words = Counter(match["word"] for line in first if (match := _FIRST_WORD.match(line)))
    return len(first) >= _LITERAL_LINES and bool(words) and max(words.values()) >= enough


def _chosen(lines: Sequence[str], first: Sequence[str], queries: FormatQueries) -> Prefix | None:
    """Return the best prefix: the formats recognise the most lines of ``first`` if this prefix is removed.

    A certain prefix is returned even if the formats recognise no line. Return ``None`` if no prefix is better than none.
    """
    indentation = _with_indentation((), lines, every=True)
    behind, _ = _common([*_behind(indentation, lines)], _SHARE)
    parts = (*indentation, *behind) if behind else ()
    sure = max((count for count, part in enumerate(parts, 1) if part.sure != "possible"), default=0)
    certain = max((count for count, part in enumerate(parts, 1) if part.sure == "certain"), default=0)
    prefixes = {prefix.pattern.pattern: prefix for prefix in map(Prefix, _candidates(parts, sure, lines))}
    if not sure and not any(queries.fit([*_behind(prefix.parts, first)]) for prefix in prefixes.values() if prefix.parts):
        return None
    enough = _SHARE * sum(1 for line in first if line and not line.isspace())
    best, most = Prefix(parts[:certain]) if certain else None, -1
    for prefix in prefixes.values():
        claimed = queries.claimed(_without(prefix, first))
        if claimed > most:
            best, most = prefix if prefix.parts else None, claimed
        if claimed >= enough:
            break
    return best


def _without(prefix: Prefix, lines: Sequence[str]) -> list[str]:
    return [line[match.end() :] if (match := prefix.match(line)) else line for line in lines]


def _candidates(parts: Sequence[Part], sure: int, lines: Sequence[str]) -> Iterator[Sequence[Part]]:
    """Yield possible prefixes. The likeliest prefix is first, because `_chosen` returns the first of equally good prefixes."""
    yield parts[:sure]
    yield ()
    for end in (*range(sure, len(parts) + 1), *range(sure - 1, -1, -1)):
        yield parts[:end]
        yield _with_indentation(parts[:end], lines, every=True)
    yield _with_indentation((), lines, every=False)
    yield from _with_words(parts[:sure], lines)


def _with_indentation(parts: Sequence[Part], lines: Sequence[str], every: bool) -> Sequence[Part]:
    """Return the parts, followed by the indentation that all lines share; if ``every`` is false, nearly all lines."""
    widths = [len(_LEADING.match(behind)[0]) for behind in _behind(parts, lines) if behind.strip()]  # type: ignore[index]  # it always matches
    if not widths:
        return parts
    width = min(widths) if every else sorted(widths)[int((1 - _SHARE) * len(widths))]
    return (*parts, Part(_INDENTATION, rf"[ \t]{{{width}}}")) if width else parts


def _with_words(parts: Sequence[Part], lines: Sequence[str]) -> Iterator[Sequence[Part]]:
    """Yield the parts with one more word, with two more words, and so on, as long as nearly all lines have the same next word."""
    for _ in range(_MOST_WORDS):
        matches = [match for behind in _behind(parts, lines) if (match := _FIRST_WORD.match(behind))]
        if len(lines) < _LITERAL_LINES or not matches:
            return
        word, count = Counter(match["word"] for match in matches).most_common(1)[0]
        if count < _SHARE * len(lines):
            return
        blanks = min((match["blanks"] for match in matches if match["word"] == word and match.end() < len(match.string)), key=len, default="")
        parts = (*parts, Part("a word", rf"{re.escape(word)}(?:{blanks}|[ \t]{{0,60}}+$)", "possible", public=False))
        yield parts


def _behind(parts: Sequence[Part], lines: Sequence[str]) -> Iterator[str]:
    if not parts:
        yield from lines
        return
    prefix = Prefix(parts)
    yield from (line[match.end() :] for line in lines if (match := prefix.match(line)))


def _common(lines: Sequence[str], share: float) -> tuple[Sequence[Part], int]:
    """Return the parts that many lines have in common at their start, and the number of lines that begin with the first part.

    At least ``share`` of the lines begin with these parts.
    """
    chains = Counter(_chain(line) for line in lines)
    chosen: tuple[int, ...] = ()
    count, least = 0, share * len(lines)
    while True:
        following: Counter[int] = Counter()
        for chain, times in chains.items():
            if len(chain) > len(chosen) and chain[: len(chosen)] == chosen:
                following[chain[len(chosen)]] += times
        if not following:
            break
        part, times = following.most_common(1)[0]
        if times < least:
            break
        chosen, count, least = (*chosen, part), count or times, max(least, _SHARE * times)
    return [_PARTS[index] for index in chosen], count


def _chain(line: str) -> tuple[int, ...]:
    """Return the parts with which a line begins, as indexes of `_PARTS`."""
    parts: list[int] = []
    position = 0
    if not _ANY.match(line):
        return ()
    while len(parts) < _MOST_PARTS and position < len(line):
        before = _PARTS[parts[-1]].words if parts else ""
        for index, (part, pattern) in enumerate(zip(_PARTS, _COMPILED, strict=True)):
            if (not part.only_behind or before in part.only_behind) and (match := pattern.match(line, position)):
                parts.append(index)
                position = match.end()
                break
        else:
            break
    return tuple(parts)
