"""Titles without angle brackets, because themes put titles into menus and search results without escaping them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.transforms import SphinxTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_BRACKETS = str.maketrans("<>", "\u2039\u203a")


class PlainTitles(SphinxTransform):
    """Replaces angle brackets in titles by similar characters, in sites whose titles come from logs and manifests."""

    default_priority = 900  # after everything that makes titles, and before they are collected

    def apply(self, **_: object) -> None:
        """Replace the brackets in each title of the page."""
        if not self.config.tacholog_csp:
            return
        for title in self.document.findall(nodes.title):
            for text in list(title.findall(nodes.Text)):
                if (plain := text.translate(_BRACKETS)) != text:
                    text.parent.replace(text, nodes.Text(plain))


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_transform(PlainTitles)
