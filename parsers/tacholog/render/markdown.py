"""Text of strangers within Markdown and on a terminal, and on one line of either."""

from __future__ import annotations

import re

from tacholog.render.html import unhidden

_ACTIVE = re.compile(r"[\\|<>*_`\[\]~$&@#]")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;", "#": "&#35;"}  # a name must not ping a person or link an issue


def escape(cell: str) -> str:
    """Return text out of logs and manifests so that it cannot become markup."""
    return _ACTIVE.sub(lambda sign: _ENTITIES.get(sign[0], f"\\{sign[0]}"), unhidden(cell))


def plain(text: str) -> str:
    """Return text for a terminal: ordinary spaces, and nothing that would command it."""
    return unhidden(text.replace("\u202f", " ").replace("\u00a0", " "))
