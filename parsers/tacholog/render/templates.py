"""The environments of templates: MyST for the pages of a site, HTML for comparisons and tables. In all, every value is escaped.

No template can opt out of that: no filter declares text safe, the tag that switches escaping off is refused, and the sandbox keeps templates away
from the classes behind values. Only values of the environment's own type (`Myst` or `Html`) are not escaped.
An unknown name is an error, and so is a value that is unknown: a page must not show "None".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from jinja2 import BytecodeCache, FileSystemLoader, StrictUndefined, Undefined, nodes
from jinja2.exceptions import TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tacholog.render import myst
from tacholog.render.html import Html, esc, escaped
from tacholog.resources import templates_dir
from tacholog.view.numerals import grouped

_HARMLESS = ("capitalize", "length")
_REFUSED = (nodes.ScopedEvalContextModifier, nodes.EvalContextModifier, nodes.MarkSafe, nodes.MarkSafeIfAutoescape)


class _Environment(ImmutableSandboxedEnvironment):
    """What all environments share: few filters, no globals, no way to switch escaping off."""

    def __init__(self, folder: Path, finalize: Callable[[object], str], filters: Mapping[str, Callable[..., object]], *, autoescape: bool) -> None:
        super().__init__(
            loader=FileSystemLoader(folder),
            undefined=StrictUndefined,
            autoescape=autoescape,
            finalize=finalize,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        self.filters = {name: self.filters[name] for name in _HARMLESS} | dict(filters)
        self.globals.clear()

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for node in tree.find_all(_REFUSED):
            raise TemplateSyntaxError("escaping cannot be switched off", node.lineno, name, filename)
        return tree


def myst_templates(folder: Path | None = None) -> _Environment:
    """Return the environment for pages in MyST. Every value is escaped, except those that the functions of `tacholog.render.myst` made."""
    return _myst_templates(folder or templates_dir())


def html_templates(folder: Path | None = None) -> _Environment:
    """Return the environment for pages in HTML. Every value is escaped, except `Html`."""
    return _html_templates(folder or templates_dir())


def table_macro(folder: Path | None = None) -> Callable[..., str]:
    """Return the macro that writes a table as HTML. Every value is escaped, except `Html`."""
    return _table_macro(folder or templates_dir())


def take_compiled(pages: BytecodeCache, comparisons: BytecodeCache) -> None:
    """Let both environments take compiled templates from elsewhere, and bring there what they compile."""
    myst_templates().bytecode_cache, html_templates().bytecode_cache = pages, comparisons


@lru_cache(maxsize=2)  # a site has a page for each comparison: a new environment would compile the same templates for each
def _myst_templates(folder: Path) -> _Environment:
    filters: dict[str, Callable[..., object]] = {
        "code": myst.code,
        "counted": myst.counted,
        "labelled": myst.labelled,
        "document": myst.document,
        "grouped": grouped,
        "json": myst.json_body,
        "options": myst.options,
        "quoted": myst.quoted,
    }
    return _Environment(folder, _as_myst, filters, autoescape=False)


@lru_cache(maxsize=2)
def _html_templates(folder: Path) -> _Environment:
    return _Environment(folder, _as_html, {}, autoescape=True)


@lru_cache(maxsize=2)
def _table_macro(folder: Path) -> Callable[..., str]:
    # Without Jinja's own escaping, which makes a new object of each piece of text: tables then take half the time. `finalize` escapes all the same.
    environment = _Environment(folder, _as_piece, {}, autoescape=False)
    macro: Callable[..., str] = environment.get_template("table.html.jinja").module.table  # type: ignore[attr-defined]
    return macro


def _as_myst(value: object) -> str:
    return value if isinstance(value, myst.Myst) else myst.text(_stated(value))


def _as_html(value: object) -> str:
    return value if isinstance(value, Html) else esc(_stated(value))


def _as_piece(value: object) -> str:
    """Return a value escaped, as text: without Jinja's own escaping, it need not be marked as such."""
    return escaped(value) if type(value) is str else _as_html(value)


def _stated(value: object) -> object:
    """Return a value that can be shown as text.

    Raises:
        TypeError: it cannot: a list, or something unknown.
    """
    if isinstance(value, str | int | float):
        return value
    if type(value) is Undefined:  # of "x if y" without an else
        return ""
    raise TypeError(f"a template shows {value!r}, which is not text")
