"""Links for scripts: each link stands once in the page, where Sphinx resolves it, and the data of the script refers to it by number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tacholog.render.html import Html, tag
from tacholog.render.tables.tables import Links
from tacholog.store.export import with_ordinal
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

    def place(self, links: Links, result: ResultRow) -> list[object]:
        """Return where a number stands: the number of the log's page, if there is one, the line, and the end of the anchor if it is not the first."""
        ordinal = with_ordinal("", result.ordinal)
        return [self.log(links, result), result.line, *([ordinal] if ordinal else [])]

    def line(self, links: Links, result: ResultRow | None) -> Sequence[object] | None:
        """Return the same, or nothing if there is no such page."""
        return None if result is None or self.log(links, result) is None else self.place(links, result)

    def links(self) -> Iterator[Html]:
        """Yield one element for each link, in order."""
        for link in self._places:
            yield tag("a", href=link, tabindex=-1)

    def html(self) -> Html:
        """Return all links in a hidden element; nothing if there are none."""
        return tag("div", *self.links(), hidden=True, class_="tl-targets") if self._places else Html("")
