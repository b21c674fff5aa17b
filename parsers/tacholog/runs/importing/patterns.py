"""Patterns that read fields from the path of a log: ``{label.plugin}/test-{repetition}/perf-{role}{participant}.log``.

A pattern is compared with the whole path, folder by folder. No field contains a slash. A field of text takes at least one character, and as few as
the rest of the name of its folder or file allows, from left to right. ``{repetition}`` and ``{participant}`` take all digits that stand there,
``{role}`` one of `ROLES`. ``{{`` and ``}}`` stand for braces.

Paths come from strangers. So no regular expression is used, whose time could grow with a power of the path's length. `_values` tries each position of
a field of text at most once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from tacholog.errors import UnreadableInput
from tacholog.runs.moments import form_pattern, in_form
from tacholog.schema.records import Side

#: The words that ``{role}`` takes, and the side that each of them means. A client sends, or starts each round trip.
ROLES: Mapping[str, Side] = {
    "publisher": "publisher",
    "pub": "publisher",
    "client": "publisher",
    "subscriber": "subscriber",
    "server": "subscriber",
    "sub": "subscriber",
}
DIGITS = ("repetition", "participant")
ROLE = "role"
START = "start_time"
_SIZES = ("payload_bytes", "conditions.payload_bytes")
#: The unit of a size, as a path has it right behind a number: ``k`` of ``64k.log``.
UNIT = re.compile(r"(?:[kKmMgG][bB]?|[KMG]i[bB]?)(?![A-Za-z])")
_LONGEST_FIRST = sorted(ROLES, key=lambda word: -len(word))
_MOST_DIGITS = 18  # Such a number fits into 64 bits.
_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}/]*)\}|[{}]|[^{}]+")
_NUMBER = re.compile(r"[0-9]+")
_MOST_FIELDS = 64
_COMPRESSED = (".gz", ".xz", ".zst")  # endings of the kinds that `open_log` reads


def uncompressed(path: str) -> str:
    """Return the path that a log would have if it were not compressed."""
    ending = next((ending for ending in _COMPRESSED if path.endswith(ending)), "")
    return path.removesuffix(ending)


class PatternField(NamedTuple):
    """A field of a pattern. The name of a field that is ignored begins with ``_``, or is ``*``. ``form`` is that of a time."""

    name: str
    form: str = ""

    @property
    def is_text(self) -> bool:
        """Whether the field takes any text."""
        return self.name not in (*DIGITS, ROLE) and not self.form

    def value(self, text: str) -> str:
        """Return the value that a text of a path is."""
        return (in_form(text, self.form) or text) if self.form else text

    @property
    def is_ignored(self) -> bool:
        """Whether the pattern only passes over what the field takes."""
        return self.name == "*" or self.name.startswith("_")


Token = str | PatternField
#: The tokens of the name of one folder, or of the file.
Segment = tuple[Token, ...]


class Disagreement(NamedTuple):
    """A field that stands twice in a pattern, and has two values in a path."""

    field: str
    first: str
    second: str

    def __str__(self) -> str:
        """Return a sentence that names both values."""
        return f"{{{self.field}}} stands twice in the pattern, and is {self.first!r} and {self.second!r} in this path"


class Pattern(NamedTuple):
    """A pattern, ready to be compared with paths."""

    text: str
    segments: tuple[Segment, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields that are not ignored, each once, in their order."""
        tokens = (token for segment in self.segments for token in segment)
        return tuple(dict.fromkeys(token.name for token in tokens if isinstance(token, PatternField) and not token.is_ignored))

    def match(self, path: str) -> dict[str, str] | Disagreement | None:
        """Return the values of the fields in a path.

        A field that an earlier folder has given its value must have the same value again. So its value is looked for as plain text.
        A path that does not fit as it stands may be that of a compressed log: then its ending counts for nothing.

        Args:
            path: relative to the folder that is imported, with ``/`` between folders.

        Returns:
            The values by the names of their fields; `Disagreement` if the path fits only if a field has two values; ``None`` if it does not fit.
        """
        found = self._match(path)
        plain = uncompressed(path)
        return self._match(plain) if found is None and plain != path else found

    def _match(self, path: str) -> dict[str, str] | Disagreement | None:
        parts = path.split("/")
        if len(parts) != len(self.segments):
            return None
        found: dict[str, str] = {}
        for segment, part in zip(self.segments, parts, strict=True):
            known = tuple(found.get(token.name, token) if isinstance(token, PatternField) and not token.form else token for token in segment)
            values = _values(known, part)
            if values is None and known != segment:
                return self._disagreement(path)
            for name, value in values or ():
                if found.setdefault(name, value) != value:
                    return Disagreement(name, found[name], value)
            if values is None:
                return None
        return found

    def _disagreement(self, path: str) -> Disagreement | None:
        """Return which field has two values in a path that does not fit; ``None`` if the path does not fit for another reason."""
        first: dict[str, str] = {}
        found: Disagreement | None = None
        for segment, part in zip(self.segments, path.split("/"), strict=True):
            values = _values(segment, part)
            if values is None:
                return None
            for name, value in values:
                if first.setdefault(name, value) != value:
                    found = found or Disagreement(name, first[name], value)
        return found


def read_pattern(text: str, where: str) -> Pattern:
    """Read a pattern. The names of its fields are not checked here.

    Args:
        text: the pattern.
        where: where it stands, for messages, such as ``--map``.

    Raises:
        UnreadableInput: it is no pattern; the message says why.
    """
    plain = text.removeprefix("./")
    if plain.startswith("/"):
        raise UnreadableInput(f"{where} {text!r}: a pattern is compared with the path below the imported folder, so it does not begin with a slash")
    segments = tuple(tuple(_tokens(part, text, where)) for part in plain.split("/"))
    if not all(segments):
        raise UnreadableInput(f"{where} {text!r}: the name of a folder or of the file is empty")
    if sum(isinstance(token, PatternField) for segment in segments for token in segment) > _MOST_FIELDS:
        raise UnreadableInput(f"{where} {text!r}: more than {_MOST_FIELDS} fields")
    for segment in segments:
        for first, second in pairwise(segment):
            if trouble := _unclear(first, second):
                raise UnreadableInput(f"{where} {text!r}: {trouble}")
    return Pattern(text, segments)


def _tokens(part: str, text: str, where: str) -> Iterator[Token]:
    """Yield the tokens of the name of a folder. Text without a field between is one token."""
    plain = ""
    for found in _TOKEN.finditer(part):
        if found[0] in ("{", "}"):
            raise UnreadableInput(f"{where} {text!r}: a brace without its partner; write {{{{ or }}}} for a brace in a path")
        if found[1] is None:
            plain += {"{{": "{", "}}": "}"}.get(found[0], found[0])
            continue
        if plain:
            yield plain
            plain = ""
        if not found[1]:
            raise UnreadableInput(f"{where} {text!r}: {{}} has no name; write {{*}} for text that is ignored")
        name, _, form = found[1].partition(":")
        if form:
            _check_form(name, form, f"{where} {text!r}")
        yield PatternField(name, form)
    if plain:
        yield plain


def _check_form(name: str, form: str, where: str) -> None:
    """Refuse a form that nobody could read a time in."""
    if name != START:
        raise UnreadableInput(f"{where}: {{{name}:...}}: only {{{START}:...}} takes a form, such as {{{START}:%d-%m-%Y_%H-%M-%S}}")
    try:
        form_pattern(form)
    except ValueError as error:
        raise UnreadableInput(f"{where}: {{{name}:{form}}}: {error}") from None


def _unclear(first: Token, second: Token) -> str | None:
    """Return why nobody could say where one of two neighbours ends and the other begins; ``None`` if that is clear."""
    if isinstance(first, PatternField) and isinstance(second, PatternField):
        both_text, both_digits = first.is_text and second.is_text, first.name in DIGITS and second.name in DIGITS
        if both_text or both_digits:
            return f"nothing stands between {{{first.name}}} and {{{second.name}}}, so it is not clear where the first one ends"
    if isinstance(first, PatternField) and first.name in DIGITS and isinstance(second, str) and _NUMBER.match(second):
        return f"a digit follows {{{first.name}}}, which takes all digits that stand there"
    if isinstance(first, PatternField) and first.name in _SIZES and isinstance(second, str) and (unit := UNIT.match(second)):
        return _unit_behind(first.name, unit[0])
    return None


def _unit_behind(name: str, unit: str) -> str:
    """Return why a unit cannot stand behind the field of a size: as text it would be ignored, and 64k would be read as 64 bytes."""
    if unit in ("KiB", "MiB"):
        return f"{unit} follows {{{name}}}, which would be read as bytes; leave out {unit}: the field takes it with the number"
    return (
        f"{unit} follows {{{name}}}, which would be read as bytes; write a rule for each size instead, with the size in its path "
        "and, for example, set = { payload_bytes = 65536 }"
    )


def _values(tokens: Segment, text: str) -> list[tuple[str, str]] | None:
    """Return the values of the fields in the name of a folder or file, in order, without those that are ignored; ``None`` if it does not fit.

    If the tokens behind a field of text fit nowhere behind some position, they fit nowhere behind a later one either. ``hopeless`` holds that
    position of each token, so that no position is tried twice.
    """
    hopeless: dict[int, int] = {}

    def rest(place: int, start: int) -> list[tuple[str, str]] | None:
        if place == len(tokens):
            return [] if start == len(text) else None
        token = tokens[place]
        if isinstance(token, PatternField) and token.is_text and start >= hopeless.get(place, len(text) + 1):
            return None
        for end in _ends(tokens, place, text, start):
            found = rest(place + 1, end)
            if found is not None:
                if isinstance(token, PatternField) and not token.is_ignored:
                    found.insert(0, (token.name, token.value(text[start:end])))
                return found
            if isinstance(token, PatternField) and token.is_text and _is_hopeless(tokens, place + 1, end, hopeless):
                break
        if isinstance(token, PatternField) and token.is_text:
            hopeless[place] = min(start, hopeless.get(place, start))
        return None

    return rest(0, 0)


def _is_hopeless(tokens: Segment, place: int, start: int, hopeless: Mapping[int, int]) -> bool:
    """Return whether a later field of text is known to fit nowhere behind this position."""
    return any(start >= hopeless[later] for later in range(place, len(tokens)) if later in hopeless)


def _ends(tokens: Segment, place: int, text: str, start: int) -> Iterator[int]:
    """Yield where a token that begins at ``start`` may end, the best end first."""
    token = tokens[place]
    if isinstance(token, str):
        if text.startswith(token, start):
            yield start + len(token)
    elif token.name in DIGITS:
        found = _NUMBER.match(text, start)
        if found and len(found[0]) <= _MOST_DIGITS:
            yield found.end()
    elif token.form:
        if taken := form_pattern(token.form).match(text, start):
            yield taken.end()
    elif token.name == ROLE:
        yield from (start + len(word) for word in _LONGEST_FIRST if text.startswith(word, start))
    elif place + 1 == len(tokens):
        if start < len(text):
            yield len(text)
    else:
        following = tokens[place + 1]
        end = start + 1
        while end < len(text):
            if isinstance(following, str):
                end = text.find(following, end)
                if end < 0:
                    return
            yield end
            end += 1
