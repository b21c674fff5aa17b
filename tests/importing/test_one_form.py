"""A name with decomposed accents (macOS) equals the name with composed accents (other systems)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path

from tests.command import run_tacholog_text
from tests.importing.conftest import import_logs, log_of, manifests

MakeTree = Callable[..., Path]
COMPOSED = "m\u00fcnchen"
TAKEN_APART = unicodedata.normalize("NFD", COMPOSED)


def test_release_names_that_differ_only_in_the_unicode_form_of_accents_are_one_release(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({f"{COMPOSED}/1/sub.log": log_of("sub"), f"{TAKEN_APART}/2/sub.log": log_of("sub", 1)})

    import_logs(logs, "--to", tmp_path / "data", "--map", "{release}/{repetition}/{role}.log")

    found = manifests(tmp_path / "data")
    assert [(run.release, run.repetition) for run in found.values()] == [(COMPOSED, 1), (COMPOSED, 2)]


def test_release_is_found_by_both_unicode_forms_of_the_accents_in_its_name(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({f"{name}/{number}/sub.log": log_of("sub", number) for number, name in enumerate((COMPOSED, "b"))})
    import_logs(logs, "--to", tmp_path / "data", "--map", "{release}/{repetition}/{role}.log")
    for path in (tmp_path / "data").rglob("run.toml"):
        path.write_text(path.read_text().replace(COMPOSED, TAKEN_APART))

    for word in (COMPOSED, TAKEN_APART):
        done = run_tacholog_text("diff", word, "b", "--data", tmp_path / "data", cwd=tmp_path)
        assert "no release" not in done.stderr, word
        assert done.stdout
