"""The environments of templates: of pages, and of tables. Every value is escaped.

No template can opt out of that: no filter declares text safe, the tag that switches escaping off is refused, and the sandbox keeps templates away
from the classes behind values. Only values of the type `Html` are not escaped.
An unknown name is an error, and so is a value that is unknown: a page must not show "None".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from jinja2 import FileSystemLoader, StrictUndefined, Undefined, nodes
from jinja2.exceptions import TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tacholog.installation import templates_dir
from tacholog.render.html import Html, esc, escaped, tag
from tacholog.view.numerals import grouped

_HARMLESS = ("capitalize", "length")
_REFUSED = (nodes.ScopedEvalContextModifier, nodes.EvalContextModifier, nodes.MarkSafe, nodes.MarkSafeIfAutoescape)


class _Environment(ImmutableSandboxedEnvironment):
    """An environment with few filters, no globals, and no way to switch escaping off."""

    def __init__(self, folder: Path, finalize: Callable[[object], str], *, autoescape: bool) -> None:
        super().__init__(
            loader=FileSystemLoader(folder),
            undefined=StrictUndefined,
            autoescape=autoescape,
            finalize=finalize,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        self.filters = {name: self.filters[name] for name in _HARMLESS} | {"counted": counted, "labelled": labelled}
        self.globals.clear()

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for node in tree.find_all(_REFUSED):
            raise TemplateSyntaxError("escaping cannot be switched off", node.lineno, name, filename)
        return tree


def html_templates(folder: Path | None = None) -> _Environment:
    """Return the environment, for the templates of a folder or for our own."""
    return _templates_in(folder or templates_dir())


def table_macro(folder: Path | None = None) -> Callable[..., str]:
    """Return the macro that writes a table as HTML. Every value is escaped, except `Html`."""
    return _table_macro(folder or templates_dir())


@lru_cache(maxsize=2)  # a site has a page for each comparison: a new environment would compile the same templates for each
def _templates_in(folder: Path) -> _Environment:
    return _Environment(folder, _as_html, autoescape=True)


@lru_cache(maxsize=2)
def _table_macro(folder: Path) -> Callable[..., str]:
    # Without Jinja's own escaping, which makes a new object of each piece of text: tables then take half the time. `finalize` escapes all the same.
    environment = _Environment(folder, _as_piece, autoescape=False)
    macro: Callable[..., str] = environment.get_template("table.html.jinja").module.table  # type: ignore[attr-defined]
    return macro


def rendered(name: str, **context: object) -> Html:
    """Return what a template makes of its values."""
    return Html(html_templates().get_template(name).render(**context))  # noqa: S704 - the environment has escaped every value


def counted(number: float) -> Html:
    """Return a count in an element whose class says that it is one."""
    return tag("span", grouped(number), class_="stat-count")


def labelled(value: object) -> Html:
    """Return a text with digits, such as a title, in an element whose class says that these are not a measurement."""
    return tag("span", value, class_="stat-label")


def _as_html(value: object) -> str:
    """Return a value as it is shown.

    Raises:
        TypeError: it cannot be shown as text: a list, or something unknown.
    """
    if isinstance(value, str | int | float):
        return esc(value)
    if type(value) is Undefined:  # of "x if y" without an else
        return ""
    raise TypeError(f"a template shows {value!r}, which is not text")


def _as_piece(value: object) -> str:
    """Return a value escaped, as text: without Jinja's own escaping, it need not be marked as such."""
    return escaped(value) if type(value) is str else _as_html(value)
