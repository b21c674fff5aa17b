"""HTML in which text is escaped by default. Logs and manifests come from strangers, so their text never reaches a page unescaped.

`Html` is the type `Markup` of markupsafe, which templates also use. All other values are text, and are escaped before they reach a page. Only the
functions of this module and the environment of `tacholog.render.templates` make `Html` from variable text; ruff (S704) reports all others.
"""

from __future__ import annotations

import functools
import html
import json
import re
from collections.abc import Iterable

from markupsafe import Markup

from tacholog.visible import HIDDEN, HIDDEN_IN_LINE, drawn, sign

_VOID = {"br", "col", "img", "meta", "link", "input"}
_SVG_EMPTY = {"path", "line", "circle", "rect", "use"}  # in SVG, an unclosed element contains everything that follows
_NOT_AS_IT_IS = re.compile(f"[&<>\"'{HIDDEN.pattern.removeprefix('[')}")
_SPELT_IN_JSON = re.compile(f"<|{HIDDEN.pattern}")

Html = Markup
NOTHING = Html()


def esc(text: object) -> Html:
    """Return ``text`` escaped for an element or a quoted attribute, with hidden characters made visible. `Html` is returned unchanged."""
    return text if isinstance(text, Html) else Html(escaped(str(text)))


def escaped(text: str) -> str:
    """Return text escaped as by `esc`, but as `str`. A site has a million pieces of text, and most need no escaping, so a fast test comes first."""
    return html.escape(drawn(text)) if _NOT_AS_IT_IS.search(text) else text


def _joined(parts: Iterable[object], between: str = "") -> str:
    # Not `between.join`, because `Html.join` would escape the parts a second time.
    return str.join(between, [part if isinstance(part, Html) else escaped(str(part)) for part in parts])


def join(parts: Iterable[object], between: str = "") -> Html:
    """Return the parts, each escaped, as one piece of HTML."""
    return Html(_joined(parts, between and esc(between)))


def folded(heading: Html, *content: object) -> Html:
    """Return content that is folded under its heading until a reader opens it."""
    return tag("details", tag("summary", heading), tag("div", *content, class_="tl-folded"), class_="tl-fold")


def tag(name: str, /, *content: object, **attributes: object) -> Html:
    """Return an element. ``class_`` means ``class``, and ``_`` in names means ``-``. Attributes that are ``None`` or ``False`` are left out."""
    written = "".join(
        [
            _attribute(key) if value is True else f'{_attribute(key)}="{escaped(str(value))}"'
            for key, value in attributes.items()
            if value is not None and value is not False
        ]
    )
    if name in _VOID and not content:
        return Html(f"<{name}{written}>")
    if name in _SVG_EMPTY and not content:
        return Html(f"<{name}{written}/>")
    return Html(f"<{name}{written}>{_joined(content)}</{name}>")


def linked(text: object, link: str | None) -> Html:
    """Return text, linked if there is a link."""
    return tag("a", text, href=link) if link else esc(text)


@functools.cache
def _attribute(key: str) -> str:
    return f" {key.rstrip('_').replace('_', '-')}"


def visible(text: str) -> Html:
    """Return ``text`` escaped, with a visible symbol in place of each hidden character."""
    if not HIDDEN_IN_LINE.search(text):
        return esc(text)
    parts: list[Html] = []
    end = 0
    for hidden in HIDDEN_IN_LINE.finditer(text):
        parts += [esc(text[end : hidden.start()]), tag("span", sign(hidden[0]), class_="tl-control", title=f"U+{ord(hidden[0]):04X}")]
        end = hidden.end()
    return join([*parts, esc(text[end:])])


def unhidden(text: str) -> str:
    """Return ``text`` with hidden characters replaced by blanks, for a terminal or a table."""
    return HIDDEN_IN_LINE.sub(" ", text)


def data_block(value: object, class_: str, kind: str = "application/json") -> Html:
    """Return ``value`` as JSON in a script element that browsers do not execute. ``<`` is escaped, so the value cannot end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = _SPELT_IN_JSON.sub(lambda match: json.dumps(match[0])[1:-1] if match[0] != "<" else "\\u003c", text)
    return Html(f'<script type="{html.escape(kind)}" class="{html.escape(class_)}">{text}</script>')
