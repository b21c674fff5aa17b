"""HTML as text, escaped by default. Logs and manifests are written by strangers: nothing of theirs reaches a page unescaped."""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Iterable

_VOID = {"br", "col", "img", "meta", "link", "input"}
_SVG_EMPTY = {"path", "line", "circle", "rect"}  # in SVG an element that is left open swallows all that follow
_UNSAFE_IN_SLUG = re.compile(r"[^a-z0-9._]+")
_UNSAFE_IN_PATH = re.compile(r"[^A-Za-z0-9._-]+")
# Everything that could hide or reorder text: C0 and C1 controls but tab, and the direction marks that make code look like other code.
_HIDDEN = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|<>~$^:@&=%'\"-])")


class Html(str):
    """Text that is already HTML."""

    __slots__ = ()

    def __html__(self) -> str:
        """Tell a template that escapes by itself that this is done."""
        return str(self)


NOTHING = Html()


def esc(text: object) -> Html:
    """Return ``text`` safe inside an element and inside a quoted attribute; HTML stays as it is."""
    return text if isinstance(text, Html) else Html(html.escape(str(text)))


def join(parts: Iterable[object], between: str = "") -> Html:
    """Return the parts, each escaped, as one piece of HTML."""
    return Html(esc(between).join(esc(part) for part in parts))


def tag(name: str, *content: object, **attributes: object) -> Html:
    """Return an element. ``class_`` is ``class``, ``_`` in names is ``-``; an attribute that is ``None`` or ``False`` is left out."""
    shown = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{html.escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID and not content:
        return Html(f"<{name}{shown}>")
    if name in _SVG_EMPTY and not content:
        return Html(f"<{name}{shown}/>")
    return Html(f"<{name}{shown}>{join(content)}</{name}>")


def visible(text: str) -> Html:
    """Return ``text`` escaped, with control characters drawn instead of obeyed (ESC is shown as its picture)."""
    parts: list[Html] = []
    end = 0
    for found in _HIDDEN.finditer(text):
        code = ord(found[0])
        sign = chr(0x2400 + code) if code < ord(" ") else f"\\u{{{code:x}}}"
        parts += [esc(text[end : found.start()]), tag("span", sign, class_="tl-control", title=f"U+{code:04X}")]
        end = found.end()
    return join([*parts, esc(text[end:])])


def unhidden(text: str) -> str:
    """Return ``text`` without control characters and direction marks, for a terminal or a table."""
    return _HIDDEN.sub(" ", text)


def data_block(value: object, class_: str) -> Html:
    """Return ``value`` as JSON in a script element that no browser runs; ``<`` is spelt so that nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return Html(f'<script type="application/json" class="{html.escape(class_)}">{text}</script>')


def slug(text: str) -> str:
    """Return a file or anchor name for a title: lower case, blanks as ``-``. A title that loses more than that carries a short hash."""
    plain = _UNSAFE_IN_SLUG.sub("-", text.lower()).strip("-._")
    return plain if plain and plain == text.lower().replace(" ", "-") else _hashed(plain, text)


def path_slug(path: str) -> str:
    """Return a document name for a path inside the data; names differ wherever paths differ."""
    parts = [_UNSAFE_IN_PATH.sub("-", part).lstrip("._-") for part in path.split("/")]
    plain = "/".join(part or "-" for part in parts)
    return plain if plain == path else _hashed(plain, path)


def _hashed(plain: str, text: str) -> str:
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{plain}-{mark}" if plain else mark


def heading(text: object) -> str:
    """Return ``text`` for a page's title. Themes put titles into menus unescaped, so that no angle bracket may be in them."""
    return markdown(str(text).replace("<", "\u2039").replace(">", "\u203a"))


def markdown(text: object) -> str:
    """Return ``text`` for a line of MyST: every character that could mean something is escaped, line ends become blanks."""
    return _MARKDOWN.sub(r"\\\1", " ".join(_HIDDEN.sub(" ", str(text)).split()))
