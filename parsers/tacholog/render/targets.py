"""Links for scripts: each link stands once in the page, where Sphinx resolves it, and the data of the script refers to it by number."""

from __future__ import annotations

from collections.abc import Iterator

from tacholog.render.html import Html, tag
from tacholog.render.tables.tables import Links
from tacholog.view.results import ResultRow


class Targets:
    """The links of one script, written as elements so that Sphinx resolves them like all others."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def number(self, link: str | None) -> int | None:
        """Return the number of a link without its anchor."""
        return None if link is None else self._places.setdefault(link.partition("#")[0], len(self._places))

    def log(self, links: Links, result: ResultRow) -> int | None:
        """Return the number of the log's page that a number leads to, if there is one."""
        return None if result.line is None else self.number(links.to_log(result.run.run, result.log))

    def line(self, links: Links, result: ResultRow | None) -> tuple[int, int] | None:
        """Return the number of the log's page and the first line of the record, if there is such a page."""
        number = self.log(links, result) if result else None
        return None if number is None or result is None or result.line is None else (number, result.line)

    def links(self) -> Iterator[Html]:
        """Yield one element for each link, in order."""
        for link in self._places:
            yield tag("a", href=link, tabindex=-1)

    def html(self) -> Html:
        """Return all links in a hidden element; nothing if there are none."""
        return tag("div", *self.links(), hidden=True, class_="tl-targets") if self._places else Html("")
