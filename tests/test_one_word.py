"""Each verdict and each mark has one term: `MEANINGS`, `TITLES` and `MARKS` declare the terms, and all other code uses these."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path
from typing import get_args

import pytest

from tacholog.commands.diff import AskedVerdict
from tacholog.compare.requirements.result import RequirementVerdict
from tacholog.compare.result import Verdict, json_schema
from tacholog.render.diff.words import MEANINGS
from tacholog.render.requirements import TITLES
from tacholog.schema.marks import MARKS

ROOT = Path(__file__).resolve().parent.parent
WORDS = {title for title in (*(meaning.words for meaning in MEANINGS.values()), *(mark.title.lower() for mark in MARKS.values())) if " " in title}
DECLARED = {"render/diff/words.py", "schema/marks.py"}
ROWS = re.compile(r"^\| (?P<words>[^|]+) \| (?P<names>(?:`\w+` ?)+) \|", re.MULTILINE)


def test_glossary_has_all_terms() -> None:
    page = (ROOT / "docs/glossary.md").read_text()

    assert runpy.run_path(str(ROOT / "docs/make_tables.py"))["with_words"](page) == page, "run: python docs/make_tables.py"
    assert page.count("<!-- words -->") == 1


def test_each_verdict_of_json_has_a_term() -> None:
    assert set(MEANINGS) == set(get_args(Verdict)) == set(json_schema()["$defs"]["DiffRow"]["properties"]["verdict"]["enum"])
    assert set(TITLES) == set(get_args(RequirementVerdict))


@pytest.mark.parametrize(("name", "words"), [(name, meaning.words) for name, meaning in MEANINGS.items()])
def test_option_for_verdicts_accepts_the_name_and_the_term_of_a_verdict(name: str, words: str) -> None:
    assert [AskedVerdict().convert(word, None, None) for word in (name, words, words.upper())] == [name] * 3


def test_page_on_significance_has_the_terms_of_the_code() -> None:
    table = (ROOT / "docs/significance.md").read_text().partition("## The verdicts\n")[2].partition("\n\nRows that")[0]
    pairs = [
        pair for row in ROWS.finditer(table) for pair in zip(re.findall(r"`(\w+)`", row["names"]), _several(row["words"], row["names"]), strict=True)
    ]

    assert dict(pairs) == {name: meaning.words for name, meaning in MEANINGS.items()}


def _several(words: str, names: str) -> list[str]:
    """Return the terms in a cell of the table. A row with several names has several terms.

    For example, "worse, better" is two terms for two names, but "differ, not proven" is one term for one name.
    """
    return words.split(", ") if names.count("`") > len(("`", "`")) else [words]


def test_no_module_and_no_template_has_a_copy_of_the_terms() -> None:
    package = ROOT / "parsers/tacholog"
    copies = [
        f"{path.relative_to(package)}:{node.lineno}: {node.value}"
        for path in sorted(package.rglob("*.py"))
        if path.relative_to(package).as_posix() not in DECLARED
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.casefold() in WORDS
    ]
    copies += [
        f"{path.name}: {word}"
        for path in [*(ROOT / "templates").glob("*.jinja"), *(ROOT / "site/_static").glob("*.js")]
        for word in WORDS
        if re.search(rf"[\"'>]{re.escape(word)}[\"'<]", path.read_text(), re.IGNORECASE)
    ]

    assert copies == []
