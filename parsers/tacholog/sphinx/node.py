"""The node that carries finished HTML.

It is not ``nodes.raw``, because Sphinx puts the text of raw HTML into the search index, where thousands of numbers would bury the words.
"""

from __future__ import annotations

import html as markup
import json
import re
from collections.abc import Container
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util import logging

from tacholog.render.addresses import with_addresses

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.builders.html import StandaloneHTMLBuilder
    from sphinx.writers.html5 import HTML5Translator

_LOGGER = logging.getLogger(__name__)
_TAG = re.compile(r"<[^>]*>")  # `<` and `>` of the content are escaped too
_WORD = re.compile(r"[^\W\d_]{3,}(?:-[^\W\d_]+)*")


class PerfHtml(nodes.General, nodes.Element):
    """HTML made by `tacholog.render`, in the attribute ``html``. Links ``doc:NAME?QUERY#ANCHOR`` and ``root:PATH`` are resolved on writing."""


def words_of(html: str) -> nodes.Text:
    """Return each word of the HTML once, without numbers, as a node that is indexed for the search and not shown."""
    found = _WORD.findall(markup.unescape(_TAG.sub(" ", html)))
    return nodes.Text(" ".join(dict.fromkeys(found)))


def setup(app: Sphinx) -> None:
    """Register the node. HTML builders write it, all others leave it out."""
    leave_out = (_skip, None)
    app.add_node(PerfHtml, html=(_visit, None), latex=leave_out, text=leave_out, man=leave_out, texinfo=leave_out, gettext=leave_out)


def _visit(translator: HTML5Translator, node: nodes.Element) -> None:
    builder = translator.builder

    others = other_pages(builder.config.tacholog_other_pages)  # once for all links: it looks at the file
    translator.body.append(with_addresses(node["html"], lambda kind, name: _target(builder, others, (kind, name), node)))
    raise nodes.SkipNode


def _target(builder: StandaloneHTMLBuilder, others: Container[str], link: tuple[str, str], node: nodes.Element) -> str:
    kind, name = link
    here: str = builder.current_docname
    if kind == "root":
        up = builder.get_relative_uri(here, builder.config.root_doc).rpartition("/")[0]
        return f"{up}/{name}" if up else name
    if name not in builder.env.found_docs and name not in others:
        _LOGGER.warning("no page %r to link to", name, location=node, type="perf", subtype="nolink")
    return builder.get_relative_uri(here, name)


@lru_cache(maxsize=1)
def _pages_in(path: str, _changed_ns: int) -> frozenset[str]:
    return frozenset(json.loads(Path(path).read_text(encoding="utf-8")))


def other_pages(path: str | None) -> frozenset[str]:
    """Return the documents of the site that Sphinx does not write, such as those of logs. A JSON file lists them."""
    return _pages_in(path, Path(path).stat().st_mtime_ns) if path else frozenset()


def _skip(_translator: object, _node: nodes.Element) -> None:
    raise nodes.SkipNode
