"""Links that a script needs and a builder has to resolve: they stand in the page once each, and the script's data number them."""

from __future__ import annotations

from collections.abc import Iterator

from tacholog.render.html import Html, tag
from tacholog.render.tables.tables import Links
from tacholog.view.results import ResultRow


class Targets:
    """The links of a script: as elements, so that the builder resolves them like all others."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def number(self, link: str | None) -> int | None:
        """Return the number of a link without its anchor."""
        return None if link is None else self._places.setdefault(link.partition("#")[0], len(self._places))

    def line(self, links: Links, fact: ResultRow | None) -> tuple[int, int] | None:
        """Return the number of a log's page and the line there that the record of a number begins on, if there is such a page."""
        number = self.number(links.to_line(fact)) if fact else None
        return None if number is None or fact is None or fact.line is None else (number, fact.line)

    def links(self) -> Iterator[Html]:
        """Yield an element a link, in the order of numbers."""
        for link in self._places:
            yield tag("a", href=link, tabindex=-1)

    def html(self) -> Html:
        """Return all of them, hidden; nothing where there is none."""
        return tag("div", *self.links(), hidden=True, class_="tl-targets") if self._places else Html("")
