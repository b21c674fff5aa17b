"""A surface that docs/stability.md calls stable changes only together with its version."""

from __future__ import annotations

import json
from collections import defaultdict
from copy import deepcopy
from pathlib import Path

import pytest
from tests.stable_surfaces import COMMAND, RECORD, Surfaces, changes, surfaces, virtual_functions

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def current() -> Surfaces:
    return surfaces()


def test_stable_surfaces_are_equal_to_the_recorded_surfaces(current: Surfaces) -> None:
    broken, unrecorded = changes(json.loads(RECORD.read_text(encoding="utf-8")), current)

    raise_version = (
        "A stable surface lost or changed something that users rely on. Keep it, or raise its version (docs/stability.md): that of a JSON document "
        f"or of run.toml beside its struct, otherwise the minor version in pyproject.toml. Then record it: {COMMAND}. If no release has it yet, "
        f"delete it from {RECORD.name}."
    )
    assert not broken, "\n".join([raise_version, *broken])
    assert not unrecorded, "\n".join([f"This is an addition to a stable surface, or a new version. Record it: {COMMAND}", *unrecorded])


def test_page_about_stability_lists_each_stable_surface(current: Surfaces) -> None:
    page = (ROOT / "docs/stability.md").read_text(encoding="utf-8")

    rows = [line.split("|")[1].strip().replace("`", "") for line in page.splitlines() if line.startswith("| ") and "---" not in line]
    assert set(current) <= set(rows)


def altered(current: Surfaces, surface: str, item: str, form: str | None, version: str | None = None) -> Surfaces:
    """Return a copy of the surfaces in which the item has the form ``form``. If ``form`` is ``None``, the copy does not have the item."""
    copy = deepcopy(current)
    copy[surface]["items"].pop(item, None)
    if form is not None:
        copy[surface]["items"][item] = form
    if version is not None:
        copy[surface]["version"] = version
    return copy


@pytest.mark.parametrize(
    ("surface", "item", "form", "is_broken"),
    [
        ("columns of the dataset", "results.payload_bytes", None, True),
        ("columns of the dataset", "results.payload_bytes", "text", True),
        ("columns of the dataset", "results.colour", "text, required", False),
        ("JSON of tacholog diff", "Report.rows", None, True),
        ("JSON of tacholog diff", "DiffRow.verdict: worse", None, True),
        ("JSON of tacholog diff", "DiffRow.verdict: odd", "an allowed word", False),
        ("run.toml", "Manifest.system, required", None, False),
        ("run.toml", "Manifest.colour, required", "must be stated", True),
        ("run.toml", "Colour.name, required", "must be stated", False),
        ("exit codes", "tacholog diff: 4", None, True),
        ("kit for formats", "printed", "(text: str) -> Number", True),
        ("C++ interface of transports", "Publisher::hurry", "void hurry() = 0;", True),
        ("C++ interface of transports", "Publisher::hurry", "void hurry() {}", False),
        ("addresses and anchors", "anchor of a comparison", "diff-1", True),
    ],
)
def test_removed_or_changed_item_breaks_a_promise_and_an_added_item_must_be_recorded(
    current: Surfaces, surface: str, item: str, form: str | None, is_broken: bool
) -> None:
    other = altered(current, surface, item, form)

    broken, unrecorded = changes(current, other)

    assert other != current
    assert (len(broken), len(unrecorded)) == ((1, 0) if is_broken else (0, 1))
    assert (broken or unrecorded)[0].startswith(f"{surface}: {item} is ")


def test_exit_codes_of_each_command_are_recorded(current: Surfaces) -> None:
    codes: dict[str, set[int]] = defaultdict(set)
    for item in current["exit codes"]["items"]:
        command, _, code = item.removeprefix("tacholog ").partition(": ")
        codes[command].add(int(code))

    assert codes == {
        "any command": {0, 1, 2, 130, 143, 129},
        "parse": {1, 2},
        "import": {2},
        "bench": {1, 2, 129, 130, 143},
        "sustain": {0, 1, 2},
        "report": {2},
        "publish": {2},
        "table": {0, 2},
        "diff": {0, 2, 3, 4, 5},
        "require": {0, 2, 3, 4},
        "ab": {0, 2, 3, 4, 5, 129, 130, 143},
        "export": {2},
        "check": {0, 1},
        "verify": {0, 2, 3},
    }


def test_item_of_a_stable_surface_may_be_removed_if_the_version_is_raised(current: Surfaces) -> None:
    broken, unrecorded = changes(current, altered(current, "run.toml", "Manifest.system", None, version="2"))

    assert broken == []
    assert unrecorded[0] == "run.toml: the version is 2, was 1"


def test_virtual_functions_are_read_with_their_classes() -> None:
    header = "class [[nodiscard]] Loan {\n};\nstruct Side : Base {\n    virtual ~Side() = default;\n    virtual int size(int) const = 0;\n};\n"

    assert virtual_functions(header) == {"Side::~Side": "~Side() = default;", "Side::size": "int size(int) const = 0;"}
