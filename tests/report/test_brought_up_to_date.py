"""A site that is brought up to date is the site that is made from nothing, whatever changed: settings, renames, the pages of the menu."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import msgspec
import pytest
from tests.command import run_tacholog_text
from tests.report.conftest import FIRST, NATIVE, add_run, rti
from tests.report.test_beside import add_systems

from tacholog.errors import TachologError, UnreadableInput
from tacholog.privacy.settings import Privacy
from tacholog.runs.manifest import Manifest
from tacholog.site.build import build_site
from tacholog.site.prepare import prepare
from tacholog.site.settings import SiteSettings
from tacholog.site.stamp import STAMP, finished

pytestmark = [  # what MyST and the theme still use of Sphinx is their business
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.site,
]
ROOT = Path(__file__).resolve().parent.parent.parent
NOT_COMPARED = (STAMP, ".buildinfo", ".buildinfo.bak")


def add(data: Path, run: str, **about: object) -> None:
    add_run(data, run, FIRST, msgspec.structs.replace(rti("UDPv4", published=False), **about))


def files(site: Path) -> dict[str, bytes]:
    """The files of a site, and its folders: their names may be those of systems."""
    found = (path for path in site.rglob("*") if path.name not in NOT_COMPARED)
    return {path.relative_to(site).as_posix(): path.read_bytes() if path.is_file() else b"" for path in found}


def differing(data: Path, folder: Path, settings: SiteSettings = SiteSettings()) -> set[str]:  # noqa: B008 - it cannot be changed
    """Bring the site up to date, make another from nothing, and return the files in which they differ."""
    number = len([*folder.glob("again*")])
    build_site([data], folder / "site", folder, settings)
    build_site([data], folder / f"again{number}" / "site", folder / f"again{number}", settings)
    one, other = files(folder / "site"), files(folder / f"again{number}" / "site")
    return {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}


@pytest.mark.machinery
@pytest.mark.nightly
def test_a_download_of_another_page_with_the_same_name_is_made_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    run = shutil.copytree(ROOT / "data/hmbdc/14-2", data / "run") / "run.toml"  # has several transports, of which one is rmcast
    run.write_text(run.read_text() + '\n[labels]\nplugin = "rmcast"\n')
    name = "data/hmbdc-rmcast.csv.gz"

    assert differing(data, tmp_path, SiteSettings(pages=("system", "label.plugin"))) == set()
    by_label = files(tmp_path / "site")[name]
    assert differing(data, tmp_path) == set()
    assert len(gzip.decompress(files(tmp_path / "site")[name])) < len(gzip.decompress(by_label))


@pytest.mark.machinery
def test_a_logo_that_the_settings_no_longer_name_is_not_published(tmp_path: Path) -> None:
    data, logo = tmp_path / "data", tmp_path / "secret.svg"
    add(data, "a")
    logo.write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>')
    assert differing(data, tmp_path, SiteSettings(logo=str(logo))) == set()
    assert (tmp_path / "site/_static/logo.svg").is_file()

    assert differing(data, tmp_path) == set()
    assert not (tmp_path / "site/_static/logo.svg").exists()


@pytest.mark.machinery
@pytest.mark.nightly
def test_renames_that_come_and_go_are_those_of_all_pages(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for release in ("1.0", "1.1"):
        for number in range(2):
            add(data, f"{release}-{number}", release=release)
    assert differing(data, tmp_path) == set()
    (data / "renames.toml").write_text('[transport]\n"UDPv4" = "zorkmid"\n')
    assert differing(data, tmp_path) == set()
    (data / "renames.toml").unlink()
    assert differing(data, tmp_path) == set()


@pytest.mark.machinery
def test_what_a_stopped_build_left_of_a_dataset_is_not_taken(tmp_path: Path) -> None:
    add(tmp_path / "data", "a")
    (tmp_path / "work/dataset.new").mkdir(parents=True)
    (tmp_path / "work/dataset.new/renames.toml").write_text('[transport]\n"UDPv4" = "zorkmid"\n')

    prepare([tmp_path / "data"], tmp_path / "work", SiteSettings())

    assert not (tmp_path / "work/dataset/renames.toml").exists()


@pytest.mark.machinery
@pytest.mark.nightly
def test_all_pages_have_the_menu_of_today_when_a_page_of_it_comes_or_goes(tmp_path: Path) -> None:
    data = tmp_path / "data"
    add(data, "a")
    assert differing(data, tmp_path) == set()
    add_systems(data, 2)
    assert differing(data, tmp_path) == set()
    assert (tmp_path / "site/side-by-side.html").is_file()
    shutil.rmtree(data / "run-001")
    assert differing(data, tmp_path) == set()
    assert not (tmp_path / "site/side-by-side.html").exists()


@pytest.mark.machinery
@pytest.mark.nightly
def test_pages_of_results_name_the_log_that_is_offered_after_another_run_told_a_name(tmp_path: Path) -> None:
    data, settings = tmp_path / "data", SiteSettings(privacy=Privacy(free_text="show"))
    with_name = f'{NATIVE.read_text()}note text="zoe was here"\n'
    add_run(data, "a", with_name, Manifest(system="One", logs=()))
    add_run(data, "b", NATIVE.read_text(), Manifest(system="Other", logs=()))
    assert differing(data, tmp_path, settings) == set()
    page = files(tmp_path / "site")["one/udp.html"]

    shutil.rmtree(data / "b")
    add_run(data, "b", NATIVE.read_text(), Manifest(system="Other", logs=(), notes=("read /home/zoe/settings",)))

    assert differing(data, tmp_path, settings) == set()
    assert files(tmp_path / "site")["one/udp.html"] != page


@pytest.mark.machinery
@pytest.mark.nightly
def test_downloads_name_no_system_whose_only_run_had_no_numbers_and_is_gone(tmp_path: Path) -> None:
    data, failed = tmp_path / "data", Manifest(system="Zorkmid", status="failed", reason="exit code 1", logs=())
    add(data, "a")
    add_run(data, "b", "", failed)
    assert differing(data, tmp_path) == set()

    shutil.rmtree(data / "b")
    add_run(data, "b", "", msgspec.structs.replace(failed, system="Another"))

    assert differing(data, tmp_path) == set()


def test_a_build_that_is_refused_leaves_the_site_finished_and_as_it_was(tmp_path: Path) -> None:
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
        ("requirements.toml", '[[require]]\nmetric = "goodput"\nstatistic = "mean"\nmin = 1\n', ":1: unit: it is missing; of goodput there are"),
        pytest.param("requirements.toml", "[[[", ": ", marks=pytest.mark.nightly),
        pytest.param("renames.toml", "[moon]\na = 'b'\n", ": [moon]: only system, transport", marks=pytest.mark.nightly),
        ("renames.toml", "[transport", ": "),
    ],
)
def test_a_wrong_file_of_requirements_or_renames_costs_only_itself_and_is_named(tmp_path: Path, name: str, text: str, reason: str) -> None:
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


def test_a_report_that_is_refused_says_that_the_site_from_before_is_still_there(tmp_path: Path) -> None:
    data, site, settings, empty = (tmp_path / name for name in ("data", "site", "site.toml", "empty"))
    add(data, "a")
    empty.mkdir()
    settings.write_text('nmae = "X"\n')
    wrong = (["--data", str(data), "--site", str(settings)], ["--data", str(empty)], ["--data", str(tmp_path / "nowhere")])
    still_there = f". The site in {site} is still the one from before\n"

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
def test_a_build_that_ends_while_pages_are_written_leaves_no_finished_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, site, templates = tmp_path / "data", tmp_path / "site", tmp_path / "prose"
    add(data, "a")
    build_site([data], site, tmp_path)
    shutil.copytree(ROOT / "site", templates)
    (templates / "methodology.md").write_text("# Methodology\n\n[nowhere](nowhere.md)\n")
    monkeypatch.setattr("tacholog.site.whole.site_dir", lambda: templates)
    add(data, "b")

    with pytest.raises(TachologError, match="Sphinx found problems"):
        build_site([data], site, tmp_path)

    assert not (site / STAMP).exists()
    monkeypatch.undo()
    assert differing(data, tmp_path) == set()
