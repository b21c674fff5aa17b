"""A format may import only the kit and its own package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tacholog.formats
from tacholog.formats import kit
from tacholog.formats.registry import formats

FORMATS = Path(tacholog.formats.__file__).parent
KIT = sorted((FORMATS / "kit").glob("*.py"))
READING = {
    "__init__",
    "account",
    "blocks",
    "prefixes",
    "reading",
    "registry",
    "source",
    "testing",
    "validity",
    "waiting",
}  # These modules of the package are not formats.
OURS = sorted(path for path in FORMATS.rglob("*.py") if path not in KIT and path.relative_to(FORMATS).parts[0].removesuffix(".py") not in READING)


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tacholog"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names) if node.module == "tacholog.formats" else (node.module,)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("tacholog"))


@pytest.mark.parametrize("path", OURS, ids=lambda path: str(path.relative_to(FORMATS)))
def test_module_of_a_format_imports_only_the_kit_and_modules_of_this_format(path: Path) -> None:
    own_package = f"tacholog.formats.{path.relative_to(FORMATS).parts[0].removesuffix('.py')}"

    assert [name for name in imported(path) if name != "tacholog.formats.kit" and not f"{name}.".startswith(f"{own_package}.")] == []


@pytest.mark.parametrize("path", KIT, ids=lambda path: path.name)
def test_kit_imports_only_itself_and_the_schema(path: Path) -> None:
    assert [name for name in imported(path) if not name.startswith(("tacholog.formats.kit", "tacholog.schema"))] == []


def test_shared_code_of_the_formats_contains_no_name_of_a_tool() -> None:
    names = [*formats(), "perftest", *(word for module in formats().values() for word in (module.SYSTEM, module.TOOL) if word != "Sockets")]
    core = {path.name: code_of(path) for path in [FORMATS / f"{name}.py" for name in READING - {"testing"}] + KIT}

    assert [(path, name) for path, code in core.items() for name in names if re.search(rf"\b{re.escape(name)}\b", code, re.IGNORECASE)] == []


def code_of(path: Path) -> str:
    """Return the code of a file without docstrings and comments, because these may contain examples."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def test_docstring_of_the_kit_names_each_public_name_of_the_kit() -> None:
    types = {"Basis", "Bound", "DataPath", "LoadMode", "Reach", "Reliability", "Scope", "Side", "Status", "Test", "Touched"}
    text = kit.__doc__ or ""

    assert [name for name in kit.__all__ if name not in types and f"`{name}`" not in text] == []


@pytest.mark.parametrize(
    "number",
    [
        kit.printed("latency", "p99", 31_000.0, 10.0, line=7),
        kit.printed("latency", "p99", 0.0, 10.0, line=7),
        kit.printed("latency", "p99", -1.0, 10.0, line=7),
        kit.counted("messages_lost", 3, line=7),
        kit.counted("messages_lost", -1, line=7),
        kit.impossible("latency", "p99", line=7),
    ],
    ids=["printed", "printed 0", "printed below zero", "counted", "counted below zero", "impossible"],
)
def test_number_can_state_its_line_if_its_record_has_several_lines(number: kit.Number) -> None:
    assert number.line == 7


def test_kit_still_has_the_names_of_version_0_4_0() -> None:
    assert (kit.Found, kit.FoundMany, kit.Taken, kit.found_on) == (kit.Finding, kit.BulkFinding, kit.BulkStep, kit.finding_on)
    assert kit.JsonObject("jobs/[]", {}, ()).place == "jobs/[]"
