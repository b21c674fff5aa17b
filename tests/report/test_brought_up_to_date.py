"""An updated site equals a site that is built from nothing. A build without changes writes no file."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.command import run_tacholog_text
from tests.report.conftest import FIRST, SECOND, add_run, rti, write_data

from tacholog.errors import TachologError, UnreadableInput
from tacholog.privacy.settings import Privacy
from tacholog.site.build import build_site
from tacholog.site.output_folder import only_one_build
from tacholog.site.prepare import prepare
from tacholog.site.settings import SiteSettings
from tacholog.site.stamp import STAMP, finished, remove_stamp

pytestmark = [  # Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.site,
]
ROOT = Path(__file__).resolve().parent.parent.parent
USUAL = SiteSettings()


def add(data: Path, run: str, log: str = FIRST, **about: object) -> None:
    add_run(data, run, log, msgspec.structs.replace(rti("UDPv4", published=False), **about))


def files(site: Path) -> dict[str, bytes]:
    """Return the content of each file of a site, by the path of the file.

    Folders are included with an empty content, because their names can be names of systems.
    """
    found = (path for path in site.rglob("*") if path.name != STAMP)
    return {path.relative_to(site).as_posix(): path.read_bytes() if path.is_file() else b"" for path in found}


def differing(data: Path, folder: Path, settings: SiteSettings = USUAL) -> set[str]:
    """Update the site, build a second site from nothing, and return the files in which the two sites differ."""
    number = len([*folder.glob("again*")])
    build_site([data], folder / "site", folder, settings)
    build_site([data], folder / f"again{number}" / "site", folder / f"again{number}", settings)
    one, other = files(folder / "site"), files(folder / f"again{number}" / "site")
    return {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = write_data(tmp_path / "data")
    for release, log in (("1.0", FIRST), ("1.1", SECOND), ("1.2", FIRST)):
        for number in range(2):
            add(data, f"rti/{release}/{number}", log, release=release, system_version=release)
    return tmp_path


def test_second_build_without_changes_writes_no_file(folder: Path) -> None:
    build_site([folder / "data"], folder / "site", folder)
    before = {path: path.stat().st_mtime_ns for path in (folder / "site").rglob("*") if path.is_file() and path.name != STAMP}
    remove_stamp(folder / "site")  # The stamp marks a finished site. The next build would do nothing if the stamp existed.

    build_site([folder / "data"], folder / "site", folder)

    assert {path: path.stat().st_mtime_ns for path in (folder / "site").rglob("*") if path.is_file() and path.name != STAMP} == before


def _run_more(data: Path) -> None:
    add(data, "rti/1.3/0", SECOND, release="1.3")


def _run_gone(data: Path) -> None:
    shutil.rmtree(data / "rti/1.2/0")


def _system_gone(data: Path) -> None:
    shutil.rmtree(data / "own")


def _renames(data: Path) -> None:
    (data / "renames.toml").write_text('[transport]\n"UDPv4" = "zorkmid"\n')


@pytest.mark.parametrize(
    ("edit", "settings"),
    [
        (_run_more, USUAL),
        (_system_gone, SiteSettings(name="Another name", pages=("transport", "system"))),
        pytest.param(_run_gone, USUAL, marks=pytest.mark.nightly),
        pytest.param(_renames, USUAL, marks=pytest.mark.nightly),
    ],
)
def test_updated_site_after_an_edit_equals_a_site_built_from_nothing(folder: Path, edit: Callable[[Path], None], settings: SiteSettings) -> None:
    build_site([folder / "data"], folder / "site", folder)
    before = files(folder / "site")
    for kind in ("logs", "raw", "data"):  # Change one file of each kind. The next build must write it again.
        changed = min(path for path in (folder / "site" / kind).rglob("*") if path.suffix in (".html", ".gz"))
        changed.write_bytes(changed.read_bytes() + b"not of a build")

    edit(folder / "data")

    assert differing(folder / "data", folder, settings) == set()
    assert files(folder / "site") != before


def test_logo_that_is_no_longer_in_the_settings_is_not_published(tmp_path: Path) -> None:
    data, logo = tmp_path / "data", tmp_path / "secret.svg"
    add(data, "a")
    logo.write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>')
    assert differing(data, tmp_path, SiteSettings(logo=str(logo))) == set()
    assert (tmp_path / "site/_static/logo.svg").is_file()

    assert differing(data, tmp_path) == set()
    assert not (tmp_path / "site/_static/logo.svg").exists()


def test_files_left_in_a_dataset_by_a_stopped_build_are_not_used(tmp_path: Path) -> None:
    add(tmp_path / "data", "a")
    (tmp_path / "work/dataset.new").mkdir(parents=True)
    (tmp_path / "work/dataset.new/renames.toml").write_text('[transport]\n"UDPv4" = "zorkmid"\n')

    prepare([tmp_path / "data"], tmp_path / "work", SiteSettings())

    assert not (tmp_path / "work/dataset/renames.toml").exists()


def test_site_that_another_process_builds_stays_unchanged(tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    with only_one_build(tmp_path / "work"), pytest.raises(TachologError, match="another process is building this site"):
        build_site([data], tmp_path / "site", tmp_path / "work")
    assert not (tmp_path / "site" / "index.html").exists()


def test_second_build_of_a_site_is_refused_even_if_it_has_another_working_folder(tmp_path: Path) -> None:
    data, site = write_data(tmp_path / "data"), tmp_path / "site"
    with only_one_build(site), pytest.raises(TachologError, match="another process is building this site"):
        build_site([data], site, tmp_path / "work")


@pytest.mark.nightly
def test_build_with_another_working_folder_leaves_no_files_in_the_next_site(folder: Path) -> None:
    data, site = folder / "data", folder / "site"
    build_site([data], site, folder / "one")
    before = files(site)
    build_site([data], site, folder / "two", SiteSettings(privacy=Privacy(hosts="show", free_text="show", unknown_lines="show")))
    assert files(site) != before

    build_site([data], site, folder / "one")

    assert files(site) == before


def test_next_build_uses_no_file_of_a_killed_build(folder: Path) -> None:
    data, site, secret = folder / "data", folder / "site", folder / "secret"
    build_site([data], site, folder)
    before = files(site)
    secret.write_text("not ours")
    (site / STAMP).unlink()  # A killed build leaves no stamp, because the stamp is written last.
    for name in ("downloads.html", min(path.relative_to(site).as_posix() for path in (site / "raw").rglob("*.gz"))):
        (site / name).write_bytes(before[name][:-10])
    (site / "index.html").unlink()
    (site / "index.html").symlink_to(secret)
    (site / "hosts").mkdir()
    for name in ("notes.txt", "hosts/.part"):
        (site / name).write_text("not of this build")

    build_site([data], site, folder)

    assert files(site) == before
    assert secret.read_text() == "not ours"


_KILLED_AT = """
import os, signal, sys
from tacholog.cli import main

site, left = os.environ["KILLED_SITE"], int(os.environ["KILLED_AFTER"])

def kill(event, arguments):
    global left
    if event == "os.rename" and str(arguments[1]).startswith(f"{site}/"):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(kill)
main()
"""


def test_build_killed_during_the_move_leaves_an_unfinished_site_that_the_next_build_completes(tmp_path: Path) -> None:
    data, site, whole = tmp_path / "data", tmp_path / "site", tmp_path / "whole"
    add(data, "a", release="1")
    run_tacholog_text("report", str(data), "--output", str(site))
    before = files(site)
    add(data, "b", release="2")
    shutil.rmtree(data / "a")
    run_tacholog_text("report", str(data), "--output", str(whole))
    after = files(whole)

    words = [sys.executable, "-c", _KILLED_AT, "report", str(data), "--output", str(site)]
    killed = subprocess.run(words, env=os.environ | {"KILLED_SITE": str(site), "KILLED_AFTER": "5"}, capture_output=True, check=False)

    assert killed.returncode == -signal.SIGKILL
    found = files(site)
    assert before.keys() <= found.keys()
    assert found["index.html"] == before["index.html"]
    assert sum(found[name] == after.get(name) != before.get(name) for name in found) == 5
    assert "is not finished" in run_tacholog_text("verify", str(site)).stderr
    assert "is not finished" in run_tacholog_text("report", str(tmp_path / "nowhere"), "--output", str(site)).stderr
    run_tacholog_text("report", str(data), "--output", str(site))
    assert files(site) == after


def test_refused_build_leaves_the_finished_site_unchanged(tmp_path: Path) -> None:
    data, site = tmp_path / "data", tmp_path / "site"
    add(data, "a")
    build_site([data], site, tmp_path)
    before = files(site)

    for _ in range(3):
        with pytest.raises(UnreadableInput):
            build_site([data], site, tmp_path, SiteSettings(systems=("Nobody",)))

    finished(site)
    assert files(site) == before
    add(data, "b", release="2")
    assert differing(data, tmp_path) == set()


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("requirements.toml", '[[require]]\nmetric = "goodput"\nstatistic = "mean"\nmin = 1\n', ":1: unit: it is missing; the units of goodput are"),
        pytest.param("requirements.toml", "[[[", ": ", marks=pytest.mark.nightly),
        pytest.param("renames.toml", "[moon]\na = 'b'\n", ": [moon]: only system, transport", marks=pytest.mark.nightly),
        ("renames.toml", "[transport", ": "),
    ],
)
def test_report_names_an_invalid_toml_file_and_builds_the_site_without_this_file(tmp_path: Path, name: str, text: str, reason: str) -> None:
    data, site = tmp_path / "data", tmp_path / "site"
    add(data, "a", release="1")
    add(data, "b", release="2")
    (data / name).write_text(text)

    done = run_tacholog_text("report", str(data), "--output", str(site))

    assert done.returncode == 2
    assert f"tacholog: {data / name}{reason}" in done.stderr
    assert done.stderr.count(name) == 1
    assert finished(site).problems == 1
    assert f"{name}{reason}".replace("moon", "[…]") in (site / "quality.html").read_text()
    assert not (site / "requirements.html").exists()
    again = run_tacholog_text("report", str(data), "--output", str(site))
    assert (again.returncode, again.stderr) == (2, done.stderr)


def test_refused_report_states_that_the_previous_site_still_exists(tmp_path: Path) -> None:
    data, site, settings, empty = (tmp_path / name for name in ("data", "site", "site.toml", "empty"))
    add(data, "a")
    empty.mkdir()
    settings.write_text('nmae = "X"\n')
    wrong = (["--data", str(data), "--site", str(settings)], ["--data", str(empty)], ["--data", str(tmp_path / "nowhere")])
    still_there = f". The site in {site} is still that of the previous build\n"

    for arguments in wrong:
        done = run_tacholog_text("report", *arguments, "--output", str(site))
        assert done.returncode == 2
        assert "from before" not in done.stderr

    build_site([data], site, tmp_path / ".site-build")
    for arguments in wrong:
        done = run_tacholog_text("report", *arguments, "--output", str(site))
        assert done.returncode == 2
        assert done.stderr.endswith(still_there)

    finished(site)
    (site / STAMP).unlink()
    assert "from before" not in run_tacholog_text("report", *wrong[0], "--output", str(site)).stderr


@pytest.mark.nightly
def test_build_with_a_problem_in_sphinx_leaves_the_finished_site_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, site, prose = tmp_path / "data", tmp_path / "site", tmp_path / "prose"
    add(data, "a")
    build_site([data], site, tmp_path)
    before = files(site)
    shutil.copytree(ROOT / "site", prose)
    (prose / "methodology.md").write_text("# Methodology\n\n{doc}`nowhere`\n")
    monkeypatch.setattr("tacholog.site.whole.site_dir", lambda: prose)
    add(data, "b")

    with pytest.raises(TachologError, match="Sphinx found problems"):
        build_site([data], site, tmp_path)

    finished(site)
    assert files(site) == before
    monkeypatch.undo()
    assert differing(data, tmp_path) == set()
