"""``{perf-sources}``: where figures come from, with links out of the site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from docutils import nodes

from tacholog.render.outward import Source, own_links, sources_list
from tacholog.sphinx.perf import Perf
from tacholog.view.views import Selection, View

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class _Body(msgspec.Struct, frozen=True):
    """What the body of the directive may hold."""

    sources: tuple[Source, ...] = ()
    digests: bool = False
    vendor: str | None = None
    repository: str | None = None


class PerfSources(Perf):
    """``{perf-sources}``: a list of documents (``sources``), the page of their ``vendor``, and the project's ``repository``, as JSON in the body."""

    has_content = True

    def select(self, _wanted: Selection) -> View:
        """Return nothing: the body says all, and a page with this list stays as it is when runs change that it does not show."""
        return View({}, {}, (), (), {})

    def show(self, _part: View, _wanted: Selection) -> list[nodes.Node]:
        """Return the list. An address that is no plain web address is left out."""
        try:
            body = msgspec.json.decode("\n".join(self.content) or "{}", type=_Body)
        except msgspec.DecodeError as error:
            return self.warn(f"the body is not what it should be: {error}")
        found = sources_list(body.sources, body.vendor, digests=body.digests) + own_links(body.repository)
        return self.html(found, searched=True) if found else []


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("perf-sources", PerfSources)
