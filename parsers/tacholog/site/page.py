"""A page that is being made: its ids, its headings, and the parts that are loaded when somebody asks for them.

A part is a script, because a page from a local disk may load scripts and nothing else. It holds HTML, compressed: text of this kind shrinks to a
tenth. An older release is a page of its own too, for readers without JavaScript.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable, Collection, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import msgspec
from docutils.nodes import make_id
from myst_parser.slugs import github_slugify

from tacholog.errors import TachologError, UnreadableInput
from tacholog.render.html import NOTHING, Html, tag
from tacholog.render.links import Links
from tacholog.render.tables.results import MoveTableOut, numbers_anchor, page_anchor
from tacholog.slugs import slug
from tacholog.view.page_index import SelectionNumbers
from tacholog.view.portions import Portion, portions
from tacholog.view.series import Series
from tacholog.view.views import Selection, View
from tacholog.visible import drawn

if TYPE_CHECKING:
    from tacholog.site.data import SiteData

_PLACE = re.compile(r'<(?:section|details|figure)[^>]* id="([^"]+)"')
_NEEDS_SCRIPT = "This table needs JavaScript. The pages of the logs have the same numbers, and so has the CSV file of this page."
_BRACKETS = str.maketrans("<>", "\u2039\u203a")
_CALL = "tachologPart("
_SCRIPT = re.compile(r'tachologPart\("[^"]+", "([^"]+)"\);\n')
_MOST_BYTES = 2**28  # of the pieces of one script
_DRAWN_FROM = re.compile(r'<script type="application/json" class="tl-spec">[^<]*</script>')
_FIGURE = re.compile(r'<figure(?= class="tl-figure")')
#: The part of a page, or of another part, that holds its large tables of single runs.
RUNS = "runs"


class Heading(msgspec.Struct, frozen=True):
    """A heading of a page: its level, its id and its words."""

    level: int
    anchor: str
    title: str


class Page:
    """A page while it is made. The functions of `tacholog.site.blocks` put their numbers, ids and parts on it."""

    def __init__(
        self,
        document: str,
        data: SiteData | None,
        *,
        title: str = "",
        documents: Collection[str] = (),
        logs: str | None = None,
        feeds: Mapping[str, str] | None = None,
        keeps_parts: bool = False,
    ) -> None:
        """Begin a page.

        Args:
            document: its name.
            data: all that the site shows; nothing if the project has no data, so that every block is an error.
            title: its title; pages of parts are named after it.
            documents: the pages of the site. Other pages are not linked.
            logs: the folder of the pages of logs; without it, numbers are not linked.
            feeds: the feeds of the site, by their files, with their titles.
            keeps_parts: whether large parts get files of their own.
        """
        self.document, self._data, self.title = document, data, plain_title(title)
        self.documents, self.links, self.feeds, self.keeps_parts = documents, Links(logs), feeds or {}, keeps_parts
        self.parts: dict[str, LoadedPart] = {}
        self.sections: list[Heading] = []
        self.says_costs = False  # whether it says already what the numbers of a table of costs mean
        self._numbers, self._ids, self._slugs = SelectionNumbers(), set[str](), set[str]()

    @property
    def data(self) -> SiteData:
        """All that the site shows.

        Raises:
            TachologError: the project has no data.
        """
        if self._data is None:
            raise TachologError("no data set: in conf.py, set tacholog_data to a folder of runs or tacholog_dataset to a saved dataset")
        return self._data

    def part(self, wanted: Selection) -> View:
        """Return a part of the data. Its selection gets its number now, even if nothing on the page needs an id: all pages count alike."""
        view = self.data.view.only(wanted)
        self.number(wanted)
        return view

    def number(self, wanted: Selection) -> int:
        """Return the number of a selection among those of the page that have the same name in ids."""
        return self._numbers.number(wanted)

    def anchor(self, subject: str, wanted: Selection) -> str:
        """Return an id that is made from the selection, so that links to it last."""
        return page_anchor(subject, *wanted.values(), number=self.number(wanted))

    def links_beside(self, wanted: Selection, test: str | None) -> Links:
        """Return the links of a table that stands beside those with all numbers of a test, as on the pages of a site."""
        others = msgspec.structs.replace(wanted, test=None)
        stands_beside = test and wanted.system and wanted.transport and not wanted.run
        return Links(self.links.logs, numbers_anchor(str(test), others, self.number(wanted)) if stands_beside else None)

    def best(self, wanted: Selection) -> Portion:
        """Return the best evidence of a selection, of all tests. A page begins with it."""
        return portions(self.data.view.only(msgspec.structs.replace(wanted, test=None)))[0]

    def series(self, part: View, wanted: Selection, test: str, *, best: bool) -> list[Series]:
        """Return the series of a test to show. Each keeps the colour that it has among all series."""
        return self.best(wanted).series_of(test, part.series()) if best else part.series()

    # Parts

    def own_part_name(self, name: str) -> str:
        """Return the name of a part of this page."""
        return part_of(PurePosixPath(self.document).name, name)

    def part_name(self, words: str) -> str:
        """Return a name for a part with a page of its own. No other page, and no other part of any page, has this name.

        No page has ``--`` in its name, because `slug` makes none. So the name depends on this page only. Of parts of this page that would have one
        name, the second is numbered.
        """
        name, used = self.own_part_name(slug(words)), {*self.parts, self.own_part_name(RUNS)}
        return next(candidate for candidate in (name, *(f"{name}-{number}" for number in range(2, len(used) + 3))) if candidate not in used)

    def put_aside(self, part: LoadedPart) -> None:
        """Keep a part of the page, or more pieces of it."""
        if self.keeps_parts:
            existing = self.parts.get(part.name, LoadedPart(part.name, {}))
            self.parts[part.name] = LoadedPart(part.name, existing.pieces | part.pieces, part.title or existing.title)

    def table_part(self, name: str) -> MoveTableOut | None:
        """Return a function that moves large tables to the part with this name; nothing if the project keeps no parts."""
        if not self.keeps_parts:
            return None

        def keep(anchor: str, content: Html) -> tuple[str, Html]:
            self.put_aside(LoadedPart(name, {anchor: str(content)}))
            return f"{name}.js", tag("p", _NEEDS_SCRIPT, class_="tl-note")

        return keep

    def folded(self, part: LoadedPart, summary: Html, *anchors: Html, class_: str) -> Html:
        """Return a folded element that loads a part when a reader opens it. It has a link to the page of the part.

        Args:
            part: its name, what it holds, and the title of its page.
            summary: what is shown while the element is closed.
            anchors: what the element holds until the part is there.
            class_: the class of the element.
        """
        self.put_aside(part)
        link = tag("p", tag("a", "Open as a page of its own", href=f"{part.name}.html"), class_="tl-note")
        return tag("details", tag("summary", summary), tag("div", link, *anchors), class_=class_, data_part=f"{part.name}.js", id=f"{part.name}-here")

    def overflow(self, name: str, class_: str = "tl-release") -> Callable[[str, Html], Html] | None:
        """Return a function that moves the end of a list to a part of its own, and returns the link to it; nothing if the project keeps no parts."""
        if not self.keeps_parts:
            return None

        def fold(words: str, content: Html) -> Html:
            part = LoadedPart(self.part_name(name), {"": str(content)}, f"{self.title}: {words}")
            return self.folded(part, tag("span", f"{words[0].upper()}{words[1:]}", class_="stat-label"), *places_of(content), class_=class_)

        return fold

    # Sections

    def section(self, level: int, title: str, anchor: str = "", *, caller: Callable[[], Html]) -> Html:
        """Return a section with the ids that Sphinx and MyST give one: links to pages of other versions of this site stay good.

        Args:
            level: that of its heading.
            title: the heading.
            anchor: an id that it has before these.
            caller: returns the content; so a template calls it.
        """
        of_title, of_words = make_id(title), github_slugify(title)
        if not of_title or of_title in self._ids:
            of_title = _free("id", "", self._ids)
        self._ids.add(of_title)
        if of_words in self._slugs:
            of_words = _free(of_words, "-", self._slugs)
        self._slugs.add(of_words)
        names = (anchor, of_title, *(() if of_words in self._ids else (of_words,)))
        first, *others = dict.fromkeys(filter(None, names))
        self._ids.update((first, *others))
        self.sections.append(Heading(level, first, title))
        link = tag("a", "#", class_="headerlink", href=f"#{first}", title="Link to this heading")
        return tag("section", *(tag("span", id=other) for other in others), tag(f"h{level}", title, link), caller(), id=first)

    def fold(self, title: str, level: int = 2, *, caller: Callable[[], Html]) -> Html:
        """Return content that is folded under a heading; nothing if the content is empty."""
        content = caller()
        if not content.strip():
            return NOTHING
        first = slug(title)
        anchor = next(name for name in (first, *(f"{first}-{number}" for number in range(2, len(self._ids) + 3))) if name not in self._ids)
        self._ids.add(anchor)
        heading = tag(f"h{level}", title, class_="tl-fold-title", id=anchor)
        return tag("details", tag("summary", heading), tag("div", content, class_="tl-folded"), class_="tl-fold")


def plain_title(title: str) -> str:
    """Return a title on one line, without angle brackets: themes put titles into menus and search results without escaping them."""
    return " ".join(drawn(title).replace("\t", " ").split("\n")).translate(_BRACKETS)


def _free(name: str, sign: str, used: Collection[str]) -> str:
    """Return a name with the first number behind it that is not taken."""
    return next(candidate for number in range(1, len(used) + 2) if (candidate := f"{name}{sign}{number}") not in used)


def places_of(content: Html) -> list[Html]:
    """Return empty elements with the ids of a part that is loaded later: a link to one of these ids opens the part."""
    return [tag("span", id=anchor, class_="tl-place") for anchor in _PLACE.findall(str(content))]


def part_of(name: str, part: str) -> str:
    """Return the name of a part of a page, or of a part of it. Neither page nor ``part`` has two hyphens in its name, so no two parts share one."""
    return f"{name}--{part}"


class LoadedPart(msgspec.Struct):
    """A part: its name beside its page, its pieces by the ids that they belong to, and the title of its own page, if it has one."""

    name: str
    pieces: dict[str, str]
    title: str = ""


def page_of_part(document: str, part: LoadedPart, content: str) -> str:
    """Return the content of the page of a part, below its heading. ``content`` is its piece with the addresses of the page."""
    link = tag("a", "The main page of these results", href=f"{PurePosixPath(document).name}.html")
    back = str(tag("p", link, " says how all of this was measured, and on which machines.", class_="tl-note"))
    if "<h2" not in content:  # the end of a list that stands deep in its page: here its headings follow the title
        content = content.replace("<h4 ", "<h2 ").replace("</h4>", "</h2>")
    # What a script draws a figure from is in the script of the part, compressed. Readers without scripts see the drawing.
    return back + _FIGURE.sub(f'<figure data-part="{part.name}.js"', _DRAWN_FROM.sub("", content))


def sibling(document: str, name: str) -> str:
    """Return the name of a file beside a page."""
    return f"{document.rpartition('/')[0]}/{name}".lstrip("/")


def script_of(name: str, pieces: dict[str, str]) -> str:
    """Return the script of a part, which gives its pieces to the page that loads it."""
    packed = base64.b64encode(zlib.compress(json.dumps(pieces, ensure_ascii=False).encode(), 9)).decode()
    return f"tachologPart({json.dumps(f'{name}.js')}, {json.dumps(packed)});\n"


def pieces_of(script: str) -> dict[str, str]:
    """Return the pieces in the script of a part; nothing if it is another script.

    Raises:
        UnreadableInput: it is the script of a part, and is damaged.
    """
    if not script.startswith(_CALL):
        return {}
    match = _SCRIPT.fullmatch(script)
    if match is None:
        raise UnreadableInput("the script does not end as it was written")
    try:
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(base64.b64decode(match[1]), _MOST_BYTES)
        if unpacker.unconsumed_tail:
            raise UnreadableInput(f"the script holds more than {_MOST_BYTES >> 20} MiB")
        return msgspec.json.decode(content, type=dict[str, str])
    except (ValueError, zlib.error, msgspec.MsgspecError) as error:
        raise UnreadableInput(f"the script cannot be read: {error}") from error
