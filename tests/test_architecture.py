"""The house rules that a machine can check: who imports whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "parsers" / "tacholog"
# The rooms, lowest first: a module imports from its own room and from those before it. CONTRIBUTING.md says what each is for.
ROOMS = (
    *("errors", "visible", "terminal", "resources", "evidence", "extras", "slugs", "holding", "ownership", "garbage", "interruption"),
    *("schema", "formats", "runs", "dataset", "privacy", "compare", "campaign", "view", "render", "site", "sphinx", "commands", "cli", "__main__"),
    "__init__",  # the front door: what it calls is imported when it is called
)
MODULES = sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


NAMES = {module_name(path) for path in MODULES}


def imports(path: Path) -> Iterator[str]:
    """The modules of this package that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from NAMES.intersection(alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module:
            wanted = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from wanted & NAMES or {node.module} & NAMES


def room(name: str) -> int:
    return ROOMS.index(name.split(".")[1])


def test_every_module_has_a_room() -> None:
    assert {name.split(".")[1] for name in NAMES} == set(ROOMS)


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_a_module_imports_only_from_its_own_room_and_those_below(path: Path) -> None:
    upward = [name for name in imports(path) if room(name) > room(module_name(path))]

    assert upward == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    order = TopologicalSorter({module_name(path): set(imports(path)) - {module_name(path)} for path in MODULES})

    order.prepare()  # raises CycleError, which names the circle


def test_relative_imports_are_not_used() -> None:
    relative = [
        f"{module_name(path)}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.level
    ]

    assert relative == []


def test_what_is_shown_and_how_knows_no_sphinx_and_opens_no_evidence() -> None:
    forbidden = ("sphinx", "docutils", "os", "shutil", "tacholog.evidence", "tacholog.privacy", "tacholog.site")
    found = [
        f"{module_name(path)}: {name}"
        for path in MODULES
        if module_name(path).split(".")[1] in ("view", "render")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        )
        if name.startswith(tuple(f"{part}." for part in forbidden)) or name in forbidden
    ]

    assert found == []
