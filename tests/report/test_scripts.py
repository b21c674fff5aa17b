"""The script on a page measures again what the page shows: every own run's is run as it stands there, only shorter, as it offers itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tacholog.formats.reading import read
from tacholog.runs.manifest import Manifest, read_manifest
from tacholog.schema.records import Record
from tacholog.site.script import shell_script

DATA = Path(__file__).parent.parent.parent / "data"
SHORT_S = "0.02"


def own_scripts() -> dict[str, Path]:
    """Each script that differs from all others, with the first run that it is of: repetitions share theirs."""
    found: dict[str, Path] = {}
    for path in sorted(DATA.glob("**/run.toml")):
        manifest = read_manifest(path)
        if not manifest.published:
            found.setdefault(body(manifest, ""), path)
    return found


def body(manifest: Manifest, run: str) -> str:
    """A run's script without what it says of the run. perftest's commands name their sizes themselves."""
    return (shell_script(manifest, run, []) or "").partition("set -eu")[2]


def results(log: Path) -> set[tuple[str, int | None, str | None]]:
    """What a log holds results of: tests, sizes, transports."""
    conditions = read(log).account.facts.conditions
    return {
        (event.what.test, event.what.payload_bytes, event.what.conditions.over(conditions).transport)
        for event in read(log).events
        if isinstance(event.what, Record) and event.what.scope == "summary"
    }


def test_every_own_run_has_a_script() -> None:
    assert own_scripts()
    assert "" not in own_scripts()


def of_own_transports() -> list[Path]:
    """The runs whose script every build can repeat: a build may lack the libraries of a campaign of middleware."""
    return [path for path in own_scripts().values() if "middleware" not in path.parts]


@pytest.mark.core
@pytest.mark.parametrize("path", of_own_transports(), ids=lambda path: path.parent.relative_to(DATA).as_posix())
def test_the_script_of_an_own_run_measures_the_same_again(path: Path, perftest: Path, tmp_path: Path) -> None:
    manifest = read_manifest(path)
    script = shell_script(manifest, path.parent.name, [])
    assert script
    (tmp_path / "again.sh").write_text(script)
    environment = os.environ | {"PATH": f"{perftest.parent}{os.pathsep}{os.environ['PATH']}", "DURATION_S": SHORT_S}

    with (tmp_path / "again.log").open("wb") as log:
        subprocess.run(["sh", "again.sh"], cwd=tmp_path, env=environment, stdout=log, check=True, timeout=120)

    assert read(tmp_path / "again.log").account.status == "ok"
    assert results(tmp_path / "again.log") == results(path.parent / manifest.logs[0].file)
