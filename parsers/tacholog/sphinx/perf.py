"""What all directives share: the options of a selection, access to the dataset, warnings, and parts that are loaded when somebody asks for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import msgspec
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from tacholog.errors import TachologError
from tacholog.render.html import Html, tag
from tacholog.render.myst import unquoted
from tacholog.render.tables import tables
from tacholog.render.tables.tables import Apart, Links
from tacholog.runs.labels import labels_asked
from tacholog.site.output.former_parts import taken_over
from tacholog.site.output.parts import RUNS, Part, add_to_part, names_of_parts, part_of
from tacholog.slugs import slug
from tacholog.sphinx.node import PerfHtml, words_of
from tacholog.sphinx.store import first_portion, view
from tacholog.view.portions import Portion
from tacholog.view.run_digests import digest
from tacholog.view.selection_numbers import SelectionNumbers
from tacholog.view.series import Series
from tacholog.view.views import Selection, View

_LOGGER = logging.getLogger(__name__)
_LABEL = "label"
OPTIONS = dict.fromkeys((*(name for name in Selection.__struct_fields__ if name != "labels"), _LABEL), directives.unchanged_required)
_ID = re.compile(r'<(?:section|details|figure)[^>]* id="([^"]+)"')
_SHOW, _BEST = "show", "best"
_NUMBERS = "tacholog-numbers"


class Perf(SphinxDirective):
    """What all directives share: the options of a selection, access to the dataset, and warnings with file and line."""

    required_arguments = 0
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Callable[[str], object]] | None] = {**OPTIONS, _SHOW: directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return the nodes for the selection. If the dataset or the part is missing, warn and show nothing."""
        try:
            given = {key: str(value) for key, value in self.options.items() if key in OPTIONS}
            labels = self.labels(given.pop(_LABEL, ""))
            wanted = msgspec.structs.replace(msgspec.convert(given, Selection), labels=labels)
            self.number(wanted)  # Also of a part that has nothing with an id, so that the parts have the numbers that other pages know.
            return self.show(self.select(wanted), wanted)
        except TachologError as error:
            return self.warn(str(error))

    def select(self, wanted: Selection) -> View:
        """Return the selected part. The page is made again when anything in it changes."""
        return view(self.env, wanted)

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return the nodes for the selected part."""
        raise NotImplementedError

    def warn(self, message: str) -> list[nodes.Node]:
        """Warn through Sphinx: ``-W`` makes it an error, ``suppress_warnings`` silences it by its type."""
        _LOGGER.warning("%s: %s", self.name, message, location=self.get_location(), type="perf", subtype="nodata")
        return []

    def html(self, html: Html, *, searched: bool = False) -> list[nodes.Node]:
        """Wrap HTML into a node. With ``searched`` its words go into the search index."""
        node = PerfHtml(html=str(html))
        if searched:
            node += words_of(node["html"])
        self.set_source_info(node)
        return [node]

    @property
    def links(self) -> Links:
        """Where the pages of the logs are."""
        return Links(self.config.tacholog_logs)

    def links_beside(self, wanted: Selection, test: str | None) -> Links:
        """Return the links of a table that stands beside those with all numbers of a test, as on the pages of a site."""
        others = msgspec.structs.replace(wanted, test=None)
        beside = test and wanted.system and wanted.transport and not wanted.run
        return Links(self.config.tacholog_logs, tables.numbers_anchor(str(test), others, self.number(wanted)) if beside else None)

    def portion(self, wanted: Selection) -> Portion | None:
        """Return what ``:show: best`` limits the selection to: the best evidence, of all tests; nothing without that option.

        Raises:
            TachologError: the option has another value.
        """
        if _SHOW not in self.options:
            return None
        if self.options[_SHOW] != _BEST:
            raise TachologError(f":show: {self.options[_SHOW]}: there is only {_BEST}")
        return self.best(wanted)

    def best(self, wanted: Selection) -> Portion:
        """Return what a page opens with that shows this selection."""
        return first_portion(self.env, msgspec.structs.replace(wanted, test=None))

    def series(self, part: View, wanted: Selection, test: str) -> list[Series]:
        """Return the series of a test that are shown. Their colours are those that they have among all."""
        portion = self.portion(wanted)
        return part.series() if portion is None else portion.series_of(test, part.series())

    def apart(self, name: str) -> Apart | None:
        """Return what keeps large tables out of the page, in a part of that name; nothing if the project keeps no parts."""
        if not self.config.tacholog_parts:
            return None

        def keep(place: str, content: Html) -> tuple[str, Html]:
            self.put_aside(Part(name, {place: str(content)}))
            words = "This table needs JavaScript. The pages of the logs have the same numbers, and so has the CSV file of this page."
            return f"{name}.js", tag("p", words, class_="tl-note")

        return keep

    def put_aside(self, part: Part) -> None:
        """Keep a part of the page that is loaded when somebody asks for it."""
        if self.config.tacholog_parts:
            add_to_part(Path(self.config.tacholog_parts), self.env.docname, part)

    def taken_over(self, name: str, parts_named: str, made_of: Callable[[], Sequence[object]], make: Callable[[], Html]) -> Html:
        """Return what stands in a place of the page: what the last build made of the same, with the parts that it put aside, else what is made now.

        Args:
            name: what no other place of the page is called.
            parts_named: what all names begin with that it asks `part_name` for.
            made_of: returns everything that the place depends on, beside the page, code, templates, and which other pages and parts there are.
            make: makes it.
        """
        if not self.config.tacholog_made_by or not self.config.tacholog_parts:
            return make()
        taken = sorted(found for found in self.taken if found.startswith(parts_named))
        about = (self.config.tacholog_made_by, self.env.docname, self.title, taken, self.links)
        parts = Path(self.config.tacholog_parts)
        html = taken_over(parts, self.env.docname, name, digest([about, made_of()]), lambda: str(make()))
        return Html(html)  # noqa: S704 - it is what `make` made, in this build or in an earlier one

    @property
    def taken(self) -> set[str]:
        """The names of the parts that the page has so far."""
        return names_of_parts(Path(self.config.tacholog_parts), self.env.docname) if self.config.tacholog_parts else set()

    def part_name(self, words: str) -> str:
        """Return a name for a part with a page of its own that no other page, and no other part of any page, has.

        No page has ``--`` in its name, because `slug` makes none. So the name depends on this page only. Of parts of this page that would have one
        name, the second is numbered.
        """
        name, taken = self.beside(slug(words)), {*self.taken, self.beside(RUNS)}
        names = (name, *(f"{name}-{number}" for number in range(2, len(taken) + 3)))
        return next(found for found in names if found not in taken)

    def beside(self, name: str) -> str:
        """Return the name of a part of this page."""
        return part_of(Path(self.env.docname).name, name)

    def folded(self, part: Part, summary: Html, *places: Html, class_: str) -> Html:
        """Return a folded element that loads a part when somebody opens it, with a link to the page that the part is, too.

        Args:
            part: its name, what it holds, and the title of its page.
            summary: what is shown while the element is closed.
            places: what the element holds until the part is there.
            class_: the class of the element.
        """
        self.put_aside(part)
        link = tag("p", tag("a", "Open as a page of its own", href=f"{part.name}.html"), class_="tl-note")
        return tag("details", tag("summary", summary), tag("div", link, *places), class_=class_, data_part=f"{part.name}.js", id=f"{part.name}-here")

    def rest(self, name: str, class_: str) -> Callable[[str, Html], Html] | None:
        """Return what takes the end of a list, in words and as HTML, out of the page, and returns what leads to it.

        Return nothing if the project keeps no parts.
        """
        if not self.config.tacholog_parts:
            return None

        def fold(words: str, content: Html) -> Html:
            part = Part(self.part_name(name), {"": str(content)}, f"{self.title}: {words}")
            summary = tag("span", f"{words[0].upper()}{words[1:]}", class_="stat-label")
            return self.folded(part, summary, *places_of(content), class_=class_)

        return fold

    @property
    def title(self) -> str:
        """The title of the page."""
        return next((found.astext() for found in self.state.document.findall(nodes.title)), Path(self.env.docname).name)

    @property
    def subject(self) -> str:
        """The only argument of the directive, with or without double quotes."""
        argument = self.arguments[0].strip() if self.arguments else ""
        return self.words[0] if argument.startswith('"') and len(self.words) == 1 else argument

    def labels(self, option: str) -> tuple[tuple[str, str], ...]:
        """Return the labels that an option asks for: ``plugin=flannel kernel=6.1 rt "other=a=b c=d"``.

        A word without ``=`` belongs to the value before it: the parser of options has removed the quotes around a single value with blanks.

        Raises:
            TachologError: it is not of this form.
        """
        words: list[str] = []
        for word in words_of_line(option):
            if words and "=" not in word:
                words[-1] = f"{words[-1]} {word}"
            else:
                words.append(word)
        return labels_asked(words, ":label:")

    @property
    def words(self) -> list[str]:
        """The words of the argument. A word with blanks or signs is written in double quotes.

        Raises:
            TachologError: a quote is not closed.
        """
        return words_of_line(" ".join(self.arguments))

    def anchor(self, wanted: Selection) -> str:
        """Return an id that is made from what is shown, so that links to it last."""
        return tables.page_anchor(self.subject, *wanted.values(), number=self.number(wanted))

    def number(self, wanted: Selection) -> int:
        """Return the number of a selection among those of the page that have the same name in ids."""
        if _NUMBERS not in self.env.temp_data:
            self.env.temp_data[_NUMBERS] = SelectionNumbers()
        number: int = self.env.temp_data[_NUMBERS].number(wanted)
        return number


def places_of(content: Html) -> list[Html]:
    """Return elements with the ids of a part that is loaded later, so that links to them open it."""
    return [tag("span", id=place, class_="tl-place") for place in _ID.findall(str(content))]


def words_of_line(line: str) -> list[str]:
    """Return the words of a line of a directive.

    Raises:
        TachologError: a quote is not closed.
    """
    try:
        return unquoted(line)
    except ValueError as error:
        raise TachologError(f"{line}: {error}") from error
