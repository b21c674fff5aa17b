"""Placeholders in campaign files: ``{transport}`` stands for an option of the run, ``{b.address}`` for the address of a host."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tacholog.errors import UnreadableInput

_PLACEHOLDER = re.compile(r"\{(\w+|[\w-]+\.address)\}")
Value = str | int | float | bool
Values = dict[str, Value | list[Value]]


def fill(text: str, known: Mapping[str, Value | list[Value]]) -> str:
    """Return the text with its placeholders replaced. The values of a list are joined by commas.

    Raises:
        UnreadableInput: a placeholder has no value.
    """

    def replacement(placeholder: re.Match[str]) -> str:
        name = placeholder[1]
        if name not in known:
            raise UnreadableInput(f"{text!r}: {{{name}}} has no value; the known names are {', '.join(sorted(known))}")
        value = known[name]
        return ",".join(str(part) for part in value) if isinstance(value, list) else str(value)

    return _PLACEHOLDER.sub(replacement, text)


def fill_value(value: Value, known: Mapping[str, Value | list[Value]]) -> Value | list[Value]:
    """Return a value with its placeholders replaced. If the value is only one placeholder, the type of what replaces it is kept."""
    placeholder = _PLACEHOLDER.fullmatch(value) if isinstance(value, str) else None
    if placeholder and placeholder[1] in known:
        return known[placeholder[1]]
    return fill(value, known) if isinstance(value, str) else value
