"""The directives. Each reads its argument, options and body, and shows the block of `tacholog.site.blocks` with its name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from tacholog.compare.policy import Policy, metric_asked
from tacholog.compare.result import VERDICTS, Verdict
from tacholog.compare.sizes import size_ranges
from tacholog.errors import TachologError
from tacholog.render.diff.words import verdict_named
from tacholog.render.html import Html, join, tag
from tacholog.render.links import SourceDocument, with_addresses
from tacholog.runs.labels import labels_asked
from tacholog.site import blocks
from tacholog.site.data import data_in, documents_of_site, files_of
from tacholog.site.page import Page
from tacholog.slugs import slug
from tacholog.view.page_index import Entry, PageIndex, page_index
from tacholog.view.side_by_side import BY_SIZE
from tacholog.view.views import Selection

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.builders.html import StandaloneHTMLBuilder
    from sphinx.config import Config
    from sphinx.writers.html5 import HTML5Translator

_LOGGER = logging.getLogger(__name__)
_PAGE = "tacholog-page"
_HEADING = 2
_ARGUMENT = re.compile(r'\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s"\'\\]+))(?=\s|$)')
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|U(00[0-9a-fA-F]{6})|(["\\]))')
_PAIR = 2  # the number of words that `two_words` expects
_Body = TypeVar("_Body")
_SELECTION = (*(name for name in Selection.__struct_fields__ if name != "labels"), "label")
_OPTIONS: dict[str, Callable[[str], object]] | None = {
    **dict.fromkeys((*_SELECTION, "show", "file", "metric", "across", "only"), directives.unchanged_required),
    "limit": directives.nonnegative_int,
    "summary": directives.flag,
}


class _BodyOfSources(msgspec.Struct, frozen=True):
    sources: tuple[SourceDocument, ...] = ()
    digests: bool = False
    vendor: str | None = None
    repository: str | None = None


class Perf(SphinxDirective):
    """The common part of all directives: the options of a selection, and warnings with file and line instead of errors."""

    optional_arguments = 9  # the largest number of words in an argument; each block checks the number that it needs
    final_argument_whitespace = False
    has_content = True
    option_spec: ClassVar[dict[str, Callable[[str], object]] | None] = _OPTIONS
    make: ClassVar[Callable[[Any], Html]]

    def run(self) -> list[nodes.Node]:
        """Return the block as a node. If this fails, warn and show nothing. ``suppress_warnings`` can silence the warning by its type."""
        try:
            html = type(self).make(self)
        except TachologError as error:
            _LOGGER.warning("%s: %s", self.name, error, location=self.get_location(), type="perf", subtype="nodata")
            return []
        if not html:
            return []
        node = PerfHtml(html=str(html))
        if blocks.is_searched(self.name.removeprefix("perf-"), " ".join(self.arguments)):
            node += nodes.Text(" ".join(blocks.words_of(html)))
        self.set_source_info(node)
        return [node]

    @property
    def page(self) -> Page:
        """The page that contains the directive. Sphinx builds it again if anything in the dataset changes."""
        if _PAGE not in self.env.temp_data:
            configured, data = self.config.tacholog_dataset, None
            if configured:
                folder = Path(self.env.srcdir, configured)
                data = data_in(folder)
                for file in (folder, *files_of(folder)):
                    self.env.note_dependency(str(file))
            documents = {*self.env.found_docs, *(data.documents if data else ())}
            feeds = data.feeds if data else {}
            self.env.temp_data[_PAGE] = Page(self.env.docname, data, documents=documents, logs=self.config.tacholog_logs, feeds=feeds)
        page: Page = self.env.temp_data[_PAGE]
        return page

    @property
    def wanted(self) -> Selection:
        """The selection that the options describe."""
        fields = {key: str(value) for key, value in self.options.items() if key in _SELECTION}
        labels = _labels(fields.pop("label", ""))
        return msgspec.structs.replace(msgspec.convert(fields, Selection), labels=labels)

    @property
    def best(self) -> bool:
        """Whether only the runs with the best evidence are shown (``:show: best``).

        Raises:
            TachologError: the option has another value.
        """
        choice = self.options.get("show")
        if choice not in (None, "best", "rest"):
            raise TachologError(f':show: {choice}: the only possible value is "best"')
        return choice == "best"

    @property
    def subject(self) -> str:
        """The whole argument as one text. If the whole argument is in double quotes, the quotes are removed."""
        argument = " ".join(self.arguments).strip()
        return self.words[0] if argument.startswith('"') and len(self.words) == 1 else argument

    @property
    def words(self) -> list[str]:
        """The words of the argument. A word with blanks or signs is written in double quotes.

        Raises:
            TachologError: a quote is not closed.
        """
        return _words_of(" ".join(self.arguments))

    @property
    def pages(self) -> PageIndex:
        """Return which page shows which numbers. The body states it as a JSON list of [system, transport, document].

        If a page shows only a part of these numbers, a fourth item selects this part, such as {"label.plugin": "flannel"}.

        Raises:
            TachologError: the body is not such a list.
        """
        try:
            return page_index(self.body(list[Entry], "[]", "a list of [system, transport, document]"))
        except ValueError as error:
            raise TachologError(f"the body is not a list of [system, transport, document]: {error}") from error

    def body(self, kind: type[_Body], default: str, words: str) -> _Body:
        """Return the body, decoded from JSON.

        Raises:
            TachologError: the body is not valid JSON.
        """
        try:
            return msgspec.json.decode("\n".join(self.content) or default, type=kind)
        except msgspec.DecodeError as error:
            raise TachologError(f"the body is not {words}: {error}") from error

    def two_words(self, what: str) -> tuple[str, str]:
        """Return the two words of the argument.

        Raises:
            TachologError: the argument has fewer or more words.
        """
        if len(self.words) != _PAIR:
            raise TachologError(f"{' '.join(self.arguments)!r}: the argument must consist of {what}")
        first, second = self.words
        return first, second


class PerfFold(SphinxDirective):
    """``{perf-fold} TITLE``: folded content. If no directive in it shows anything, nothing is shown."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[dict[str, Callable[[str], object]] | None] = {"level": directives.positive_int}

    def run(self) -> list[nodes.Node]:
        """Return the content between the start and the end of a folded element."""
        inside = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, inside)
        if not [node for node in inside.children if not isinstance(node, nodes.comment)]:
            return []
        title, ids = self.arguments[0].strip().strip('"'), self.state.document.ids
        anchor = next(name for name in (slug(title), *(f"{slug(title)}-{number}" for number in range(2, len(ids) + 3))) if name not in ids)
        ids[anchor] = inside
        heading = tag(f"h{self.options.get('level', _HEADING)}", title, class_="tl-fold-title", id=anchor)
        start = join([Html('<details class="tl-fold">'), tag("summary", heading), Html('<div class="tl-folded">')])
        ends = [PerfHtml(html=str(start)), PerfHtml(html="</div></details>")]
        for end in ends:
            self.set_source_info(end)
        return [ends[0], *inside.children, ends[1]]


def _words_of(line: str) -> list[str]:
    r"""Split the line as a shell does. Within double quotes, a code such as ``\u00e9`` becomes its letter."""
    words, end = [], 0
    while match := _ARGUMENT.match(line, end):
        words.append(match["bare"] if match["quoted"] is None else _unescaped(match["quoted"]))
        end = match.end()
    try:
        return words if not line[end:].strip() else shlex.split(line)
    except ValueError as error:
        raise TachologError(f"{line}: {error}") from error


def _unescaped(word: str) -> str:
    return _ESCAPE.sub(lambda match: match[3] or chr(int(match[1] or match[2], 16)), word)


def _labels(option: str) -> tuple[tuple[str, str], ...]:
    """Return the labels of an option such as ``plugin=flannel kernel=6.1 rt "other=a=b c=d"``.

    A word without ``=`` belongs to the value before it. Such words occur if the option is one value with blanks, because Sphinx removes its quotes.
    """
    words: list[str] = []
    for word in _words_of(option):
        if words and "=" not in word:
            words[-1] = f"{words[-1]} {word}"
        else:
            words.append(word)
    return labels_asked(words, ":label:")


def _verdicts(option: str) -> list[Verdict]:
    """Return the verdicts that an option names, in the words of a report.

    The option is one verdict or several verdicts. If there are several, each verdict with blanks has double quotes around it.
    """
    if verdict := verdict_named(option):
        return [verdict]
    verdicts = {word: verdict_named(word) for word in _words_of(option)}
    if unknown := [word for word, verdict in verdicts.items() if verdict is None]:
        raise TachologError(f":only: {unknown[0]}: choose from {', '.join(VERDICTS)}")
    return [verdict for verdict in verdicts.values() if verdict is not None]


def _diff(directive: Perf) -> Html:
    old, new = directive.two_words("two releases, one with blanks in quotes")
    options = directive.options
    chosen = {name: str(options[key]).split() for key, name in (("metric", "metrics"), ("across", "across")) if key in options}
    if "metric" in options:
        chosen["metrics"] = [metric_asked(word) for word in chosen["metrics"]]
    if "transport" in options:
        chosen["transports"] = [str(options["transport"])]
    if "size" in options:
        chosen["sizes"] = str(options["size"]).split(",")
        size_ranges(chosen["sizes"], ":size:")
    policy, labels, system = msgspec.convert(chosen, Policy), _labels(str(options.get("label", ""))), options.get("system")
    if "summary" in options:
        return blocks.diff_in_a_line(directive.page, old, new, system, labels=labels, policy=policy)
    only, limit = _verdicts(str(options.get("only", ""))), options.get("limit", blocks.LIMIT)
    return blocks.diff(directive.page, old, new, system, directive.pages, labels=labels, policy=policy, only=only, limit=limit)


def _sources(directive: Perf) -> Html:
    body = directive.body(_BodyOfSources, "{}", "what it should be")
    return blocks.sources(directive.page, body.sources, digests=body.digests, vendor=body.vendor, repository=body.repository)


_DIRECTIVES: dict[str, Callable[[Perf], Html]] = {
    "table": lambda directive: blocks.table(directive.page, directive.subject, directive.wanted, best=directive.best),
    "plot": lambda directive: blocks.plot(directive.page, directive.subject, directive.wanted, best=directive.best),
    "summary": lambda directive: blocks.summary_of(directive.page, directive.subject, directive.wanted, best=directive.best),
    "evidence": lambda directive: blocks.evidence(directive.page, directive.wanted),
    "remarks": lambda directive: blocks.remarks(directive.page, directive.wanted, directive.words, only_new=directive.options.get("show") == "rest"),
    "script": lambda directive: blocks.scripts(directive.page, directive.wanted, best=directive.best),
    "host": lambda directive: blocks.host(directive.page, directive.subject, directive.wanted),
    "log": lambda directive: blocks.log(directive.page, directive.subject, directive.wanted),
    "downloads": lambda directive: blocks.downloads(directive.page, directive.wanted, str(directive.options.get("file", ""))),
    "sources": _sources,
    "overview": lambda directive: blocks.overview(directive.page, directive.pages, directive.wanted),
    "beside": lambda directive: blocks.systems_side_by_side(directive.page, directive.pages, directive.wanted),
    "compare": lambda directive: blocks.compare(directive.page, directive.pages, directive.wanted),
    "doubts": lambda directive: blocks.doubts(directive.page, directive.pages, directive.wanted),
    "glance": lambda directive: blocks.systems_side_by_side(directive.page, directive.pages, directive.wanted, BY_SIZE),
    "machines": lambda directive: blocks.machines(directive.page, directive.pages, directive.wanted),
    "diff": _diff,
    "changes": lambda directive: blocks.changes(directive.page, directive.wanted),
    "history": lambda directive: blocks.history(directive.page, *directive.two_words("a metric and a statistic"), directive.wanted),
    "requirements": lambda directive: blocks.requirements(directive.page, directive.wanted),
}


def setup(app: Sphinx) -> None:
    """Register every directive, its node, and the function that reads the data before the first page."""
    app.connect("config-inited", prepare_data)
    leave_out = (_skip, None)
    app.add_node(PerfHtml, html=(_visit, None), latex=leave_out, text=leave_out, man=leave_out, texinfo=leave_out, gettext=leave_out)
    app.add_directive("perf-fold", PerfFold)
    for name, make in _DIRECTIVES.items():
        app.add_directive(f"perf-{name}", type(f"Perf{name.title()}", (Perf,), {"make": staticmethod(make)}))


def prepare_data(app: Sphinx, config: Config) -> None:
    """Read the runs in the folder ``tacholog_data`` into a dataset in Sphinx's cache folder.

    Raises:
        ExtensionError: there are no runs, or the file ``tacholog_site`` cannot be used.
    """
    if not config.tacholog_data:
        return
    from tacholog.site.prepare import prepare
    from tacholog.site.settings import SiteSettings, read_settings
    from tacholog.store.complaints import saved_complaints

    work = Path(app.doctreedir, "tacholog")
    try:
        settings = read_settings(Path(app.confdir, config.tacholog_site)) if config.tacholog_site else SiteSettings()
        prepare([Path(app.confdir, config.tacholog_data)], work, settings)
        for lost in saved_complaints(work).unread:
            _LOGGER.warning("tacholog_data: %s", lost, type="tacholog", subtype="unread")
    except TachologError as error:
        raise ExtensionError(f"tacholog_data: {error}") from error
    config.tacholog_dataset = str((work / "dataset").resolve())


class PerfHtml(nodes.General, nodes.Element):
    """HTML made by `tacholog.render`, in the attribute ``html``. The writer resolves the links ``doc:NAME?QUERY#ANCHOR`` and ``root:PATH``."""


def _visit(translator: HTML5Translator, node: nodes.Element) -> None:
    translator.body.append(with_addresses(node["html"], lambda kind, name: _target(translator.builder, kind, name, node)))
    raise nodes.SkipNode


def _target(builder: StandaloneHTMLBuilder, kind: str, name: str, node: nodes.Element) -> str:
    here: str = builder.current_docname
    if kind == "root":
        up = builder.get_relative_uri(here, builder.config.root_doc).rpartition("/")[0]
        return f"{up}/{name}" if up else name
    if name not in builder.env.found_docs and name not in documents_of_site(builder.config.tacholog_dataset):
        _LOGGER.warning("no page %r to link to", name, location=node, type="perf", subtype="nolink")
    return builder.get_relative_uri(here, name)


def _skip(_translator: object, _node: nodes.Element) -> None:
    raise nodes.SkipNode
