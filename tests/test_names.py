"""Names in the code: some names of variables are forbidden, and no two classes share a name."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "parsers" / "tacholog"
# Names of variables that do not say what the thing is. A reader would have to look for the noun elsewhere.
FORBIDDEN = frozenset(
    [
        *("apart", "at", "beside", "came", "elsewhere", "found", "given", "heard", "held", "kept", "known", "look", "looks", "meant", "moved", "of"),
        *("one", "ones", "own", "place", "places", "rest", "said", "says", "seen", "shown", "so", "stated", "taken", "tells", "thing", "things"),
        *("told", "way", "ways", "whole"),
    ]
)
# Names that users and their packages see: fields of JSON documents, and the kit for formats.
PUBLISHED = {
    "compare/requirements/result.py": {"place", "stated"},
    "compare/result.py": {"apart", "moved", "stated"},
    "formats/testing/claims.py": {"moved"},
    "site/verification/receipt.py": {"place", "shown"},
    "formats/kit": {"found", "one", "place", "places", "shown", "whole"},
}


def names_in(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the variables, parameters, fields and functions that a module defines, with their lines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name


def is_published(module: str, name: str) -> bool:
    return any(module.startswith(start) and name in names for start, names in PUBLISHED.items())


@pytest.mark.parametrize("room", sorted(path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"))
def test_no_variable_has_a_forbidden_name(room: str) -> None:
    paths = sorted((PACKAGE / room).rglob("*.py"))

    wrong = [
        f"{module}:{line}: {name}"
        for path in paths
        for module in [path.relative_to(PACKAGE).as_posix()]
        for line, name in names_in(path)
        if name.strip("_") in FORBIDDEN and not is_published(module, name.strip("_"))
    ]

    assert wrong == []


def test_no_two_classes_share_a_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(PACKAGE)}:{node.lineno}")

    # Two classes are named Cell: in the kit for formats, a text with its position in a line; in the code for pages, the numbers of a series.
    assert {name: modules for name, modules in places.items() if len(modules) > 1 and name != "Cell"} == {}


def test_glossary_gives_the_word_in_options_for_each_word_on_pages() -> None:
    pairs = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").partition("## The word on pages")[2]

    words = {"polls": "busy-poll", "sleeps": "block", "median": "p50", "payload received": "goodput", "machine": "host"}
    assert [on_pages for on_pages, in_options in words.items() if f"| {on_pages} | `{in_options}` |" not in pairs] == []
