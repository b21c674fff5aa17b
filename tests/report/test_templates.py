"""Templates: a value is text in all of them, and none can say otherwise."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from docutils.core import publish_doctree
from jinja2 import TemplateError, nodes
from markupsafe import Markup
from myst_parser.parsers.docutils_ import Parser
from myst_parser.parsers.options import options_to_items

from tacholog.render import myst
from tacholog.render.table import Cell, Column, Row, Table, html
from tacholog.render.templates import html_templates, myst_templates
from tacholog.resources import templates_dir
from tacholog.visible import drawn

HOSTILE = "<script>\n```\n{{ 7*7 }}"
ENVIRONMENTS = (myst_templates, html_templates)
# What MyST still uses of docutils is its business.
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize(
    "source",
    [
        "{{ value | safe }}",
        "{{ value | forceescape | safe }}",
        "{{ {'a': value} | xmlattr }}",
        "{{ value | tojson }}",
        "{% autoescape false %}{{ value }}{% endautoescape %}",
        "{% autoescape true %}{{ value }}{% endautoescape %}",
        "{{ value.__class__ }}",
        "{{ markup.__class__(value) }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ missing }}",
        "{{ unknown }}",
        "{{ [value] }}",
    ],
)
def test_no_template_can_let_a_value_through(environment: type, source: str) -> None:
    with pytest.raises((TemplateError, TypeError)):
        environment().from_string(source).render(value=HOSTILE, markup=Markup("<b>"), unknown=None)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize(
    "source",
    [
        "{{ value }}",
        "{{ value ~ '' }}",
        "{% set other %}{{ value }}{% endset %}{{ other }}",
        "{% macro m() %}{{ value }}{% endmacro %}{{ m() }}",
        "{{ value if value }}",
        "{{ markup ~ value }}",
        "{{ markup.format(value) }}",
        "{% filter capitalize %}{{ value }}{% endfilter %}",
    ],
)
def test_a_value_is_escaped_wherever_a_template_carries_it(environment: type, source: str) -> None:
    shown = environment().from_string(source).render(value=HOSTILE, markup=Markup("{}"))

    assert "<script" not in shown
    if environment is myst_templates:
        assert not set("`<>{}\n") & set(shown)


def test_a_value_is_escaped_once() -> None:
    assert html_templates().from_string("{% macro shown() %}{{ value }}{% endmacro %}{{ shown() }}").render(value="1 < 2") == "1 &lt; 2"
    assert "<td>1 &lt; 2</td>" in html(Table("", [Column()], [[Row([Cell("1 < 2")])]]))


def test_what_was_unescaped_is_text_again() -> None:
    assert "<script" not in html_templates().from_string("{{ (markup ~ value).unescape() }}").render(value=HOSTILE, markup=Markup("<b>"))


def test_html_is_no_myst_and_myst_is_no_html() -> None:
    assert myst_templates().from_string("{{ value }}").render(value=Markup("<b>")) == "&#60;b&#62;"
    assert html_templates().from_string("{{ value }}").render(value=myst.Myst("<b>")) == "&lt;b&gt;"


@pytest.mark.parametrize(
    "place", ["{{ value }}", "# {{ value }}", "- {{ value }}", "> {{ value }}", "*{{ value }}*", "[{{ value }}](https://a.test)", "x {{ value }} y"]
)
def test_text_in_a_page_of_myst_is_read_back_as_it_was(place: str, hostile: Sequence[str]) -> None:
    for value in (
        *hostile,
        " leading",
        "1. a",
        "1) a",
        "+ a",
        "    code",
        "a  \nb",
        "===",
        "&amp;",
        "Foo #2",
        "\u4e2d\u6587",
        "\\",
        "_a_ __b__",
        "|a|b|",
        "-",
    ):
        source = myst_templates().from_string(f"First.\n\n{place}\n").render(value=value)

        tree = publish_doctree(source, parser=Parser(), settings_overrides={"report_level": 5, "doctitle_xform": False})

        text = tree.astext().partition("First.")[2].strip("\n")
        wanted = " ".join(drawn(value).split("\n"))
        assert text == (f"x {wanted} y" if place.startswith("x") else wanted), source
        assert {type(node).__name__ for node in tree.findall()} <= KNOWN | {
            "emphasis",
            "reference",
            "bullet_list",
            "list_item",
            "block_quote",
            "section",
            "title",
        }


KNOWN = {"document", "paragraph", "Text", "target", "inline", "pending", "pending_xref"}


def test_a_word_of_a_directive_is_read_back_as_it_was(hostile: Sequence[str]) -> None:
    for value in (*hostile, "", " a ", "1.1-\u00e9", "\u4e2d\u6587", "\U0001f600", 'say "a" \\ b', "C:\\files", "it's"):
        quoted = myst.quoted(value)

        assert re.fullmatch(r'"[ -~]*"', quoted)
        assert not set("`{}<>\n") & set(quoted)
        assert myst.unquoted(f"{quoted} {quoted} plain") == [value, value, "plain"]
        assert options_to_items(f"system: {quoted}\n")[0] == [("system", value)]


def test_words_that_people_write_are_divided_as_a_shell_does() -> None:
    assert myst.unquoted("1.0 '2.0 beta' \"3 rc\"") == ["1.0", "2.0 beta", "3 rc"]
    assert myst.unquoted(r'"C:\files" a\ b') == [r"C:\files", "a b"]
    with pytest.raises(ValueError, match="closing quotation"):
        myst.unquoted("it's")


def test_a_page_name_that_none_made_is_refused() -> None:
    for name in ("", "../x", "a b", "a)(javascript:x", "a\nb"):
        with pytest.raises(ValueError, match="not the name of a page"):
            myst.document(name)


@pytest.mark.parametrize("path", sorted(templates_dir().glob("*.jinja")), ids=lambda path: path.name)
def test_every_template_of_the_package_compiles_in_its_environment(path: Path) -> None:
    environment = html_templates() if path.name.endswith(".html.jinja") else myst_templates()

    assert isinstance(environment.parse(path.read_text(), path.name), nodes.Template)
    environment.get_template(path.name)
