"""What programs look for in the pages of a site: its feeds, its description for search engines, and links to the files for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes

from tacholog.render.html import NOTHING, Html, data_block, join, tag
from tacholog.site.programs.citation import CITATION, DESCRIPTION
from tacholog.site.programs.latest import LATEST
from tacholog.sphinx.perf import Perf

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

_FEED, _LINKED_DATA = "application/atom+xml", "application/ld+json"
_FILES = (
    (LATEST, "the newest results of each system, and the verdict of each requirement, in a small and stable form for dashboards"),
    (CITATION, "how to cite this site"),
    (DESCRIPTION, "what the data are, for search engines (Schema.org)"),
)


def setup(app: Sphinx) -> None:
    """Add the directives, and the setting of the feeds: a JSON list of [file, title]. If it changes, all pages are written again."""
    app.add_config_value("tacholog_feeds", "[]", "html", types=frozenset({str}))
    app.connect("html-page-context", _add_links)
    app.add_directive("perf-dataset", PerfDataset)
    app.add_directive("perf-programs", PerfPrograms)


class PerfDataset(Perf):
    """``{perf-dataset}``: a description of the data for search engines, which no reader sees. The body is that of a Schema.org Dataset in JSON."""

    has_content = True
    optional_arguments = 0
    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        """Return the description as a block of data. The policy of a page need not allow it, because browsers do not run it."""
        try:
            described = json.loads("\n".join(self.content))
        except ValueError as error:
            return self.warn(f"the body is not JSON: {error}")
        return self.html(data_block(described, "tl-dataset", _LINKED_DATA))


class PerfPrograms(Perf):
    """``{perf-programs}``: links to the files of a site that are made for programs."""

    optional_arguments = 0
    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        """Return a list of them."""
        links = [(tag("a", file, href=f"root:{file}"), words) for file, words in _FILES]
        links += [(feed_link(self.config, file, file), f"{title}, as an Atom feed") for file, title in _feeds(self.config).items()]
        return self.html(tag("ul", *(tag("li", link, f": {words}") for link, words in links)))


def feed_link(config: Config, file: str, words: str) -> Html:
    """Return a link to a feed, if the site has it."""
    return tag("a", words, href=f"root:{file}", type=_FEED) if file in _feeds(config) else NOTHING


def _feeds(config: Config) -> dict[str, str]:
    return dict(json.loads(config.tacholog_feeds))


def _add_links(app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    """Link each page to the feeds, where feed readers look for them."""
    links = [tag("link", rel="alternate", type=_FEED, title=title, href=context["pathto"](file, 1)) for file, title in _feeds(app.config).items()]
    if links:
        context["metatags"] = f"{context.get('metatags') or ''}{join(links)}"
