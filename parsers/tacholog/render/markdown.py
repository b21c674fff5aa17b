"""Text from logs and manifests in a form that is safe for Markdown and for terminals, on one line."""

from __future__ import annotations

import re

from tacholog.render.html import unhidden

_ACTIVE = re.compile(r"[\\|<>*_`\[\]~$&#]")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "#": "&#35;"}
# GitHub makes links, mentions and pictures from these pieces of plain text: https://, www., me@example.org, @name, #1, GH-1 and :tada:. Escaping does
# not prevent this, because GitHub searches the rendered text. Therefore, an invisible character (U+2060, word joiner) is inserted after the first
# characters.
_LINKED = re.compile(r"@(?=\w)|#(?=\d)|:(?=//|(?!\d\d:)[\w+-]{1,60}:)|www(?=\.)|\bgh-(?=\d)", re.IGNORECASE)
_MARK = "\u2060"
_MARK_ENTITY = "&#8288;"  # the same character in escaped form, so that it is visible in the Markdown source


def escape(cell: str) -> str:
    """Return text for Markdown that cannot become markup, a link, a mention or a picture."""
    marked = _LINKED.sub(lambda match: match[0] + _MARK, unhidden(cell))
    return _ACTIVE.sub(lambda sign: _ENTITIES.get(sign[0], f"\\{sign[0]}"), marked).replace(_MARK, _MARK_ENTITY)


def plain(text: str) -> str:
    """Return text for a terminal: with ordinary spaces, and without control characters."""
    return unhidden(text.replace("\u202f", " ").replace("\u00a0", " "))
