"""``{perf-fold} TITLE``: a part of a page that is folded until somebody opens it, with a heading of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from tacholog.render.html import Html, join, tag
from tacholog.slugs import slug
from tacholog.sphinx.node import PerfHtml

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_HEADING = 2


class PerfFold(SphinxDirective):
    """The content, folded. Where it is empty, because no directive in it has anything to show, there is nothing to fold either."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[dict[str, Callable[[str], object]] | None] = {"level": directives.positive_int}

    def run(self) -> list[nodes.Node]:
        """Return the content between the ends of a folded element."""
        inside = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, inside)
        if not [node for node in inside.children if not isinstance(node, nodes.comment)]:
            return []
        title = self.arguments[0].strip().strip('"')
        heading = tag(f"h{self.options.get('level', _HEADING)}", title, class_="tl-fold-title", id=self._place(title, inside))
        start = join([Html('<details class="tl-fold">'), tag("summary", heading), Html('<div class="tl-folded">')])
        return [self._html(start), *inside.children, self._html(Html("</div></details>"))]

    def _place(self, title: str, inside: nodes.Element) -> str:
        """Return an id that no other element of the page has, and see to it that none gets it."""
        ids, first = self.state.document.ids, slug(title)
        place = next(name for name in (first, *(f"{first}-{number}" for number in range(2, len(ids) + 3))) if name not in ids)
        ids[place] = inside
        return place

    def _html(self, html: Html) -> nodes.Node:
        node = PerfHtml(html=str(html))
        self.set_source_info(node)
        return node


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("perf-fold", PerfFold)
