"""Patterns that read fields from the path of a log: ``{label.plugin}/test-{repetition}/perf-{role}{participant}.log``.

A pattern is compared with the whole path, folder by folder. No field contains a slash. A field of text matches at least one character. The fields are
matched from left to right. Each field of text matches as few characters as possible, so that the rest of the name still fits. ``{repetition}`` and
``{participant}`` match all digits at their position, ``{role}`` matches one of `ROLES`. ``{{`` and ``}}`` stand for braces.

A pattern is compiled to one regular expression. Paths come from untrusted archives, so the matching time must not grow polynomially with the path's
length. Therefore a field of text and the text after it, up to the next field of text, form an atomic group: the matcher never tries a second match of
this group. No match is lost by this, because the next field of text can match any further characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from tacholog.errors import UnreadableInput
from tacholog.runs.importing.units import unit_at_start
from tacholog.runs.moments import form_pattern, in_form
from tacholog.schema.records import Side

#: The words that ``{role}`` matches, each with its side. A client sends, or it starts each round trip.
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
#: The unit of a size directly after a number in a path: ``k`` of ``64k.log``.
UNIT = re.compile(r"(?:[kKmMgG][bB]?|[KMG]i[bB]?)(?![A-Za-z])")
_LONGEST_FIRST = sorted(ROLES, key=lambda word: -len(word))
_MOST_DIGITS = 18  # A number of this length fits into 64 bits.
_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}/]*)\}|[{}]|[^{}]+")
_NUMBER = re.compile(r"[0-9]+")
_MOST_FIELDS = 64
_COMPRESSED = (".gz", ".xz", ".zst")  # the file extensions of the compressed logs that `open_log` reads


def uncompressed(path: str) -> str:
    """Return the path that a log would have if it were not compressed."""
    ending = next((ending for ending in _COMPRESSED if path.endswith(ending)), "")
    return path.removesuffix(ending)


class PatternField(NamedTuple):
    """A field of a pattern. ``form`` is the form of a time; it is empty for other fields.

    A field is ignored if its name is ``*`` or begins with ``_``.
    """

    name: str
    form: str = ""

    @property
    def is_text(self) -> bool:
        """Whether the field accepts any text."""
        return self.name not in (*DIGITS, ROLE) and not self.form

    def value(self, text: str) -> str:
        """Return the value of the field, read from its text in a path. A time is converted to ISO 8601."""
        return (in_form(text, self.form) or text) if self.form else text

    @property
    def is_ignored(self) -> bool:
        """Whether the value of the field is ignored."""
        return self.name == "*" or self.name.startswith("_")


Token = str | PatternField
#: The tokens of the name of one folder, or of the file name.
Segment = tuple[Token, ...]


class Disagreement(NamedTuple):
    """A field that occurs twice in a pattern, and that has two different values in a path."""

    field: str
    first: str
    second: str

    def __str__(self) -> str:
        """Return a sentence with both values."""
        return f"{{{self.field}}} occurs twice in the pattern, but is {self.first!r} and {self.second!r} in this path"


class _Expression(NamedTuple):
    """A regular expression. ``fields`` states which field of the pattern each group of the expression matches."""

    regex: re.Pattern[str]
    fields: tuple[PatternField, ...]


class Pattern(NamedTuple):
    """A pattern, ready to be compared with paths.

    Attributes:
        text: the pattern as the user wrote it.
        segments: the tokens of each folder and of the file.
        expressions: two expressions. They differ if a field occurs in several folders. The first expression then requires the same value in all of
            them; the second expression also accepts different values.
    """

    text: str
    segments: tuple[Segment, ...]
    expressions: tuple[_Expression, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the names of the fields that are not ignored, in the order of the pattern. Each name occurs once."""
        return tuple(dict.fromkeys(field.name for field in self.expressions[-1].fields))

    def match(self, path: str) -> dict[str, str] | Disagreement | None:
        """Return the values of the fields in a path.

        If a field occurs again in a later folder, it must have the same value there. If a path does not fit, it is compared again without the file
        extension of a compressed log.

        Args:
            path: relative to the folder that is imported, with ``/`` between folders.

        Returns:
            The values, by the names of the fields; `Disagreement` if the path fits only with two values of one field; ``None`` if it does not fit.
        """
        for name in dict.fromkeys((path, uncompressed(path))):
            for expression in self.expressions:
                if match := expression.regex.fullmatch(name):
                    return _values(expression.fields, match.groups())
        return None


def _values(fields: Sequence[PatternField], texts: Sequence[str]) -> dict[str, str] | Disagreement:
    values: dict[str, str] = {}
    for field, text in zip(fields, texts, strict=True):
        value = field.value(text)
        if values.setdefault(field.name, value) != value:
            return Disagreement(field.name, values[field.name], value)
    return values


def _expression(segments: Iterable[Segment], *, same_again: bool) -> _Expression:
    """Return the regular expression for the paths that fit the segments, and the fields of its groups.

    If ``same_again`` is true, a field that occurs in several folders must have the same text in all these folders.
    """
    fields: list[PatternField] = []
    parts: list[str] = []
    for segment in segments:
        earlier = {field.name: number for number, field in enumerate(fields, start=1) if not field.form} if same_again else {}
        part, is_open = "", False
        for token in segment:
            if isinstance(token, PatternField) and not token.form and token.name in earlier:
                part += f"(?:\\{earlier[token.name]})"
                continue
            if isinstance(token, PatternField) and token.is_text:
                part += "(?=[^/]))(?>" if is_open else "(?>"
                is_open = True
            part += _token_expression(token)
            if isinstance(token, PatternField) and not token.is_ignored:
                fields.append(token)
        parts.append(part + (r"(?=/|\Z))" if is_open else ""))
    return _Expression(re.compile("/".join(parts)), tuple(fields))


def _token_expression(token: Token) -> str:
    if isinstance(token, str):
        return re.escape(token)
    if token.name in DIGITS:
        text = f"[0-9]{{1,{_MOST_DIGITS}}}(?![0-9])"
    elif token.form:
        text = re.sub(r"\(\?P<\w+>", "(?:", form_pattern(token.form).pattern)
    else:
        text = "|".join(_LONGEST_FIRST) if token.name == ROLE else "[^/]+?"
    return f"(?:{text})" if token.is_ignored else f"({text})"


def read_pattern(text: str, where: str) -> Pattern:
    """Read a pattern. The names of its fields are not checked here.

    Args:
        text: the pattern.
        where: the source of the pattern, for messages, such as ``--map``.

    Raises:
        UnreadableInput: the text is not a valid pattern; the message says why.
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
    expressions = (_expression(segments, same_again=same_again) for same_again in (True, False))
    return Pattern(text, segments, tuple(dict.fromkeys(expressions)))


def _tokens(part: str, text: str, where: str) -> Iterator[Token]:
    """Yield the plain texts and the fields of one part of a pattern. The part ``part`` is a folder or the file; ``text`` is the whole pattern."""
    plain = ""
    for match in _TOKEN.finditer(part):
        if match[0] in ("{", "}"):
            raise UnreadableInput(f"{where} {text!r}: a brace without a matching one; write {{{{ or }}}} for a brace in a path")
        if match[1] is None:
            plain += {"{{": "{", "}}": "}"}.get(match[0], match[0])
            continue
        if plain:
            yield plain
            plain = ""
        if not match[1]:
            raise UnreadableInput(f"{where} {text!r}: {{}} has no name; write {{*}} for text that is ignored")
        name, _, form = match[1].partition(":")
        if form:
            _check_form(name, form, f"{where} {text!r}")
        yield PatternField(name, form)
    if plain:
        yield plain


def _check_form(name: str, form: str, where: str) -> None:
    if name != START:
        raise UnreadableInput(f"{where}: {{{name}:...}}: only {{{START}:...}} takes a form, such as {{{START}:%d-%m-%Y_%H-%M-%S}}")
    try:
        form_pattern(form)
    except ValueError as error:
        raise UnreadableInput(f"{where}: {{{name}:{form}}}: {error}") from None


def _unclear(first: Token, second: Token) -> str | None:
    """Return the reason why the end of the first token cannot be found in a path; ``None`` if it can be found."""
    if isinstance(first, PatternField) and isinstance(second, PatternField):
        both_text, both_digits = first.is_text and second.is_text, first.name in DIGITS and second.name in DIGITS
        if both_text or both_digits:
            return f"nothing stands between {{{first.name}}} and {{{second.name}}}, so it is not clear where the first one ends"
    if isinstance(first, PatternField) and first.name in DIGITS and isinstance(second, str) and _NUMBER.match(second):
        return f"a digit follows {{{first.name}}}, which matches all digits at this position"
    if isinstance(first, PatternField) and first.name in _SIZES and isinstance(second, str) and (unit := UNIT.match(second)):
        return _unit_behind(first.name, unit[0])
    if isinstance(first, PatternField) and isinstance(second, str) and (unit_word := unit_at_start(first.name, second)):
        return f"{unit_word} follows {{{first.name}}}, so the unit would be ignored; leave out {unit_word}: the field reads the unit with the number"
    return None


def _unit_behind(name: str, unit: str) -> str:
    """Return the message that refuses a unit after a field. The unit would be constant text, so 64k would be read as 64 bytes."""
    if unit in ("KiB", "MiB"):
        return f"{unit} follows {{{name}}}, so the number would be read as bytes; leave out {unit}: the field reads the unit with the number"
    return (
        f"{unit} follows {{{name}}}, so the number would be read as bytes; write a rule for each size instead, with the size in its path "
        "and, for example, set = { payload_bytes = 65536 }"
    )
