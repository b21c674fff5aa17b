"""The node that carries finished HTML.

It is not ``nodes.raw``, because Sphinx puts the text of raw HTML into the search index, where thousands of numbers would bury the words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util import logging

from tacholog.render.addresses import with_addresses
from tacholog.site.data import documents_of_site

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.builders.html import StandaloneHTMLBuilder
    from sphinx.writers.html5 import HTML5Translator

_LOGGER = logging.getLogger(__name__)


class PerfHtml(nodes.General, nodes.Element):
    """HTML made by `tacholog.render`, in the attribute ``html``. Links ``doc:NAME?QUERY#ANCHOR`` and ``root:PATH`` are resolved on writing."""


def setup(app: Sphinx) -> None:
    """Register the node. HTML builders write it, all others leave it out."""
    leave_out = (_skip, None)
    app.add_node(PerfHtml, html=(_visit, None), latex=leave_out, text=leave_out, man=leave_out, texinfo=leave_out, gettext=leave_out)


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
