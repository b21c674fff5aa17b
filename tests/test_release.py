"""A release: all places state the same version as its tag, and its notes are the section of this version in CHANGELOG.md."""

from __future__ import annotations

import re
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = runpy.run_path(str(ROOT / ".ci/release.py"))
CHANGELOG = """# Changelog

## Unreleased

Not yet.

## 1.10.0 - 2026-02-03

Ten.

### Added

- One thing.

## 1.1.0 - 2026-01-02

One.
"""


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """A folder with the three places that state the version of this checkout."""
    for name in ("pyproject.toml", "CITATION.cff", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("version", "notes"),
    [("1.10.0", "Ten.\n\n### Added\n\n- One thing.\n"), ("1.1.0", "One.\n"), ("1.1", None), ("1x10.0", None), ("2.0.0", None)],
)
def test_notes_of_a_release_are_the_section_of_exactly_this_version(version: str, notes: str | None) -> None:
    assert SCRIPT["notes"](CHANGELOG, version) == notes


def test_all_places_in_this_checkout_state_the_same_version(places: Path) -> None:
    assert SCRIPT["disagreements"](places, None) == []
    assert SCRIPT["disagreements"](places, f"v{SCRIPT['version_of'](places)}") == []


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("CITATION.cff", "\nversion: ", "\nversion: 9.", "CITATION.cff states 9."),
        ("CITATION.cff", "\nversion: ", "\nedition: ", "CITATION.cff states no version, not "),
        ("CHANGELOG.md", "\n## ", "\n## of ", "CHANGELOG.md has no section "),
    ],
)
def test_place_that_states_another_version_is_named(places: Path, name: str, old: str, new: str, message: str) -> None:
    path = places / name
    path.write_text(path.read_text().replace(old, new))

    [wrong] = SCRIPT["disagreements"](places, None)

    assert wrong.startswith(message)


@pytest.mark.parametrize("tag", ["v9.0.0", "0.0.0", "", "v"])
def test_tag_of_another_version_is_named(places: Path, tag: str) -> None:
    version: Any = SCRIPT["version_of"](places)

    assert SCRIPT["disagreements"](places, tag) == [f"the tag is {tag}, not v{version}"]


def test_container_file_has_all_images_of_a_release_and_copies_only_existing_files() -> None:
    text = (ROOT / "Containerfile").read_text()
    images = {line.split()[-1] for line in text.splitlines() if line.startswith("FROM ")}
    copied = [source for words in re.findall(r"^COPY (?!--)(.*) \S+$", text, flags=re.MULTILINE) for source in words.split()]

    assert set(re.findall(r"- target: (\w+)", (ROOT / ".github/workflows/release.yml").read_text())) == {"tacholog", "perftest"} <= images
    assert [source for source in copied if not (ROOT / source).exists()] == []
    assert "\nUSER tacholog\n" in text.partition("AS tacholog\n")[2]
