"""The source of Plotly: the small bundle if npm can fetch it, otherwise the full bundle with a note. No build waits for long."""

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
    """Install a false npm that downloads a file with another checksum. It writes each call into the returned file."""
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


def test_bundle_with_another_checksum_is_not_used(npm: Path, tmp_path: Path) -> None:
    found = basic_bundle(tmp_path / "cache")

    assert npm.is_file()
    assert found.path == full_bundle()
    assert found.note
    assert "plotly.js-basic-dist-min@4.1.1 does not have the expected checksum" in found.note
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".unavailable"]


def test_next_build_does_not_contact_the_registry_again_if_the_registry_did_not_answer(
    npm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODE", "1")

    notes = [basic_bundle(tmp_path / "cache").note for _ in range(2)]

    assert "failed with exit code 1" in str(notes[0])
    assert notes[0] == notes[1]
    assert npm.read_text() == "asked\n"


def test_full_bundle_is_used_and_the_note_states_why_if_npm_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))

    found = basic_bundle(tmp_path / "cache")

    assert found.path == full_bundle()
    assert "npm was not found" in str(found.note)


def test_site_is_built_again_after_the_plot_script_was_edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "plotly.js"
    script.write_text("one")
    monkeypatch.setenv("TACHOLOG_PLOTLY", str(script))
    before = inputs_of([], SiteSettings())

    script.write_text("other")

    assert inputs_of([], SiteSettings()) != before
