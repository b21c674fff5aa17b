"""The frame of pages that Sphinx does not write: a page without content that it wrote, with the header, the footer and the policy of the site."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

from docutils.nodes import make_id
from myst_parser.slugs import github_slugify

from tacholog.errors import TachologError
from tacholog.render.html import Html, esc, join, tag

_BODY = '<article class="bd-article">'
_END = "</article>"
FRAME_TITLE = "Page without content"
_ADDRESS = re.compile(r'((?:href|src|action|data-content_root)=")\.\./')
_SCRIPT = re.compile(r"(<script\b.*?</script>)", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_BLANK = re.compile(r"(?<![^\S\n])[^\S\n]*+\n\s*+")  # From the first blank of a stretch on, so that a long one is gone through once.
_VIEWPORT = re.compile(r'<meta name="viewport"[^>]*>\s*')


class PageFrame:
    """A page that was split at its content. It was written into a folder of the site, not at its top."""

    def __init__(self, page: Path) -> None:
        """``page`` is the page without content.

        Raises:
            TachologError: the page was not written whole, or the theme made one of another form.
        """
        text = page.read_text(encoding="utf-8") if page.is_file() else ""
        if not text.rstrip().endswith("</html>"):
            raise TachologError(f"{page}: the page could not be written whole. Is the disk full?")
        before, mark, rest = text.partition(_BODY)
        _, end, after = rest.rpartition(_END)
        if not mark or not end or FRAME_TITLE not in before:
            raise TachologError(f"{page}: the page has no article, so no page of a log can be made from it")
        self.digest = sha256(text.encode()).hexdigest()
        self._before, self._after = _once(_VIEWPORT, _squeezed(before)), _squeezed(after)

    def page(self, document: str, title: str, content: str) -> str:
        """Return a whole page: its heading and its content. Addresses in it are those of the page; ``document`` says how deep the page lies."""
        up = "../" * document.count("/") or "./"
        head = _moved(self._before, up).replace(FRAME_TITLE, esc(title))
        return f"{head}{_BODY}{heading(title)}{content}{_END}{_moved(self._after, up)}"


def _once(pattern: re.Pattern[str], text: str) -> str:
    """Return text without what stands in it again: Sphinx and the theme each write the same element."""
    first = pattern.search(text)
    return text if first is None else text[: first.end()] + pattern.sub("", text[first.end() :])


def _moved(text: str, up: str) -> str:
    return _ADDRESS.sub(lambda found: f"{found[1]}{up}", text)


def _squeezed(text: str) -> str:
    """Return HTML without its comments, blank lines and indents. Elements of scripts stay as they are."""
    return "".join(part if part.startswith("<script") else _BLANK.sub("\n", _COMMENT.sub("", part)) for part in _SCRIPT.split(text))


def heading(title: str) -> Html:
    """Return the heading of a page with the anchors that Sphinx and MyST give one."""
    anchor, other = make_id(title) or "top", github_slugify(title)
    link = tag("a", "#", href=f"#{anchor}", class_="headerlink", title="Link to this heading")
    return join([tag("span", id=other) if other != anchor else "", tag("h1", title, link, id=anchor)])
