"""Values in MyST sources. Text is escaped by default; only a value of the type `Myst` is not.

A MyST page has four places for a value, and in each of them other characters have a meaning:

- text: `text` is applied by the environment to every plain value, so no template can forget it;
- an argument or option of a directive: `quoted`, one word on one line. `unquoted` and MyST's own parser of options read it back;
- the body of a directive: `json_body`, one line;
- a span of code: `code`.

Each function returns `Myst`. Templates have no other way to make one.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping

from tacholog.view.numerals import grouped
from tacholog.visible import drawn, drawn_in_line

# Everything that could have a meaning in Markdown, MyST or YAML. Not escaped are letters of any script, digits, blanks within a line and a few signs.
# A dot or hyphen within a word cannot start a list, and sources with "1.2" in them are easier to read.
_ACTIVE = re.compile(r"(?P<within>(?<=[^\W_])[.-](?=[^\W_]))|^ | $| (?= )|[^\w ,/\u00a0\u202f]|_")
_UNSAFE_IN_WORD = re.compile(r"[^A-Za-z0-9 ._,/+()-]")
_UNSAFE_IN_JSON = re.compile(r"[^\x20-\x7e]|[<>&`]")
_DOCUMENT = re.compile(r"[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*")
_ARGUMENT = re.compile(r'\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s"\'\\]+))(?=\s|$)')
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|U(00[0-9a-fA-F]{6})|(["\\]))')


class Myst(str):
    """A piece of MyST source, made by a function of this module."""

    __slots__ = ()


def text(value: object) -> Myst:
    """Return ``value`` on one line for a paragraph, a heading or the text of a link, without any markup in it.

    It uses entities, not backslashes, because CommonMark never reads entities as markup. A value in a wrong place then shows as ``&#96;`` and does
    no harm.
    """
    line = " ".join(drawn(str(value)).replace("\t", " ").split("\n"))
    return Myst(_ACTIVE.sub(lambda found: found["within"] or f"&#{ord(found[0])};", line))


def counted(number: float) -> Myst:
    """Return a count in an element whose class says that it is one."""
    return Myst(f"[{text(grouped(number))}]{{.stat-count}}")


def labelled(value: object) -> Myst:
    """Return a text with digits, such as a title, in an element whose class says that these are not a measurement."""
    return Myst(f"[{text(value)}]{{.stat-label}}")


def quoted(value: object) -> Myst:
    """Return ``value`` as one word of a directive's line, of an option or of a page's front matter: plain ASCII within double quotes."""
    return Myst('"' + _UNSAFE_IN_WORD.sub(lambda found: _escape(ord(found[0])), str(value)) + '"')


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - as YAML has it, and Python


def unquoted(line: str) -> list[str]:
    r"""Return the words of the line of a directive, split as in a shell; ``\u00e9`` within double quotes means the letter.

    Raises:
        ValueError: a quote is not closed.
    """
    words, end = [], 0
    while found := _ARGUMENT.match(line, end):
        words.append(found["bare"] if found["quoted"] is None else _unescaped(found["quoted"]))
        end = found.end()
    return words if not line[end:].strip() else shlex.split(line)


def _unescaped(word: str) -> str:
    return _ESCAPE.sub(lambda found: found[3] or chr(int(found[1] or found[2], 16)), word)


def options(values: Mapping[str, object]) -> Myst:
    """Return the lines of a directive's options."""
    return Myst("".join(f":{_plain(name)}: {quoted(value)}\n" for name, value in values.items()))


def _plain(name: str) -> str:
    if not name.isidentifier():
        raise ValueError(f"{name!r} is not the name of an option")
    return name


def json_body(value: object) -> Myst:
    """Return ``value`` as JSON on one line of plain ASCII, for the body of a directive. No line in it can end the fence or be an option."""
    return Myst(_UNSAFE_IN_JSON.sub(lambda found: _escape(ord(found[0])), json.dumps(value, ensure_ascii=True, allow_nan=False)))


def code(value: object) -> Myst:
    """Return ``value`` as a code span, in as many backticks as needed."""
    line = drawn_in_line(str(value))
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    return Myst(f"{fence} {line} {fence}") if line.strip() else Myst("")


def document(name: object) -> Myst:
    """Return the name of a page, for a link or a table of contents.

    Raises:
        ValueError: `slug` and `path_slug` make no such name.
    """
    if not _DOCUMENT.fullmatch(str(name)) or ".." in str(name).split("/"):
        raise ValueError(f"{name!r} is not the name of a page")
    return Myst(name)


__all__ = ["Myst", "code", "counted", "document", "json_body", "labelled", "options", "quoted", "text", "unquoted"]
