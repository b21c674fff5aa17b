"""Where Plotly comes from: a small bundle if it can be had, the full one with a note if not, and never a build that waits for long."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from tacholog.site.bundle import basic_bundle, full_bundle
from tacholog.site.settings import SiteSettings
from tacholog.site.stamp import inputs_of

NPM = """#!/bin/sh
echo asked >> "$ASKED"
for word in "$@"; do case $word in --pack-destination=*) cp "$TARBALL" "${word#*=}/";; esac; done
exit $CODE
"""


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An npm that hands over a tarball of somebody else's making. Returns the file that notes each call."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "npm").write_text(NPM)
    (tmp_path / "bin" / "npm").chmod(0o755)
    (tmp_path / "plotly-basic.min.js").write_text("alert(1)")
    with tarfile.open(tmp_path / "plotly.tgz", "w:gz") as archive:
        archive.add(tmp_path / "plotly-basic.min.js", "package/plotly-basic.min.js")
    for name, value in (("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin"), ("TARBALL", str(tmp_path / "plotly.tgz")), ("CODE", "0")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    return tmp_path / "asked"


def test_a_file_with_another_checksum_is_not_used(npm: Path, tmp_path: Path) -> None:
    found = basic_bundle(tmp_path / "cache")

    assert npm.is_file()
    assert found.path == full_bundle()
    assert found.note
    assert "plotly.js-basic-dist-min@4.1.1 does not have the expected checksum" in found.note
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".unavailable"]


def test_a_registry_that_did_not_answer_is_not_asked_again_at_every_build(npm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODE", "1")

    notes = [basic_bundle(tmp_path / "cache").note for _ in range(2)]

    assert "failed with exit code 1" in str(notes[0])
    assert notes[0] == notes[1]
    assert npm.read_text() == "asked\n"


def test_without_npm_the_full_bundle_is_used_and_the_note_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))

    found = basic_bundle(tmp_path / "cache")

    assert found.path == full_bundle()
    assert "npm was not found" in str(found.note)


def test_a_site_with_a_script_for_plots_that_somebody_edited_is_another_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "plotly.js"
    script.write_text("one")
    monkeypatch.setenv("TACHOLOG_PLOTLY", str(script))
    before = inputs_of([], SiteSettings())

    script.write_text("other")

    assert inputs_of([], SiteSettings()) != before
