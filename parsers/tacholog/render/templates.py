"""The Jinja environments for pages and for tables. Every value is escaped, except values of the type `Html`.

No template can switch escaping off: there is no filter that declares text safe, the tag ``autoescape`` is refused, and the sandbox hides the classes
of values. An unknown name or ``None`` as a value is an error, because a page must not show "None".
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
    """Return the environment for the templates of a folder, or for the templates of Tacholog."""
    return _templates_in(folder or templates_dir())


def table_macro(folder: Path | None = None) -> Callable[..., str]:
    """Return the macro that writes a table as HTML. Every value is escaped, except `Html`."""
    return _table_macro(folder or templates_dir())


@lru_cache(maxsize=2)  # cached: a site has many pages, and a new environment for each would compile the same templates again
def _templates_in(folder: Path) -> _Environment:
    return _Environment(folder, _as_html, autoescape=True)


@lru_cache(maxsize=2)
def _table_macro(folder: Path) -> Callable[..., str]:
    # Jinja's own escaping makes a new object from each piece of text, which doubles the time for tables. Here `finalize` escapes instead.
    environment = _Environment(folder, _as_piece, autoescape=False)
    macro: Callable[..., str] = environment.get_template("table.html.jinja").module.table  # type: ignore[attr-defined]
    return macro


def rendered(name: str, **context: object) -> Html:
    """Return a template filled with values."""
    return Html(html_templates().get_template(name).render(**context))  # noqa: S704 - the environment has escaped every value


def counted(number: float) -> Html:
    """Return a count in an element whose class marks it as a count."""
    return tag("span", grouped(number), class_="stat-count")


def labelled(value: object) -> Html:
    """Return a text with digits, such as a title, in an element whose class states that the digits are no measurement."""
    return tag("span", value, class_="stat-label")


def _as_html(value: object) -> str:
    """Return a value, escaped.

    Raises:
        TypeError: the value cannot be shown as text, for example a list or ``None``.
    """
    if isinstance(value, str | int | float):
        return esc(value)
    if type(value) is Undefined:  # "x if y" in a template has this value if y is false and there is no else
        return ""
    raise TypeError(f"a template shows {value!r}, which is not text")


def _as_piece(value: object) -> str:
    """Return a value, escaped. Jinja's own escaping is off, so the returned text is not escaped a second time."""
    return escaped(value) if type(value) is str else _as_html(value)
