"""Text of strangers within Markdown and on a terminal, and on one line of either."""

from __future__ import annotations

import re

from tacholog.render.html import unhidden

_ACTIVE = re.compile(r"[\\|<>*_`\[\]~$&#]")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "#": "&#35;"}
# What GitHub makes links, mentions and pictures of, in text that is not code: https://, www., me@example.org, @name, #1, GH-1 and :tada:. It looks
# for them in the text that a reader sees, so no escape prevents it. A mark without a width behind their first signs does (U+2060: no line breaks
# there).
_LINKED = re.compile(r"@(?=\w)|#(?=\d)|:(?=//|(?!\d\d:)[\w+-]{1,60}:)|www(?=\.)|\bgh-(?=\d)", re.IGNORECASE)
_MARK = "\u2060"
_MARK_ENTITY = "&#8288;"  # so that whoever reads the source sees it


def escape(cell: str) -> str:
    """Return text out of logs and manifests so that it cannot become markup, a link, a mention or a picture."""
    marked = _LINKED.sub(lambda match: match[0] + _MARK, unhidden(cell))
    return _ACTIVE.sub(lambda sign: _ENTITIES.get(sign[0], f"\\{sign[0]}"), marked).replace(_MARK, _MARK_ENTITY)


def plain(text: str) -> str:
    """Return text for a terminal: ordinary spaces, and nothing that would command it."""
    return unhidden(text.replace("\u202f", " ").replace("\u00a0", " "))
