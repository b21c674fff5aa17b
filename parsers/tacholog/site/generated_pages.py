"""The pages of the data and of logs, which Sphinx collects. Each is made from one template, together with its parts.

The theme renders each page of the data. It would be slow to render the thousands of pages of parts and logs. So the theme renders one page without
content, the frame, with the header, the footer and the policy of the site. Each page of a part or log is a copy of the frame with other content.
"""

from __future__ import annotations

import html as markup
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from docutils import nodes
from docutils.nodes import make_id
from docutils.utils import new_document
from myst_parser.slugs import github_slugify
from sphinx import addnodes

from tacholog import terminal
from tacholog.errors import TachologError
from tacholog.installation import site_dir
from tacholog.render.html import NOTHING, Html, esc, join, tag
from tacholog.render.links import address_from, pages_linked, with_addresses
from tacholog.render.templates import rendered
from tacholog.site import blocks, blocks_of_questions
from tacholog.site.data import SiteData
from tacholog.site.for_programs import Feed, description, newest_change
from tacholog.site.log_pages import LogPage, log_bodies
from tacholog.site.page import Heading, LoadedPart, Page, page_of_part, plain_title, script_of, sibling
from tacholog.site.pages import MENU, SitePage
from tacholog.site.settings import SiteSettings
from tacholog.site.stamp import FormerSite
from tacholog.view.page_index import LOGS, VERSIONS

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

_PAGE = "page.html"  # the template of the theme
_NO_CONTENTS = {"html_theme.sidebar_secondary.remove": "true"}
_NO_MENUS = "no-menus"
# Plotly sets inline styles.
_POLICY = Html(
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'\">"
)
_USED_WITHOUT_MENUS: Mapping[str, tuple[str, ...]] = {
    "script_files": ("documentation_options.js", "tacholog.js", "tacholog-keys.js"),
    "css_files": ("tacholog.css",),
}
# `tacholog publish` replaces this text by the list of all versions.
_UNPUBLISHED = tag("p", "This site was not published yet. ", tag("a", "Its first page", href="../index.html"), ".")
_TAG = re.compile(r"<[^>]*>")  # `<` and `>` of the content are escaped too
_PARAGRAPH = re.compile(r"<p\b[^>]*>(.*?)</p>", re.DOTALL)
_PREVIEW = 200  # the number of characters of a description, about as many as search engines and chats show
_SUMMARY = re.compile(r"<summary>.*?</summary>", re.DOTALL)
_BLOCKS: Mapping[str, Callable[..., Html]] = {
    "table": blocks.table,
    "plot": blocks.plot,
    "summary": blocks.summary_of,
    "evidence": blocks.evidence,
    "rig_cost": blocks.rig_cost,
    "loaded": blocks.loaded,
    "remarks": blocks.remarks,
    "script": blocks.scripts,
    "host": blocks.host,
    "downloads": blocks.downloads,
    "overview": blocks.overview,
    "doubts": blocks.doubts,
    "machines": blocks.machines,
    "compare": blocks.compare,
    "beside": blocks.systems_side_by_side,
    "older": blocks.older,
    "sources": blocks.sources,
    "dataset": blocks.dataset,
    "programs": blocks.programs,
    "diff": blocks.diff,
    "diff_in_a_line": blocks.diff_in_a_line,
    "history": blocks.history,
    "changes": blocks.changes,
    "requirements": blocks.requirements,
    "answer_loaded": blocks_of_questions.answer_loaded,
    "answer_rig_cost": blocks_of_questions.answer_rig_cost,
    "answer_words": blocks_of_questions.answer_words,
    "answer_figures": blocks_of_questions.answer_figures,
    "answer_numbers": blocks_of_questions.answer_numbers,
    "answer_tests": blocks_of_questions.answer_tests,
    "answer_diffs": blocks_of_questions.answer_diffs,
    "answer_notes": blocks_of_questions.answer_notes,
    "answer_link": blocks_of_questions.answer_link,
    "question_as_toml": blocks_of_questions.question_as_toml,
    "question_as_command": blocks_of_questions.question_as_command,
}
_BODY = '<article class="bd-article">'
_END = "</article>"
FRAME_TITLE = "Page without content"
_FRAME = f"{LOGS}/frame"
_ADDRESS = re.compile(r'((?:href|src|action|data-content_root)=")\.\./')
_SCRIPT = re.compile(r"(<script\b.*?</script>)", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# A match starts only at the first of several blanks, and not at a later one. So each group of blanks is scanned only once.
_BLANK = re.compile(r"(?<![^\S\n])[^\S\n]*+\n\s*+")
_VIEWPORT = re.compile(r'<meta name="viewport"[^>]*>\s*')


class GeneratedPages:
    """All pages of a site that are not written in the sources of Sphinx."""

    def __init__(
        self,
        data: SiteData,
        pages: Sequence[SitePage],
        logs: Sequence[LogPage],
        feeds: Sequence[Feed],
        settings: SiteSettings,
        former: FormerSite,
        digests: Mapping[tuple[str, str], str],
    ) -> None:
        """Prepare the pages.

        Args:
            data: the data that the pages show.
            pages: the pages of the data.
            logs: the pages of logs.
            feeds: the feeds of the site.
            settings: the content of ``site.toml``.
            former: the files of the previous build.
            digests: the digest of all numbers of each log, by run and log.
        """
        self._former, self._digests = former, digests
        self.data, self._pages, self._logs = data, {page.document: page for page in pages}, logs
        prose = (path.stem for path in site_dir().glob("*.md"))
        self._documents = data.documents = frozenset((*self._pages, *(page.document for page in logs), *prose))
        data.feeds = self._feeds = {feed.file: feed.title for feed in feeds}
        self._shared: dict[str, Any] = {
            "site": settings,
            "has_requirements": data.requirements is not None,
            "description": description(data.view.runs.values(), settings),
            "newest_change": newest_change(feeds),
        }
        self._titles: dict[str, str] = {}

    def connect(self, app: Sphinx) -> None:
        """Let Sphinx collect the pages, and link to them."""
        app.connect("env-updated", self._begin)
        app.connect("missing-reference", self._link_to_page)
        app.connect("html-page-context", self._add_context, priority=400)  # before the theme
        app.connect("html-page-context", _without_inline_scripts, priority=900)  # after it
        app.connect("html-collect-pages", self._collect)

    def _begin(self, _app: Sphinx, env: BuildEnvironment) -> None:
        titles = {name: str(esc(title.astext())) for name, title in env.titles.items()}
        titles |= {name: str(esc(plain_title(page.title))) for name, page in self._pages.items()}
        self._titles = titles

    def _link_to_page(self, app: Sphinx, _env: BuildEnvironment, node: nodes.Element, content: nodes.TextElement) -> nodes.Element | None:
        name = str(node.get("reftarget", "")).lstrip("/")
        if node.get("reftype") != "doc" or name not in self._documents:
            return None
        return nodes.reference("", "", content, internal=True, refuri=app.builder.get_relative_uri(str(node["refdoc"]), name))

    def _add_context(self, _app: Sphinx, document: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
        has_document = context["hasdoc"]
        page = self._pages.get(document)
        context["root_doc"] = "index"
        context["hasdoc"] = lambda name: name in self._documents or has_document(name)
        context["prev"] = context["next"] = None
        context["parents"] = [{"link": context["pathto"](name), "title": self._titles[name]} for name in (page.parents if page else ())]
        context["menu"] = [(name, self._titles[name]) for name in MENU if name in self._titles]
        context["menu_here"] = page.parents[0] if page and page.parents else document
        settings: SiteSettings = self._shared["site"]
        described = preview(str(context.get("title") or ""), str(context.get("body") or ""), document, settings)
        context["metatags"] = f"{_POLICY}{context.get('metatags') or ''}{described}{blocks.feed_links(self._feeds, context['pathto'])}"
        if _NO_MENUS in (context.get("meta") or {}):
            for part in ("navbar_center", "navbar_persistent", "navbar_end", "primary_sidebar_end", "article_header_start", "footer_end"):
                context[f"theme_{part}"] = []
            context["theme_disable_search"] = True

    def _collect(self, app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
        """Yield the pages of the data. Write the thousands of pages of parts and logs here, into a frame that the theme renders only once."""
        indexer = app.builder.indexer  # type: ignore[attr-defined]  # of the builder for HTML
        prune = indexer.prune
        indexer.prune = lambda documents: prune({*documents, *self._pages})  # Sphinx adds only the words of its own documents to the search.
        frame = self._frame(app, {})
        for number, planned in enumerate(self._pages.values(), 1):
            terminal.status(f"page {number} of {len(self._pages)}, {planned.document}")
            page = Page(
                planned.document,
                self.data,
                title=planned.title,
                documents=self._documents,
                logs=LOGS,
                feeds=self._feeds,
                keeps_parts=True,
            )
            body, words = self._body(planned, page)
            for part in page.parts.values():
                self._write_part(app, frame, page.document, part)
            self._add_to_search(app, planned, page, words)
            metatags = tag("meta", name="keywords", content=planned.keywords) if planned.keywords else ""
            contents = {"toc": contents_of(page.sections)} if planned.has_contents else {"meta": _NO_CONTENTS}
            yield planned.document, {"title": str(esc(page.title)), "body": body, "metatags": metatags, **contents}, _PAGE
        frame = self._frame(app, {_NO_MENUS: "true"})

        def is_made(log: LogPage, *received: object) -> bool:
            return self._former.has(f"{log.document}.html", frame.digest, "hosts" in self._documents, *received)

        bodies = log_bodies(self._logs, self.data.view, self._documents, self._digests, is_made)
        for number, (log, content) in enumerate(bodies, 1):
            terminal.status(f"log {number} of {len(self._logs)}, {log.title}")
            self._write_framed(app, frame, log.document, log.title, self._addressed(log.document, content))
        self._write_framed(app, frame, f"{VERSIONS}/index", "Versions", _UNPUBLISHED)

    def _body(self, planned: SitePage, page: Page) -> tuple[str, list[str]]:
        """Return the body of a page, and the words of this page for the search."""
        hidden: list[Html] = []
        words: list[str] = []

        def recorded(name: str, make: Callable[..., Html]) -> Callable[..., Html]:
            def block(*arguments: Any, **options: Any) -> Html:  # noqa: ANN401 - the template gives the arguments of the block
                html = make(page, *arguments, **options)
                if blocks.is_searched(name, str(arguments[0]) if arguments else ""):
                    words.extend(blocks.words_of(html))
                hidden.append(html)
                return html

            return block

        functions: dict[str, object] = {name: recorded(name, make) for name, make in _BLOCKS.items()}
        functions |= {"section": page.section, "fold": page.fold, "code": blocks.code, "title": page.title}
        body = page.section(1, page.title, planned.anchor, caller=partial(rendered, planned.template, **self._shared, **planned.context, **functions))
        text = str(body)
        for html in filter(None, hidden):
            text = text.replace(html, " ")
        return self._addressed(page.document, body), [markup.unescape(_TAG.sub(" ", _SUMMARY.sub(" ", text))), *words]

    def _addressed(self, document: str, html: str) -> str:
        if missing := pages_linked(html) - self._documents:
            raise TachologError(f"{document}: no page {min(missing)!r} to link to")
        return with_addresses(html, partial(address_from, document))

    def _add_to_search(self, app: Sphinx, planned: SitePage, page: Page, words: Sequence[str]) -> None:
        document = new_document(page.document)
        for section in page.sections:
            of_section = nodes.section("", nodes.title("", plain_title(section.title)), ids=[section.anchor])
            document += of_section
        document += nodes.paragraph("", " ".join(words))
        document += addnodes.index(entries=[("single", phrase.replace(";", ","), anchor, "main", None) for phrase, anchor in planned.entries])
        if planned.keywords:
            document += nodes.meta("", name="keywords", content=planned.keywords)
        app.builder.indexer.feed(page.document, f"{page.document}.html", page.title, document)  # type: ignore[attr-defined]  # as above

    def _frame(self, app: Sphinx, meta: Mapping[str, str]) -> PageFrame:
        path = Path(app.doctreedir, "frame.html")
        context = {"title": FRAME_TITLE, "body": "", "meta": {**_NO_CONTENTS, **meta}}
        app.builder.handle_page(_FRAME, context, _PAGE, outfilename=path)  # type: ignore[attr-defined]  # as above
        return PageFrame(path)

    def _write_part(self, app: Sphinx, frame: PageFrame, document: str, part: LoadedPart) -> None:
        name = sibling(document, part.name)
        pieces = {anchor: self._addressed(document, text) for anchor, text in part.pieces.items()}
        path = Path(app.outdir, f"{name}.js")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script_of(part.name, pieces), encoding="utf-8")
        if part.title:
            self._write_framed(app, frame, name, part.title, page_of_part(document, part, pieces[""]))

    def _write_framed(self, app: Sphinx, frame: PageFrame, document: str, title: str, content: str) -> None:
        path = Path(app.outdir, f"{document}.html")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(frame.page(document, title, content), encoding="utf-8")


def _without_inline_scripts(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    context["script_files"] = [file for file in context["script_files"] if file.filename]
    for file in context["script_files"]:
        file.attributes["defer"] = "defer"
    # Thousands of pages have no menus. These pages do not load the files that only menus need.
    if _NO_MENUS in (context.get("meta") or {}):
        for kind, used in _USED_WITHOUT_MENUS.items():
            context[kind] = [file for file in context[kind] if str(file.filename).endswith(used)]


def preview(title: str, body: str, document: str, settings: SiteSettings) -> Html:
    """Return the elements that search engines and chats use to present a shared link: the title of a page, and its first paragraph."""
    first = _PARAGRAPH.search(body)
    if first is None:
        return NOTHING
    words = " ".join(markup.unescape(_TAG.sub("", first[1])).split())
    words = words if len(words) <= _PREVIEW else f"{words[:_PREVIEW].rpartition(' ')[0]} \u2026"
    title = markup.unescape(_TAG.sub("", title))
    properties = {"og:type": "website", "og:site_name": settings.name, "og:title": title, "og:description": words}
    if settings.url:
        properties["og:url"] = f"{settings.url.rstrip('/')}/{document}.html"
    return join([tag("meta", name="description", content=words), *(tag("meta", property=key, content=value) for key, value in properties.items())])


def contents_of(sections: Sequence[Heading]) -> str:
    """Return the list of the headings of a page in the form of Sphinx, which the theme reads."""
    title, *others = sections
    return str(tag("ul", tag("li", tag("a", title.title, class_="reference internal", href="#"), _nested_list(others, title.level + 1))))


def _nested_list(sections: Sequence[Heading], level: int) -> Html:
    starts = [index for index, section in enumerate(sections) if section.level == level]
    ends = pairwise([*starts, len(sections)])
    items = [tag("li", _to(sections[start]), _nested_list(sections[start + 1 : end], level + 1)) for start, end in ends]
    return tag("ul", *items) if items else NOTHING


def _to(section: Heading) -> Html:
    return tag("a", section.title, class_="reference internal", href=f"#{section.anchor}")


class PageFrame:
    """A page without content: the text before the place of the content, and the text after it.

    Its links are relative, and are correct for a page that is one folder below the root of the site.
    """

    def __init__(self, page: Path) -> None:
        """Read the frame from the file of a page without content.

        Raises:
            TachologError: the page was not written completely, or the theme made a page without an article.
        """
        text = page.read_text(encoding="utf-8") if page.is_file() else ""
        if not text.rstrip().endswith("</html>"):
            raise TachologError(f"{page}: the page could not be written whole. Is the disk full?")
        before, mark, remainder = text.partition(_BODY)
        _, end, after = remainder.rpartition(_END)
        if not mark or not end or FRAME_TITLE not in before:
            raise TachologError(f"{page}: the page has no article, so no page of a log can be made from it")
        self.digest = sha256(text.encode()).hexdigest()
        # Sphinx and the theme both write the element for the viewport.
        self._before, self._after = _without_later_matches(_VIEWPORT, _squeezed(before)), _squeezed(after)

    def page(self, document: str, title: str, content: str) -> str:
        """Return a complete page: the heading and the content in this frame. The addresses of the frame are adapted to the depth of ``document``."""
        up = "../" * document.count("/") or "./"
        head = _readdressed(self._before, up).replace(FRAME_TITLE, esc(title)).replace(f"{_FRAME}.html", f"{quote(document)}.html")
        return f"{head}{_BODY}{heading(title)}{content}{_END}{_readdressed(self._after, up)}"


def _without_later_matches(pattern: re.Pattern[str], text: str) -> str:
    first = pattern.search(text)
    return text if first is None else text[: first.end()] + pattern.sub("", text[first.end() :])


def _readdressed(text: str, up: str) -> str:
    return _ADDRESS.sub(lambda match: f"{match[1]}{up}", text)


def _squeezed(text: str) -> str:
    return "".join(part if part.startswith("<script") else _BLANK.sub("\n", _COMMENT.sub("", part)) for part in _SCRIPT.split(text))


def heading(title: str) -> Html:
    """Return the heading of a page, with the anchors that Sphinx and MyST would give it."""
    anchor, other = make_id(title) or "top", github_slugify(title)
    link = tag("a", "#", href=f"#{anchor}", class_="headerlink", title="Link to this heading")
    return join([tag("span", id=other) if other != anchor else "", tag("h1", title, link, id=anchor)])
