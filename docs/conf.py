"""The Sphinx settings of this documentation: ``nox -s docs``. The theme is that of the sites that ``tacholog report`` builds."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Callable

from click.testing import CliRunner
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

import tacholog
from tacholog.cli import COMMANDS
from tacholog.cli import tacholog as command_line
from tacholog.sphinx.theme import CONTEXT, OPTIONS, THEME

project = "Tacholog"
author = "the Tacholog authors"
project_copyright = author
release = importlib.metadata.version("tacholog")

extensions = ["myst_parser", "sphinx_copybutton", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["example", "example-logs"]  # a project of its own, and logs
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types of the standard library, pandas, and modules that are no interface
smartquotes = False
default_role = "code"

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline", "deflist"]
autodoc_member_order = "bysource"

html_theme = THEME
html_context = {**CONTEXT}
html_theme_options = {
    **OPTIONS,
    "logo": {"text": project},
    "header_links_before_dropdown": 8,
    "footer_start": ["copyright"],
}
html_title = project
html_sidebars = {"index": [], "install": [], "tutorial": []}
html_static_path = ["../site/_static", "_static"]
html_css_files = ["tacholog.css", "docs.css"]
html_favicon = "../site/_static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_permalinks_icon = "#"
copybutton_exclude = ".linenos, .gp"


def _commands() -> str:
    """Return a section for each command, with its help as a terminal shows it."""
    runner = CliRunner()
    helps = {name: runner.invoke(command_line, [name, "--help"], prog_name="tacholog", terminal_width=76).output for name in COMMANDS}
    return "\n\n".join(f"## tacholog {name}\n\n```text\n{text.rstrip()}\n```" for name, text in helps.items())


def _formats() -> str:
    """Return a section for each format that is installed: the logs that it reads, and its dialects with the versions that print them."""
    return "\n\n".join(
        "\n".join(
            [f"## {form.name}\n\n{form.reads}\n\nTool: {form.tool}. System: {form.system}. Dialects:\n", *(f"- {words}" for words in form.dialects)]
        )
        for form in tacholog.list_formats()
    )


_MADE: dict[str, Callable[[], str]] = {"<!-- commands -->": _commands, "<!-- formats -->": _formats}


_FILES = re.compile(r"\]\((?P<path>(?:\.\./|example(?:-logs)?/)[^)#]+)(?:#[^)]*)?\)")


def _fill(_app: Sphinx, _page: str, content: list[str]) -> None:
    """Replace each mark on a page by the text that is made from the code, and let links to files that are no pages offer these files."""
    for mark, make in _MADE.items():
        if mark in content[0]:
            content[0] = content[0].replace(mark, make())
    content[0] = _FILES.sub(r"](path:\g<path>)", content[0])


def setup(app: Sphinx) -> None:
    """Make parts of the pages from the code."""
    app.connect("source-read", _fill)
    for name in ("csv", "example"):  # Pygments does not know these words of the pages
        app.add_lexer(name, TextLexer)
