"""A page under construction: its ids, its headings, and its parts, which are loaded on demand.

A part is a script, because a page on a local disk may load only scripts. It contains compressed HTML, which shrinks to a tenth. A part with an older
release also has a page of its own, for readers without JavaScript.
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
_NEEDS_SCRIPT = "This table needs JavaScript. The pages of the logs and the CSV file of this page contain the same numbers."
_BRACKETS = str.maketrans("<>", "\u2039\u203a")
_CALL = "tachologPart("
_SCRIPT = re.compile(r'tachologPart\("[^"]+", "([^"]+)"\);\n')
_MOST_BYTES = 2**28  # the limit for the pieces of one script
_DRAWN_FROM = re.compile(r'<script type="application/json" class="tl-spec">[^<]*</script>')
_FIGURE = re.compile(r'<figure(?= class="tl-figure")')
#: The part for large tables of single runs. A page can have it, and so can another part.
RUNS = "runs"


class Heading(msgspec.Struct, frozen=True):
    """A heading of a page: its level, its id and its words."""

    level: int
    anchor: str
    title: str


class Page:
    """A page under construction. The functions of `tacholog.site.blocks` add their numbers, ids and parts to it."""

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
        """Create an empty page.

        Args:
            document: the name of the page.
            data: the data that the site shows; ``None`` if the project has no data, so that every block is an error.
            title: the title of the page. If a part of this page has a page of its own, the title of that page contains ``title``.
            documents: the pages of the site. There are no links to other pages.
            logs: the folder of the pages of logs; ``None``: numbers have no links.
            feeds: the title of each feed of the site, by the file of the feed.
            keeps_parts: whether large parts get files of their own.
        """
        self.document, self._data, self.title = document, data, plain_title(title)
        self.documents, self.links, self.feeds, self.keeps_parts = documents, Links(logs), feeds or {}, keeps_parts
        self.parts: dict[str, LoadedPart] = {}
        self.sections: list[Heading] = []
        self.says_costs = False  # whether the page already explains the numbers in its tables of costs
        self._numbers, self._ids, self._slugs = SelectionNumbers(), set[str](), set[str]()

    @property
    def data(self) -> SiteData:
        """The data that the site shows.

        Raises:
            TachologError: the project has no data.
        """
        if self._data is None:
            raise TachologError("no data set: in conf.py, set tacholog_data to a folder of runs or tacholog_dataset to a saved dataset")
        return self._data

    def part(self, wanted: Selection) -> View:
        """Return the part of the data that is selected.

        This also assigns a number to the selection, even if no caller needs the number. Otherwise, the numbers of later selections would depend on
        the callers.
        """
        view = self.data.view.only(wanted)
        self.number(wanted)
        return view

    def number(self, wanted: Selection) -> int:
        """Return the number of a selection, which keeps ids different.

        Several selections may be written in the same way in ids. Such selections have the numbers 1, 2 and so on. Other selections have number 1.
        """
        return self._numbers.number(wanted)

    def anchor(self, subject: str, wanted: Selection) -> str:
        """Return the id of an element. It is made from the selection, so that old links to the element stay valid."""
        return page_anchor(subject, *wanted.values(), number=self.number(wanted))

    def links_beside(self, wanted: Selection, test: str | None) -> Links:
        """Return the links of a table.

        The table links to the tables with all numbers of its test, if these are on the same page.
        """
        others = msgspec.structs.replace(wanted, test=None)
        stands_beside = test and wanted.system and wanted.transport and not wanted.run
        return Links(self.links.logs, numbers_anchor(str(test), others, self.number(wanted)) if stands_beside else None)

    def best(self, wanted: Selection) -> Portion:
        """Return the first portion of a selection, which has the best evidence. This portion contains all tests. A page shows this portion first."""
        return portions(self.data.view.only(msgspec.structs.replace(wanted, test=None)))[0]

    def series(self, part: View, wanted: Selection, test: str, *, best: bool) -> list[Series]:
        """Return the series of a test that the page shows; with ``best``, only those with the best evidence.

        The colour of a series does not depend on ``best``.
        """
        return self.best(wanted).series_of(test, part.series()) if best else part.series()

    def own_part_name(self, name: str) -> str:
        """Return the full name of a part of this page. ``name`` is the name of the part within the page."""
        return part_of(PurePosixPath(self.document).name, name)

    def part_name(self, words: str) -> str:
        """Return a name for a part with a page of its own. It is unique among all pages and all parts of pages.

        Names of pages do not contain ``--``, because `slug` never returns it. So the name depends only on this page. If two parts of this page have
        the same name, the second one is numbered.
        """
        name, used = self.own_part_name(slug(words)), {*self.parts, self.own_part_name(RUNS)}
        return next(candidate for candidate in (name, *(f"{name}-{number}" for number in range(2, len(used) + 3))) if candidate not in used)

    def put_aside(self, part: LoadedPart) -> None:
        """Store a part of the page, or further pieces of the part."""
        if self.keeps_parts:
            existing = self.parts.get(part.name, LoadedPart(part.name, {}))
            self.parts[part.name] = LoadedPart(part.name, existing.pieces | part.pieces, part.title or existing.title)

    def table_part(self, name: str) -> MoveTableOut | None:
        """Return a function that moves large tables to the part with this name; ``None`` if the project does not store parts."""
        if not self.keeps_parts:
            return None

        def keep(anchor: str, content: Html) -> tuple[str, Html]:
            self.put_aside(LoadedPart(name, {anchor: str(content)}))
            return f"{name}.js", tag("p", _NEEDS_SCRIPT, class_="tl-note")

        return keep

    def folded(self, part: LoadedPart, summary: Html, *anchors: Html, class_: str) -> Html:
        """Return a folded element that loads a part when a reader opens it. The element has a link to the page of the part.

        Args:
            part: its name, its content, and the title of its page.
            summary: the content that is shown while the element is closed.
            anchors: the content of the element until the part is loaded.
            class_: the class of the element.
        """
        self.put_aside(part)
        link = tag("p", tag("a", "Open as a page of its own", href=f"{part.name}.html"), class_="tl-note")
        return tag("details", tag("summary", summary), tag("div", link, *anchors), class_=class_, data_part=f"{part.name}.js", id=f"{part.name}-here")

    def overflow(self, name: str, class_: str = "tl-release") -> Callable[[str, Html], Html] | None:
        """Return a function that moves the end of a long list to a part of the page; ``None`` if the project stores no parts.

        The function returns a link to the part.
        """
        if not self.keeps_parts:
            return None

        def fold(words: str, content: Html) -> Html:
            part = LoadedPart(self.part_name(name), {"": str(content)}, f"{self.title}: {words}")
            return self.folded(part, tag("span", f"{words[0].upper()}{words[1:]}", class_="stat-label"), *places_of(content), class_=class_)

        return fold

    def section(self, level: int, title: str, anchor: str = "", *, caller: Callable[[], Html]) -> Html:
        """Return a section of the page. Its ids are those that Sphinx and MyST would make, so that links to other versions of the site stay valid.

        Args:
            level: the level of its heading.
            title: the text of the heading.
            anchor: an additional id, before the others.
            caller: the function that returns the content of the section. In a template, the content is in a call block.
        """
        of_title, of_words = make_id(title), github_slugify(title)
        if not of_title or of_title in self._ids:
            of_title = _with_unused_number("id", "", self._ids)
        self._ids.add(of_title)
        if of_words in self._slugs:
            of_words = _with_unused_number(of_words, "-", self._slugs)
        self._slugs.add(of_words)
        names = (anchor, of_title, *(() if of_words in self._ids else (of_words,)))
        first, *others = dict.fromkeys(filter(None, names))
        self._ids.update((first, *others))
        self.sections.append(Heading(level, first, title))
        link = tag("a", "#", class_="headerlink", href=f"#{first}", title="Link to this heading")
        return tag("section", *(tag("span", id=other) for other in others), tag(f"h{level}", title, link), caller(), id=first)

    def fold(self, title: str, level: int = 2, *, caller: Callable[[], Html]) -> Html:
        """Return content that is folded under a heading; an empty text if the content is empty."""
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


def _with_unused_number(name: str, sign: str, used: Collection[str]) -> str:
    return next(candidate for number in range(1, len(used) + 2) if (candidate := f"{name}{sign}{number}") not in used)


def places_of(content: Html) -> list[Html]:
    """Return an empty element for each id in a part. The page has these elements until the part is loaded. A link to such an id opens the part."""
    return [tag("span", id=anchor, class_="tl-place") for anchor in _PLACE.findall(str(content))]


def part_of(name: str, part: str) -> str:
    """Return the name of a part. ``name`` is the name of a page, or of a part that contains this part.

    The name is unique, because ``--`` is neither in the names of pages nor in ``part``.
    """
    return f"{name}--{part}"


class LoadedPart(msgspec.Struct):
    """A part of a page that is loaded later.

    ``name`` is the name without the folder of the page. ``pieces`` contains the HTML: each key is the id of an element of the page, and the value is
    put into this element. ``title`` is the title of the part's own page; it is empty if the part has no page of its own.
    """

    name: str
    pieces: dict[str, str]
    title: str = ""


def page_of_part(document: str, part: LoadedPart, content: str) -> str:
    """Return the HTML of a part's separate page, without the heading.

    ``content`` is the HTML of the part. The links in it are already correct for the separate page.
    """
    link = tag("a", "The main page of these results", href=f"{PurePosixPath(document).name}.html")
    back = str(tag("p", link, " says how all of this was measured, and on which machines.", class_="tl-note"))
    if "<h2" not in content:  # the end of a list starts with headings of a low level; on its own page, these become the highest level below the title
        content = content.replace("<h4 ", "<h2 ").replace("</h4>", "</h2>")
    # The data of figures are in the script of the part, compressed. Readers without JavaScript see the static figure.
    return back + _FIGURE.sub(f'<figure data-part="{part.name}.js"', _DRAWN_FROM.sub("", content))


def sibling(document: str, name: str) -> str:
    """Return the name of a file next to a page."""
    return f"{document.rpartition('/')[0]}/{name}".lstrip("/")


def script_of(name: str, pieces: dict[str, str]) -> str:
    """Return the script of a part. When a page loads this script, the page gets the pieces of the part."""
    packed = base64.b64encode(zlib.compress(json.dumps(pieces, ensure_ascii=False).encode(), 9)).decode()
    return f"tachologPart({json.dumps(f'{name}.js')}, {json.dumps(packed)});\n"


def pieces_of(script: str) -> dict[str, str]:
    """Return the pieces in the script of a part; an empty result for any other script.

    Raises:
        UnreadableInput: it is the script of a part, but is damaged.
    """
    if not script.startswith(_CALL):
        return {}
    match = _SCRIPT.fullmatch(script)
    if match is None:
        raise UnreadableInput("the script is incomplete")
    try:
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(base64.b64decode(match[1]), _MOST_BYTES)
        if unpacker.unconsumed_tail:
            raise UnreadableInput(f"the script holds more than {_MOST_BYTES >> 20} MiB")
        return msgspec.json.decode(content, type=dict[str, str])
    except (ValueError, zlib.error, msgspec.MsgspecError) as error:
        raise UnreadableInput(f"the script cannot be read: {error}") from error
