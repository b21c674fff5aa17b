"""The house rules that a machine can check: who imports whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "parsers" / "tacholog"
# Lowest first. A module may import from its own layer and from those before it.
LAYERS = (
    *("__init__", "errors", "visible", "evidence", "records", "medians", "formats", "quality", "manifest", "stated", "host", "problems"),
    *("dataset", "checks", "diff", "campaign", "resources", "terminal", "report", "sphinx", "commands", "cli", "__main__"),
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


def layer(name: str) -> int:
    return LAYERS.index(name.split(".")[1])


def test_every_module_has_a_layer() -> None:
    assert {name.split(".")[1] for name in NAMES} <= set(LAYERS)


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_a_module_imports_only_from_its_own_layer_and_those_below(path: Path) -> None:
    assert [name for name in imports(path) if layer(name) > layer(module_name(path))] == []


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
