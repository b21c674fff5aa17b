"""The rules of the project that a program can check: imports between modules, and waiting in tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "parsers" / "tacholog"
TESTS = ROOT / "tests"
# The rooms (layers of the package), lowest first: a module imports from its own room and from lower rooms. CONTRIBUTING.md describes each room.
ROOMS = (
    *("errors", "visible", "terminal", "installation", "evidence", "slugs", "folders", "memory"),
    *(
        "schema",
        "formats",
        "runs",
        "store",
        "privacy",
        "compare",
        "campaign",
        "view",
        "render",
        "site",
        "sphinx",
        "notebook",
        "commands",
        "cli",
        "__main__",
    ),
    "__init__",  # The public API, which imports modules when a function is called.
)
MODULES = sorted(PACKAGE.rglob("*.py"))
#: The rooms (layers) of perftest, lowest first: a file includes headers of its own room and of lower rooms.
BENCH = ROOT / "bench"
BENCH_ROOMS = ("base", "machine", "transports", "cli", "reporters", "control", "adapters", "rig")
#: Folders of bench/ with other programs (they may include headers of all rooms) or without C++.
BENCH_FOLDERS_BESIDE = ("campaigns", "cmake", "fuzz", "perf", "tests")


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


NAMES = {module_name(path) for path in MODULES}


@cache
def nodes(path: Path) -> list[ast.AST]:
    return [*ast.walk(ast.parse(path.read_text()))]


def imports(path: Path) -> Iterator[str]:
    """Yield the modules of Tacholog that a file imports, including those that it imports inside functions."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from NAMES.intersection(alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module:
            wanted = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from wanted & NAMES or {node.module} & NAMES


def room(name: str) -> int:
    return ROOMS.index(name.split(".")[1])


def test_each_module_is_in_a_listed_layer() -> None:
    assert {name.split(".")[1] for name in NAMES} == set(ROOMS)


def test_module_imports_only_from_its_own_room_and_lower_rooms() -> None:
    upward = [f"{module_name(path)}: {name}" for path in MODULES for name in imports(path) if room(name) > room(module_name(path))]

    assert upward == []


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    order = TopologicalSorter({module_name(path): set(imports(path)) - {module_name(path)} for path in MODULES})

    order.prepare()  # Raises CycleError, which names the circle.


def test_each_folder_of_perftest_is_listed_as_a_layer_or_as_another_folder() -> None:
    assert sorted(path.name for path in BENCH.iterdir() if path.is_dir()) == sorted(BENCH_ROOMS + BENCH_FOLDERS_BESIDE)


def test_file_of_perftest_never_includes_a_header_of_a_higher_layer() -> None:
    files = [path for name in BENCH_ROOMS for path in sorted((BENCH / name).rglob("*")) if path.suffix in (".cpp", ".hpp")]
    included = [
        (path.relative_to(BENCH), header) for path in files for header in re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), re.MULTILINE)
    ]

    upward = [f"{path}: {header}" for path, header in included if header.split("/")[0] not in BENCH_ROOMS[: BENCH_ROOMS.index(path.parts[0]) + 1]]

    assert included
    assert upward == []


def test_relative_imports_are_not_used() -> None:
    relative = [f"{module_name(path)}:{node.lineno}" for path in MODULES for node in nodes(path) if isinstance(node, ast.ImportFrom) and node.level]

    assert relative == []


def test_modules_for_pages_do_not_use_sphinx_and_do_not_open_logs() -> None:
    forbidden = ("sphinx", "docutils", "os", "shutil", "tacholog.evidence", "tacholog.privacy", "tacholog.site")
    found = [
        f"{module_name(path)}: {name}"
        for path in MODULES
        if module_name(path).split(".")[1] in ("view", "render")
        for node in nodes(path)
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        )
        if name.startswith(tuple(f"{part}." for part in forbidden)) or name in forbidden
    ]

    assert found == []


#: Only these files may contain a time limit. Measurements and fuzzers have durations instead.
WAITING = {TESTS / "waiting.py", TESTS / "command.py"}
MEASURING = (TESTS / "perf", TESTS / "fuzz")
#: Functions that wait for a time, or read a clock to see whether a time has passed.
CLOCKS = {"sleep", "monotonic", "monotonic_ns", "perf_counter", "wait_for_timeout"}
LIMITS = {"timeout", "timeout_s", "limit_s"}
#: Methods whose first argument is the time to wait.
WAITS = {"wait", "join", "result", "settimeout"}


def waits_for_a_time(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""
    given = [word.value for word in call.keywords if word.arg in LIMITS] + (call.args[:1] if name in WAITS else [])
    return name in CLOCKS or any(isinstance(value, ast.Constant) and isinstance(value.value, int | float) for value in given)


def test_tests_wait_for_events_and_not_for_a_time() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{node.lineno}"
        for path in sorted(TESTS.rglob("*.py"))
        if path not in WAITING and not any(path.is_relative_to(folder) for folder in MEASURING)
        for node in nodes(path)
        if isinstance(node, ast.Call) and waits_for_a_time(node)
    ]

    assert not found, "\n".join(found)
