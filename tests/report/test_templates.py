"""Templates escape each value, and no template can turn this off."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import TemplateError, nodes
from markupsafe import Markup

from tacholog.installation import templates_dir
from tacholog.render.table import Table, TableCell, TableColumn, TableRow, html
from tacholog.render.templates import html_templates

HOSTILE = "<script>\n```\n{{ 7*7 }}"
# Ignore warnings about old parts of docutils: MyST still uses these parts.
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]


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
def test_no_template_can_insert_a_value_without_escaping(source: str) -> None:
    with pytest.raises((TemplateError, TypeError)):
        html_templates().from_string(source).render(value=HOSTILE, markup=Markup("<b>"), unknown=None)


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
def test_value_is_escaped_in_each_template_construct(source: str) -> None:
    shown = html_templates().from_string(source).render(value=HOSTILE, markup=Markup("{}"))

    assert "<script" not in shown


def test_value_is_escaped_only_once() -> None:
    assert html_templates().from_string("{% macro shown() %}{{ value }}{% endmacro %}{{ shown() }}").render(value="1 < 2") == "1 &lt; 2"
    assert "<td>1 &lt; 2</td>" in html(Table("", [TableColumn()], [[TableRow([TableCell("1 < 2")])]]))


def test_text_is_escaped_again_if_a_template_removes_its_escapes() -> None:
    assert "<script" not in html_templates().from_string("{{ (markup ~ value).unescape() }}").render(value=HOSTILE, markup=Markup("<b>"))


@pytest.mark.parametrize("path", sorted(templates_dir().glob("*.jinja")), ids=lambda path: path.name)
def test_each_template_of_the_package_compiles(path: Path) -> None:
    assert isinstance(html_templates().parse(path.read_text(), path.name), nodes.Template)
    html_templates().get_template(path.name)
